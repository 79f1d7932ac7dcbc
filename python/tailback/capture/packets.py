"""Captures of packets as arrays of times and lengths: pcap and pcapng, as tcpdump, dumpcap and Wireshark write them. What is in
the packets is not looked at. Writing captures lives in ``pcapng.py``.

Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailback.errors import StorageError
from tailback.results.files import path_of

_PCAP: Final = {0xA1B2C3D4: 1e-6, 0xA1B23C4D: 1e-9}
"""Magic numbers, and seconds per unit of a time's fraction."""
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_MOST: Final = 1 << 28
"""Bytes: no packet or block is longer; a longer one is damage."""
_LATEST: Final = 1 << 40
"""Seconds: no clock shows more, which are 35,000 years."""


class Packets(NamedTuple):
    """A capture, in order of time."""

    times: NDArray[np.float64]
    """Seconds since the first packet."""
    lengths: NDArray[np.int64]
    """Bytes on the wire, also where the capture kept fewer."""


def read_packets(path: str | Path) -> Packets:
    """Reads a capture.

    Raises:
        StorageError: where it cannot be read, is neither pcap nor pcapng, is damaged, or has no packet with a time.
    """
    place = path_of("path", path)
    try:
        data = place.read_bytes()
    except OSError as error:
        raise StorageError(f"{place}: cannot be read ({error.strerror or error})") from error
    try:
        times, lengths = _parsed(data)
    except _DamagedError as error:
        raise StorageError(f"{place}: {error}") from None
    if not times:
        raise StorageError(f"{place}: holds no packet with a time")
    seconds = np.array([whole for whole, _ in times], dtype=np.int64)
    # Whole seconds apart from fractions, so that nanoseconds survive the years since 1970.
    at = (seconds - seconds.min()).astype(np.float64) + np.array([part for _, part in times], dtype=np.float64)
    order = np.argsort(at, kind="stable")
    return Packets(at[order] - at[order[0]], np.array(lengths, dtype=np.int64)[order])


class _DamagedError(Exception):
    """What is wrong with a file, and where."""


_Times = list[tuple[int, float]]
"""Whole seconds, and a fraction."""


def _parsed(data: bytes) -> tuple[_Times, list[int]]:
    if len(data) >= 4:
        for order in "<>":
            (magic,) = struct.unpack_from(order + "I", data)
            if magic in _PCAP:
                return _pcap(data, order, _PCAP[magic])
        if magic == _SECTION:
            return _pcapng(data)
    raise _DamagedError("is no capture; expected the first bytes of pcap or pcapng")


def _pcap(data: bytes, order: str, fraction: float) -> tuple[_Times, list[int]]:
    times: _Times = []
    lengths: list[int] = []
    head = struct.Struct(order + "IIII")
    at, end = 24, len(data)
    if end < at:
        raise _DamagedError(f"is cut short in its header; expected {at} bytes, found {end}")
    while at < end:
        if at + 16 > end:
            raise _DamagedError(f"is cut short in the packet at byte {at}")
        seconds, part, kept, length = head.unpack_from(data, at)
        if kept > _MOST or length > _MOST or at + 16 + kept > end:
            raise _DamagedError(f"is damaged or cut short in the packet at byte {at}, of {kept} bytes")
        times.append((seconds, part * fraction))
        lengths.append(length)
        at += 16 + kept
    return times, lengths


class _Clock(NamedTuple):
    """How an interface writes times."""

    per_second: int
    offset: int


def _pcapng(data: bytes) -> tuple[_Times, list[int]]:
    times: _Times = []
    lengths: list[int] = []
    clocks: list[_Clock] = []
    order, at, end = "<", 0, len(data)
    while at < end:
        if at + 12 > end:
            raise _DamagedError(f"is cut short in the block at byte {at}")
        (kind,) = struct.unpack_from(order + "I", data, at)
        if kind == _SECTION:
            order, clocks = _byte_order(data, at), []
        (total,) = struct.unpack_from(order + "I", data, at + 4)
        if total < 12 or total % 4 or total > _MOST or at + total > end:
            raise _DamagedError(f"is damaged or cut short in the block at byte {at}, of {total} bytes")
        body = memoryview(data)[at + 8 : at + total - 4]
        if kind == _INTERFACE:
            clocks.append(_clock(body, order, at))
        elif kind in {_PACKET, _OLD_PACKET}:
            if len(body) < 20:
                raise _DamagedError(f"is damaged in the packet at byte {at}: too short")
            # The obsolete block has an interface of two bytes, and a count of drops in the other two.
            interface, high, low, _, length = struct.unpack_from(
                order + ("IIIII" if kind == _PACKET else "HxxIIII"), body
            )
            if interface >= len(clocks):
                raise _DamagedError(
                    f"is damaged in the packet at byte {at}: it names interface {interface} of {len(clocks)}"
                )
            clock = clocks[interface]
            whole, part = divmod((high << 32) | low, clock.per_second)
            if whole > _LATEST:
                raise _DamagedError(f"is damaged in the packet at byte {at}: a time of {whole} s")
            times.append((whole + clock.offset, part / clock.per_second))
            lengths.append(min(length, _MOST))
        elif kind == _SIMPLE_PACKET:
            raise _DamagedError(f"has packets without times (a simple packet block at byte {at})")
        at += total
    return times, lengths


def _byte_order(data: bytes, at: int) -> str:
    (mark,) = struct.unpack_from("<I", data, at + 8)
    if mark == 0x1A2B3C4D:
        return "<"
    if mark == 0x4D3C2B1A:
        return ">"
    raise _DamagedError(f"is damaged: the section at byte {at} has no byte order")


def _clock(body: memoryview, order: str, at: int) -> _Clock:
    """The interface's options if_tsresol (9) and if_tsoffset (14)."""
    per_second, offset, place = 1_000_000, 0, 8
    while place + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, place)
        value = body[place + 4 : place + 4 + length]
        if code == 0:
            break
        if len(value) < length:
            raise _DamagedError(f"is damaged in the interface at byte {at}: an option is cut short")
        if code == 9 and length == 1:
            power = value[0] & 0x7F
            if power > 63:
                raise _DamagedError(f"is damaged in the interface at byte {at}: a resolution of {value[0]}")
            per_second = 2**power if value[0] & 0x80 else 10**power
        elif code == 14 and length == 8:
            (offset,) = struct.unpack_from(order + "q", value)
        place += 4 + length + (-length % 4)
    return _Clock(per_second, max(min(offset, _LATEST), -_LATEST))
