"""Captures of other programs: each interface has a clock of its own, in microseconds where it says nothing. What Wireshark's tools
write is read as they read it, where they are installed."""

import shutil
import struct
import subprocess
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from tailback.capture.packets import read_packets
from tailback.errors import StorageError

BEGAN = 1_700_000_000
"""The second of the first packet, as in captures of today: fractions of so many seconds have few digits left in a float."""


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += b"\0" * (-len(body) % 4)
    length = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(*options: tuple[int, bytes], order: str = "<") -> bytes:
    body = struct.pack(order + "HHI", 101, 0, 0)
    for code, value in options:
        body += struct.pack(order + "HH", code, len(value)) + value + b"\0" * (-len(value) % 4)
    return block(1, body + struct.pack(order + "HH", 0, 0) if options else body, order)


def packet(place: int, units: int, length: int, order: str = "<") -> bytes:
    return block(6, struct.pack(order + "IIIII", place, units >> 32, units & 0xFFFFFFFF, 4, length) + b"data", order)


def written(folder: Path, *parts: bytes) -> Path:
    place = folder / "some.pcapng"
    place.write_bytes(b"".join(parts))
    return place


def test_an_interface_that_says_no_resolution_counts_microseconds(tmp_path: Path) -> None:
    of = BEGAN * 10**6
    for options in ((), ((2, b"eth0"),)):
        place = written(tmp_path, section(), interface(*options), packet(0, of, 60), packet(0, of + 1_000_007, 1500))
        found = read_packets(place)
        assert found.times.tolist() == pytest.approx([0.0, 1.000007], abs=1e-12)
        assert found.lengths.tolist() == [60, 1500]


def test_each_interface_has_a_clock_of_its_own(tmp_path: Path) -> None:
    clocks = [interface(), interface((9, b"\x09")), interface((2, b"eth2"), (9, b"\x8a"))]
    seen = [
        packet(1, BEGAN * 10**9 + 1_000_000_123, 61),
        packet(0, BEGAN * 10**6, 60),
        packet(2, (BEGAN + 2) * 1024 + 512, 62),
    ]
    found = read_packets(written(tmp_path, section(), *clocks, *seen))
    assert found.lengths.tolist() == [60, 61, 62]
    assert found.times.tolist() == pytest.approx([0.0, 1.000000123, 2.5], abs=1e-12)


def test_a_section_has_interfaces_and_a_byte_order_of_its_own(tmp_path: Path) -> None:
    first = (section(), interface((9, b"\x09")), packet(0, BEGAN * 10**9 + 40, 60))
    second = (section(">"), interface(order=">"), packet(0, BEGAN * 10**6 + 3, 70, ">"))
    found = read_packets(written(tmp_path, *first, *second))
    assert found.times.tolist() == pytest.approx([0.0, 2.96e-6], abs=1e-12)
    with pytest.raises(StorageError, match="names interface 1 of 1"):
        read_packets(written(tmp_path, *first, *second, packet(1, 1, 60, ">")))


def test_an_offset_is_whole_seconds_of_that_interface(tmp_path: Path) -> None:
    late = interface((14, struct.pack("<q", BEGAN)), (9, b"\x09"))
    found = read_packets(
        written(tmp_path, section(), interface(), late, packet(0, BEGAN * 10**6, 60), packet(1, 250, 61))
    )
    assert found.times.tolist() == pytest.approx([0.0, 250e-9], abs=1e-12)


def test_times_that_no_clock_shows_are_one_complaint(tmp_path: Path) -> None:
    place = written(tmp_path, section(), interface((9, b"\x00")), packet(0, 0, 60), packet(0, (1 << 64) - 1, 60))
    with pytest.raises(
        StorageError, match=r"some\.pcapng: is damaged in the packet at byte [0-9]+: a time of 18446744073709551615 s"
    ):
        read_packets(place)


def pcap(packets: Sequence[tuple[int, int, int]], magic: int) -> bytes:
    made = struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 65535, 1)
    for seconds, part, length in packets:
        made += struct.pack("<IIII", seconds, part, 60, length) + b"\0" * 60
    return made


@pytest.mark.skipif(not (shutil.which("tshark") and shutil.which("editcap")), reason="Wireshark's tools are not here")
def test_what_wiresharks_tools_write_is_read_as_they_read_it(tmp_path: Path) -> None:
    def ran(*words: str) -> str:
        return subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    coarse = [(BEGAN + each, 123_457 * each, 60 + each) for each in range(5)]
    fine = [(BEGAN + each, 123_456_789 * each + 1, 160 + each) for each in range(5)]
    (tmp_path / "us.pcap").write_bytes(pcap(coarse, 0xA1B2C3D4))
    (tmp_path / "ns.pcap").write_bytes(pcap(fine, 0xA1B23C4D))
    ran("editcap", "-F", "pcapng", "us.pcap", "us.pcapng")
    ran("editcap", "-F", "pcapng", "-t", "0.25", "ns.pcap", "ns.pcapng")
    ran("mergecap", "-I", "none", "-F", "pcapng", "-w", "both.pcapng", "us.pcapng", "ns.pcapng")
    for name in ("us.pcap", "ns.pcap", "us.pcapng", "ns.pcapng", "both.pcapng"):
        rows = ran("tshark", "-r", name, "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len").splitlines()
        seen = sorted((Decimal(time), int(length)) for time, length in (row.split("\t") for row in rows))
        found = read_packets(tmp_path / name)
        assert found.lengths.tolist() == [length for _, length in seen], name
        assert np.allclose(found.times, [float(time - seen[0][0]) for time, _ in seen], rtol=0.0, atol=1e-12), name
