"""The least completion time on the empty path is what a lone message takes in the simulator: Alizadeh et al. 2013, §5."""

from collections.abc import Sequence
from typing import Any

import pytest

import tailback as tb
from tailback.results import completion

SIZES = (1, 960, 961, 5_000, 48_000, 300_000, 900_000)
"""Bytes: less than a packet holds, exactly one's, a byte more, and more of them."""
PAYLOAD = 960
WINDOW = {"initial_window": "1 MB"}
"""More than any of them: slow start, which is part of the slowdown, has nothing to do."""
OPEN: dict[str, Any] = {"buffer": "unlimited", "duration": "30 s"}


def alone(nodes: tb.Scenario, size: int, **how: Any) -> float:
    """The slowdown of one message, carried by the only flow, with one acknowledgement for all packets."""
    transport = WINDOW | how.pop("transport", {})
    receiver = {"ack_every": -(-size // PAYLOAD), "ack_delay": "10 s"} | how.pop("receiver", {})
    source = {"name": "bulk", "size": f"{size} B"}
    made = nodes.with_flows(tb.flows(1, "sack", source, transport=transport, receiver=receiver, **how)).run()
    (found,) = completion.slowdown(made)["slowdown"]
    return float(found)


def dumbbell() -> tb.Scenario:
    return tb.dumbbell(rate="10 Mbit/s", delay="10 ms", **OPEN)


def chain(rates: Sequence[str], back: Sequence[str]) -> tb.Scenario:
    """A line of links, each with a rate and a delay of its own in each direction."""
    links = [
        {
            "from": f"n{number}",
            "to": f"n{number + 1}",
            "rate": rate,
            "delay": f"{number + 1} ms",
            "buffer": "unlimited",
            "reverse": {"rate": other, "delay": f"{2 * number + 1} ms", "buffer": "unlimited"},
        }
        for number, (rate, other) in enumerate(zip(rates, back, strict=True))
    ]
    return tb.graph(*links, duration="30 s")


@pytest.mark.parametrize("size", SIZES)
def test_a_lone_message_has_no_slowdown(size: int) -> None:
    """Headers, store and forward at three links, and the acknowledgement are in the least time."""
    assert alone(dumbbell(), size) == pytest.approx(1.0, abs=1e-6)
    each = alone(dumbbell(), size, receiver={"ack_every": 1})
    assert 1.0 - 1e-6 < each < 1.002, "the acknowledgements of two packets may wait for each other"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rates", [(10, 2, 50, 5), (2, 5, 10, 50), (50, 10, 5, 2), (5, 50, 2, 2)])
def test_nor_where_each_link_has_a_rate_of_its_own(size: int, rates: tuple[int, ...]) -> None:
    """The slowest link is the second, the first, the last, and two of them; back, rates are others."""
    nodes = chain([f"{rate} Mbit/s" for rate in rates], ["100 kbit/s", "3 Mbit/s", "40 kbit/s", "2 Mbit/s"])
    assert alone(nodes, size, from_="n0", to="n4") == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("size", SIZES)
def test_nor_in_cells(size: int) -> None:
    assert alone(dumbbell(), size, cells=True) == pytest.approx(1.0, abs=1e-6)


def test_nor_do_flows_with_packets_of_other_sizes() -> None:
    """Each flow's packets are its own: two that share no link."""
    nodes = chain(["10 Mbit/s", "2 Mbit/s"], ["1 Mbit/s", "5 Mbit/s"])
    source = {"name": "bulk", "size": "20 kB"}
    small = {"segment_size": "400 B", "header": "20 B", **WINDOW}
    once = [{"ack_every": packets, "ack_delay": "10 s"} for packets in (21, 53)]
    one = tb.flows(1, "sack", source, name="one", from_="n0", to="n1", transport=WINDOW, receiver=once[0])
    two = tb.flows(1, "sack", source, name="two", from_="n1", to="n2", transport=small, receiver=once[1])
    found = completion.slowdown(nodes.with_flows(one, two).run())
    assert found["slowdown"].to_list() == pytest.approx([1.0, 1.0], abs=1e-6)


def test_a_group_takes_as_long_as_its_slowest_receiver() -> None:
    links = [
        {"from": "s", "to": "r", "rate": "20 Mbit/s", "delay": "5 ms", "buffer": "unlimited"},
        {"from": "r", "to": "a", "rate": "10 Mbit/s", "delay": "1 ms", "buffer": "unlimited"},
        {"from": "r", "to": "b", "rate": "3 Mbit/s", "delay": "4 ms", "buffer": "unlimited"},
    ]
    nodes = tb.graph(*links, duration="30 s")
    assert alone(nodes, 96_000, from_="s", receivers=["a", "b"]) == pytest.approx(1.0, abs=1e-6)


def test_what_a_sender_waits_for_is_slowdown() -> None:
    """Slow start, a handshake and delayed acknowledgements are its own doing, and not the path's."""
    handshake = alone(dumbbell(), 960, transport={"handshake": True})
    assert 1.9 < handshake < 2.0, "a round trip of small packets before one of large ones"
    assert alone(dumbbell(), 96_000, transport={"initial_window": "2 packets"}, receiver={"ack_every": 1}) > 1.5
    assert alone(dumbbell(), 960, receiver={"ack_every": 2, "ack_delay": "100 ms"}) > 3.0
