"""The packet log as a capture that Wireshark, tshark and tcptrace understand: pcapng with IPv4 and TCP or UDP headers
made up from what the simulator knows. Payloads are left out, as with a short snapshot length.

What is made up: addresses (10.0.x.y sends, 10.1.x.y receives, one pair per flow), ports, the initial sequence number
(none: segment ``n`` begins at byte ``n`` times the payload), IP identifiers. Connections begin without a handshake, and
acknowledgements carry no SACK blocks, since the log has none. TCP's checksums are those of payloads of zeros; datagrams have
none, as IPv4 allows.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback import _core
from tailback.calls import checked_call
from tailback.errors import NotFoundError, unknown
from tailback.results.files import path_of, write_file
from tailback.results.unrecorded import expect_packets_recorded
from tailback.units import number

if TYPE_CHECKING:
    from tailback.results import Result

LINKTYPE_RAW: Final = 101
"""Raw IP, without a link layer."""
_IP, _TCP, _UDP = 20, 20, 8
_FORWARD = ("data", "control")
_CODEPOINTS = {"not-ect": 0, "ect1": 1, "ect0": 2, "ce": 3}
_BLOCK = 72  # Every packet block has this length: 28 of head, 40 of headers (or 28 and 12 of options), 4 of tail.
_POINTS = ("senders", "receivers")


@checked_call
def write_pcapng(result: Result, path: str | Path, *, at: str = "senders", flow: str | None = None) -> Path:
    """Writes the packets of a run that recorded them (``record.packets``).

    Args:
        result: the run.
        path: the file to write, ``.pcapng`` by custom.
        at: where the capture is taken: at the ``"senders"`` (what leaves them and what reaches them), at the
            ``"receivers"``, or in front of a link, by its name.
        flow: only this flow's packets.

    Raises:
        NotFoundError: where packets were not recorded, none came, or the point or flow is unknown.
        StorageError: where writing fails.
    """
    packets = seen_at(result, at, flow)
    blocks = _packet_blocks(result, packets)
    head = _section(result) + _interface(at)
    target = path_of("path", path)
    write_file(target, lambda beside: beside.write_bytes(head + blocks.tobytes()))
    return target


def seen_at(result: Result, at: str, flow: str | None = None) -> pl.DataFrame:
    """The rows of the packet log that a capture at this point shows, in order of time; of one flow, where that is named.

    Raises:
        NotFoundError: where packets were not recorded, none came, or the point or flow is unknown.
    """
    expect_packets_recorded(result)
    if result.packets.is_empty():
        raise NotFoundError("no packet came: packets were recorded, and nobody sent one; expected a run with some")
    known = result.flows["flow"].to_list()
    if flow is not None and flow not in known:
        raise unknown("flow", flow, known)
    of_flow = pl.lit(True) if flow is None else pl.col("flow") == flow
    packets = result.packets
    forward = pl.col("kind").cast(pl.String).is_in(_FORWARD)
    if at in _POINTS:
        leaving = forward if at == "senders" else ~forward
        event = pl.col("event").cast(pl.String)
        return packets.filter(((event == "sent") & leaving) | ((event == "delivered") & ~leaving)).filter(of_flow)
    links = result.links["link"].to_list()
    if at not in links:
        raise unknown("point", at, [*_POINTS, *links])
    found = packets.filter((pl.col("event").cast(pl.String) == "offered") & (pl.col("link").cast(pl.String) == at))
    if found.is_empty():
        watched = result.link_series.height and at in result.link_series["link"]
        why = "packets were recorded there, and none came" if watched else "not recorded there; see record.links"
        raise NotFoundError(f"{at}: {why}")
    return found.filter(of_flow)


@dataclass(frozen=True)
class _Columns:
    """The packets of a capture, column by column."""

    flow: NDArray[np.int64]
    """The flow's row."""
    is_ack: NDArray[np.bool_]
    """Whether it is an acknowledgement."""
    forward: NDArray[np.bool_]
    """From the flow's sender to its receiver."""
    is_udp: NDArray[np.bool_]
    """Of a flow that sends datagrams."""
    length: NDArray[np.int64]
    """What the IP header says; an acknowledgement's options, which the log does not have, are left out of it."""
    place: NDArray[np.uint64]
    """The first byte, or the next one expected, modulo 2^32."""
    ecn: NDArray[np.int64]
    """The ECN field (RFC 3168 §5)."""
    flags: NDArray[np.int64]
    """TCP's."""


