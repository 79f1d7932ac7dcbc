"""The Wireshark dissector reads frames that were made by the page of the wire format, byte by byte, in tshark."""

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(TSHARK is None, reason="no tshark on this machine: apt-get install tshark")

DISSECTOR = Path(__file__).parents[2] / "tools" / "tailback.lua"
DATA, ACK, REPORT, CONTROL = range(4)


def frame(bits: int, number: int, annex_kind: int = 0, annex: bytes = b"", body: bytes = b"") -> bytes:
    return struct.pack(">BBHIQHH", 5, annex_kind, bits, 7, number, 1040, len(annex)) + annex + body


def data(number: int, payload: bytes, bits: int = 0) -> bytes:
    lane_and_ecn = 1 << 2 | 2 << 5
    return frame(DATA | lane_and_ecn | bits, number, body=struct.pack(">QH", number * 1000, len(payload)) + payload)


def read(frames: list[bytes], folder: Path) -> list[dict[str, Any]]:
    """What tshark makes of datagrams, by the fields' names."""
    capture = folder / "frames.pcap"
    with capture.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))  # Packets of IP.
        for each in frames:
            udp = struct.pack(">HHHH", 40_000, 40_001, 8 + len(each), 0) + each
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
            file.write(struct.pack("<IIII", 0, 0, len(ip + udp), len(ip + udp)) + ip + udp)
    words = [str(TSHARK), "-X", f"lua_script:{DISSECTOR}", "-r", str(capture), "-T", "json", "--no-duplicate-keys"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert "Lua" not in done.stderr, done.stderr
    return [packet["_source"]["layers"].get("tailback", {}) for packet in json.loads(done.stdout)]


def test_every_kind_of_frame(tmp_path: Path) -> None:
    ack = struct.pack(">BQBQBQ", 2, 41, 1, 5_000, 1, 6_000)
    ack += struct.pack(">III", 3, 2, 1) + struct.pack(">QQQQ", 44, 46, 42, 43)
    control = (
        struct.pack(">QQQQQQ", 9, 100, 104_000, 4_160, 1_000_000, 777) + b"\0" + struct.pack(">QBQB", 0, 1, 2_000, 0)
    )
    report = b"\1" + struct.pack(">QQQQB", 777, 50, 90_000, 90, 2) + struct.pack(">dQ", 0.01, 8_000_000)
    frames = [
        data(41, b"hello", 1 << 11 | 1 << 7 | 1 << 15),
        frame(ACK | 1 << 2 | 1 << 13, 42, 1, ack),
        frame(CONTROL, 43, 2, control),
        frame(REPORT | 1 << 2, 44, 3, report),
        frame(REPORT, 45, 4, b"\xab\xcd"),
        frame(DATA, 46, 5, struct.pack(">HHI", 3, 12, 25_000), struct.pack(">QH", 0, 0)),
        frame(CONTROL, 47, 2, control + struct.pack(">HHI", 4, 0, 0)),
    ]
    sent, acked, controlled, reported, custom, asked, both = read(frames, tmp_path)
    assert {sent[f"tailback.{name}"] for name in ("retransmitted", "last")} <= {"1", "True"}
    assert (int(sent["tailback.kind"], 0), int(sent["tailback.lane"], 0), int(sent["tailback.ecn"], 0)) == (0, 1, 2)
    assert (int(sent["tailback.pair"], 0), sent["tailback.number"], sent["tailback.offset"]) == (1, "41", "41000")
    assert sent["tailback.payload"] == "68:65:6c:6c:6f"
    assert "tailback.ece" not in sent
    told = acked["Annex"] if "Annex" in acked else next(v for v in acked.values() if isinstance(v, dict))
    assert (told["tailback.ack.trigger"], told["tailback.echo"], told["tailback.ack.ce"]) == ("41", "5000", "3")
    assert told["tailback.ack.arrived"] == "6000"
    assert (told["tailback.ack.start"], told["tailback.ack.end"]) == (["44", "42"], ["46", "43"])
    told = next(v for v in controlled.values() if isinstance(v, dict))
    assert (told["tailback.virtual_delay"], told["tailback.control.rtt"]) == ("1000000", "2000")
    assert "tailback.echo" not in told
    assert "tailback.control.app_rate" not in told
    told = next(v for v in reported.values() if isinstance(v, dict))
    assert (told["tailback.report"], told["tailback.report.arrived_packets"]) == ("2", "90")
    assert told["tailback.report.body"].count(":") == 15
    assert next(v for v in custom.values() if isinstance(v, dict))["tailback.custom"] == "ab:cd"
    names = ("tailback.request", "tailback.request.threshold", "tailback.request.delay")
    for each, expected in ((asked, ("3", "12", "25000")), (both, ("4", "0", "0"))):
        told = next(v for v in each.values() if isinstance(v, dict))
        assert tuple(told[name] for name in names) == expected
    assert next(v for v in both.values() if isinstance(v, dict))["tailback.control.rtt"] == "2000"


def test_what_is_no_frame_is_left_alone(tmp_path: Path) -> None:
    whole = data(1, b"hello")
    others = [whole[:-1], whole + b"x", b"\1" + whole[1:], b"\5\6" + whole[2:], b"", b"\5" * 19]
    assert read(others, tmp_path) == [{}] * len(others)


def test_every_kind_of_envelope(tmp_path: Path) -> None:
    bits = 1 << 2 | 2 << 5 | 1 << 9

    def envelope(kind: int, rest: bytes, visible: int = 0) -> bytes:
        return struct.pack(">BBH", 4, kind, visible) + rest

    def head(counter: int) -> bytes:
        return struct.pack(">IQQ", 0xABCD, counter, 5_000)

    datagrams = [
        envelope(1, struct.pack(">Q", 7) + b"k" * 32 + bytes(60)),
        envelope(2, struct.pack(">QH", 7, 104) + b"c" * 40 + b"k" * 32),
        envelope(3, struct.pack(">QI", 7, 9) + b"c" * 40 + b"n" * 100 + b"k" * 32),
        envelope(4, struct.pack(">II", 9, 8) + b"n" * 60),
        envelope(5, head(99) + bytes(60), bits),
        envelope(6, head(3) + data(41, b"hello"), bits),
        envelope(6, head(4) + b"\x81" + bytes(8)),
    ]
    hello, cookie, initiation, response, sealed, opened, ping = read(datagrams, tmp_path)
    assert (hello["tailback.envelope"], int(hello["tailback.nonce"], 0)) == ("1", 7)
    assert len(hello["tailback.code"]) == len(cookie["tailback.code"]) == 3 * 32 - 1
    assert (cookie["tailback.hello_length"], len(cookie["tailback.cookie"])) == ("104", 3 * 40 - 1)
    assert (int(initiation["tailback.own_session"], 0), len(initiation["tailback.noise"])) == (9, 3 * 100 - 1)
    assert (int(response["tailback.session"], 0), int(response["tailback.own_session"], 0)) == (9, 8)
    assert (int(sealed["tailback.session"], 0), sealed["tailback.counter"]) == (0xABCD, "99")
    assert (sealed["tailback.virtual_delay"], int(sealed["tailback.lane"], 0)) == ("5000", 1)
    assert sealed["tailback.rho"] in {"1", "True"}
    assert len(sealed["tailback.sealed"]) == 3 * 60 - 1
    assert opened["tailback.counter"] == "3"
    assert "68:65:6c:6c:6f" in str(opened), "the frame inside is taken apart"
    assert int(ping["tailback.message"], 0) == 0x81


def test_versions_are_told_apart(tmp_path: Path) -> None:
    """A hello is one in any version, and its answer one only if it is to a hello of another version that was seen."""

    def hello(version: int, nonce: int, fill: bytes = bytes(60)) -> bytes:
        return struct.pack(">BBHQ", version, 1, 0, nonce) + b"k" * 32 + fill

    def other(version: int, nonce: int, bits: int = 0, length: int = 32) -> bytes:
        return struct.pack(">BBHQ", version, 7, bits, nonce) + b"k" * length

    newer, older, told, answer = read([hello(9, 7), hello(4, 8), other(4, 7), other(255, 8)], tmp_path)
    assert [each["tailback.version"] for each in (newer, older, told, answer)] == ["9", "4", "4", "255"]
    assert [each["tailback.envelope"] for each in (newer, told, answer)] == ["1", "7", "7"]
    assert (int(told["tailback.nonce"], 0), len(told["tailback.code"])) == (7, 3 * 32 - 1)
    known = [hello(9, 7), hello(5, 8)]
    strangers = [
        other(4, 6),
        other(9, 7),
        other(3, 7),
        other(4, 7, bits=4),
        other(4, 7, length=31),
        other(4, 7, length=33),
        hello(3, 9),
        hello(9, 9, b"\0" * 59 + b"\1"),
        hello(9, 9, bytes(51)),
    ]
    assert read(known + strangers, tmp_path)[2:] == [{}] * len(strangers)