def _packet_blocks(result: Result, packets: pl.DataFrame) -> NDArray[np.uint8]:
    """One enhanced packet block per packet, all of one length, filled column by column."""
    # What aggregates send of their own (control packets, acknowledgements, reports) is in the log too, behind all flows.
    loops: list[str] = result.aggregates["aggregate"].to_list() if result.aggregates.columns else []
    flows = {name: row for row, name in enumerate([*result.flows["flow"], *loops])}
    flow = np.array([flows[name] for name in packets["flow"].cast(pl.String)], dtype=np.int64)
    payload, datagrams = _per_flow(result)
    size, is_udp = packets["size"].to_numpy().astype(np.int64), datagrams[flow]
    kind = packets["kind"].cast(pl.String)
    is_ack, forward = (kind == "ack").to_numpy(), kind.is_in(_FORWARD).to_numpy()
    headers = np.where(is_udp, _IP + _UDP, _IP + _TCP)
    length = np.where(is_ack & ~is_udp, headers, np.maximum(size, headers))
    place = (packets["number"].to_numpy().astype(np.uint64) * payload[flow] + np.uint64(1)) & np.uint64(0xFFFFFFFF)
    ecn = packets["ecn"].cast(pl.String).replace_strict(_CODEPOINTS, return_dtype=pl.Int64).to_numpy()
    # ACK always, PSH at the end of a message and of a train, of which older results know nothing, ECE and CWR as the packet
    # carries them (RFC 3168 §6.1).
    pushed = packets["last"] | packets["psh"] if "psh" in packets.columns else packets["last"]
    flags = 0x10 | _flag(pushed, 0x08) | _flag(packets["ece"], 0x40) | _flag(packets["cwr"], 0x80)
    columns = _Columns(flow, is_ack, forward, is_udp, length, place, ecn, flags)
    blocks = np.zeros((packets.height, _BLOCK), dtype=np.uint8)
    time = np.round(packets["time"].to_numpy() * 1e9).astype(np.uint64)
    words = {0: 6, 4: _BLOCK, 8: 0, 12: time >> np.uint64(32), 16: time & np.uint64(0xFFFFFFFF), 20: headers}
    for offset, value in (words | {24: np.maximum(size, headers), _BLOCK - 4: _BLOCK}).items():
        _put(blocks, offset, value, "<u4")
    _ip_headers(blocks, columns)
    _transport(blocks, columns)
    # After a UDP header stand twelve bytes of options: the packet's flags, of which none is set, and the end.
    udp = np.flatnonzero(is_udp)
    _put(blocks, 56, 2, "<u2", udp)
    _put(blocks, 58, 4, "<u2", udp)
    return blocks


def _flag(column: pl.Series, bit: int) -> NDArray[np.int64]:
    return column.to_numpy().astype(np.int64) * bit


def _ip_headers(blocks: NDArray[np.uint8], columns: _Columns) -> None:
    """IPv4 headers (RFC 791) with their checksums, from byte 28 of each block on."""
    sender = (10 << 24) + columns.flow + 1
    receiver = sender + (1 << 16)
    blocks[:, 28] = 0x45
    blocks[:, 29] = columns.ecn
    _put(blocks, 30, columns.length, ">u2")
    _put(blocks, 32, np.arange(len(blocks)) & 0xFFFF, ">u2")
    blocks[:, 34] = 0x40  # Not to be fragmented.
    blocks[:, 36] = 64
    blocks[:, 37] = np.where(columns.is_udp, 17, 6)
    _put(blocks, 40, np.where(columns.forward, sender, receiver), ">u4")
    _put(blocks, 44, np.where(columns.forward, receiver, sender), ">u4")
    _put(blocks, 38, _checksum(_sum_of(blocks, 28, 48)), ">u2")


def _sum_of(blocks: NDArray[np.uint8], begin: int, end: int) -> NDArray[np.uint64]:
    """The sum of the 16-bit words in some bytes of each block."""
    words = blocks[:, begin:end].copy().view(">u2").astype(np.uint64)
    return np.asarray(words.sum(axis=1), dtype=np.uint64)


def _checksum(total: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The complement of a sum of 16-bit words, its carries added (RFC 1071)."""
    for _ in range(2):
        total = (total & np.uint64(0xFFFF)) + (total >> np.uint64(16))
    return np.uint64(0xFFFF) - total


def _transport(blocks: NDArray[np.uint8], columns: _Columns) -> None:
    """TCP (RFC 9293) or UDP (RFC 768) headers, from byte 48 of each block on."""
    near, far = 40000 + columns.flow % 20000, 5001
    _put(blocks, 48, np.where(columns.forward, near, far), ">u2")
    _put(blocks, 50, np.where(columns.forward, far, near), ">u2")
    tcp, udp = np.flatnonzero(~columns.is_udp), np.flatnonzero(columns.is_udp)
    is_ack = columns.is_ack
    _put(blocks, 52, np.where(is_ack, 1, columns.place)[tcp], ">u4", tcp)
    _put(blocks, 56, np.where(is_ack, columns.place, 1)[tcp], ">u4", tcp)
    blocks[tcp, 60] = 0x50
    blocks[tcp, 61] = columns.flags[tcp]
    _put(blocks, 62, 0xFFFF, ">u2", tcp)
    # Over addresses, protocol, length and the header itself; a payload of zeros adds nothing.
    segment = (columns.length - _IP).astype(np.uint64)
    total = _sum_of(blocks, 40, 48) + np.uint64(6) + segment + _sum_of(blocks, 48, 68)
    _put(blocks, 64, _checksum(total)[tcp], ">u2", tcp)
    _put(blocks, 52, columns.length[udp] - _IP, ">u2", udp)


def _per_flow(result: Result) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Per flow, the payload of a full segment in bytes, and whether it sends datagrams, as aggregates do."""
    registered = json.loads(_core.registry())["schemes"]
    reliability = {scheme["name"]: scheme.get("reliability", "sack") for scheme in registered}
    groups = {group["name"]: group for group in result.scenario_data["flows"]}
    payloads, datagrams = [], []
    for name, scheme in result.flows.select("group", "scheme").iter_rows():
        group: dict[str, Any] = groups.get(name, {})
        sends_datagrams = reliability.get(scheme) == "datagram" or _is_real_datagrams(scheme)
        home = group.get("datagram" if sends_datagrams else "transport", {})
        segment = number(home.get("segment_size", "1000 B"))
        payloads.append(max(int(segment) - _IP - _TCP, 1))
        datagrams.append(sends_datagrams)
    for _ in range(result.aggregates.height):
        payloads.append(1)
        datagrams.append(True)
    return np.array(payloads, dtype=np.uint64), np.array(datagrams, dtype=np.bool_)


def _is_real_datagrams(protocol: str) -> bool:
    """Whether a flow that ``tailback shell`` recorded, which has its protocol in place of a scheme, is anything but TCP."""
    return protocol in {"udp", "icmp", "icmpv6", "fragments"} or protocol.startswith("protocol ")


def _put(blocks: NDArray[np.uint8], offset: int, value: Any, kind: str, rows: NDArray[np.intp] | None = None) -> None:
    """Writes a number per block at an offset, in the byte order of ``kind``."""
    width = np.dtype(kind).itemsize
    count = len(blocks) if rows is None else rows.size
    column = np.broadcast_to(np.asarray(value), (count,)).astype(kind)
    where = slice(None) if rows is None else rows
    blocks[where, offset : offset + width] = column.view(np.uint8).reshape(count, width)


def _section(result: Result) -> bytes:
    """The section header, with the run in its comment and what made it."""
    said = f"{result.title}, seed {result.seed}, output {result.hash}"
    options = _option(1, said) + _option(4, f"tailback {result.versions.get('tailback', '')}") + _option(0, "")
    body = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + options
    return _block(0x0A0D0D0A, body)


def _interface(name: str) -> bytes:
    """One interface, in nanoseconds."""
    options = _option(2, name) + struct.pack("<HHB3x", 9, 1, 9) + _option(0, "")
    return _block(1, struct.pack("<HHI", LINKTYPE_RAW, 0, 0) + options)


def _option(code: int, text: str) -> bytes:
    data = text.encode()
    return struct.pack("<HH", code, len(data)) + data + b"\0" * (-len(data) % 4)


def _block(kind: int, body: bytes) -> bytes:
    total = 12 + len(body)
    return struct.pack("<II", kind, total) + body + struct.pack("<I", total)
