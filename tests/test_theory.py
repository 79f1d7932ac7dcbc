"""Whole runs beside what is known without them: waits and losses of single queues, TCP's throughput under loss, bounds of
fair queueing, chains of losses; and CoDel and RED written a second time, from their papers. Formulas alone are tested with
``analysis``, disciplines alone in Rust."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback import analysis

RATE = 24_000_000
SIZE = 3000
"""Bytes, for which the link takes a millisecond."""
SERVICE = 1_000_000
"""Nanoseconds."""
LARGEST = {"constant": f"{SIZE} B", "exponential": "65535 B"}
UNCHECKED = {"name": "fixed-rate", "rate": "1000 Gbit/s", "burst": "1000 packets"}


def poisson(load: float, sizes: str, duration: float, **link: Any) -> tb.Scenario:
    """Datagrams of mean size ``SIZE`` that come by a Poisson process to one link."""
    shape = {"name": sizes, "value" if sizes == "constant" else "mean": f"{SIZE} B"}
    source = {"name": "datagrams", "arrivals": "poisson", "rate": f"{round(load * RATE)} bit/s", "size": shape}
    endpoint = {"header": "0 B", "segment_size": LARGEST[sizes]}
    record = link.pop("record", {"flows": "none", "links": "none"})
    return tb.graph(
        {"from": "a", "to": "b", "rate": f"{RATE} bit/s", "delay": "0 s", "buffer": "unlimited", **link},
        duration=f"{duration} s",
        flows=[tb.flows(1, UNCHECKED, source, name="poisson", from_="a", to="b", datagram=endpoint)],
        record=record,
    )


def row(result: tb.Result) -> dict[str, Any]:
    """The link's figures."""
    return result.links.row(by_predicate=pl.col("link") == "a->b", named=True)


@pytest.mark.parametrize(("sizes", "variation"), [("constant", 0.0), ("exponential", 1.0)])
@pytest.mark.parametrize(("load", "near"), [(0.5, 0.02), (0.8, 0.05)])
def test_waits_are_those_of_pollaczek_and_khinchine(sizes: str, variation: float, load: float, near: float) -> None:
    # ``near``: three standard deviations of the mean of 300 000 waits of M/M/1, which are correlated.
    found = row(poisson(load, sizes, 300.0 / load).run(seed=3))
    assert found["queueing_delay"] * 1000 == pytest.approx(analysis.mg1(load, variation).delay, rel=near)


def lost_of_constant_service(load: float, places: int) -> float:
    """The part of Poisson arrivals that a queue of constant service loses, with so many places, the one in service included:
    the embedded chain at departures (Gross and Harris, Fundamentals of Queueing Theory, §5.1.8)."""
    arrivals = [math.exp(-load) * load**count / math.factorial(count) for count in range(places)]
    chain = np.zeros((places, places))
    for state in range(places):
        first = max(state - 1, 0)
        for count in range(places - 1 - first):
            chain[state, first + count] = arrivals[count]
        chain[state, -1] = 1.0 - chain[state].sum()
    equations = np.vstack([chain.T - np.eye(places), np.ones(places)])
    empty = np.linalg.lstsq(equations, np.append(np.zeros(places), 1.0), rcond=None)[0][0]
    return float(1.0 - 1.0 / (empty + load))


@pytest.mark.parametrize(("load", "places", "by_hand"), [(0.8, 5, 0.03529), (0.95, 10, 0.03060)])
def test_a_short_buffer_loses_what_the_chain_says(load: float, places: int, by_hand: float) -> None:
    expected = lost_of_constant_service(load, places)
    assert expected == pytest.approx(by_hand, abs=1e-5)
    found = row(poisson(load, "constant", 400.0, buffer=f"{places - 1} packets").run(seed=3))
    assert found["dropped_packets"] / found["arrived_packets"] == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("acked", [1, 2])
def test_sack_under_rare_losses_has_the_models_throughput(acked: int) -> None:
    # Padhye et al., equation 33, with a time-out of 200 ms; the model is good to some 5 % where losses are rare.
    link = {
        "from": "a",
        "to": "b",
        "rate": "1 Gbit/s",
        "delay": "50 ms",
        "buffer": "unlimited",
        "loss": {"name": "independent", "probability": 0.002},
    }
    flow = tb.flows(1, "sack", from_="a", to="b", receiver={"ack_every": acked})
    result = tb.graph(link, duration="1500 s", warm_up="20 s", flows=[flow], record={"bin": "10 s"}).run(seed=2)
    expected = float(analysis.pftk_simple(0.002, 0.1, 1000, rto=0.2, acked=acked))
    assert result.flows["goodput"][0] == pytest.approx(expected, rel=0.05)


def test_a_leaky_buckets_delay_is_bounded_by_its_share() -> None:
    # Parekh and Gallager 1993: what a bucket of b bytes and the rate r lets pass waits b / r at most, where r is its share,
    # and a largest packet's time on the link more than in the fluid.
    bucket, share = 48_000, RATE / 4
    bursts = [{"at": f"{at} s", "size": f"{bucket} B"} for at in (1.0, 1.5, 2.0)]
    greedy = [tb.flows(3, UNCHECKED, {"name": "datagrams", "rate": "20 Mbit/s"}, name="greedy", from_="a", to="b")]
    burst = tb.flows(1, UNCHECKED, {"name": "replay", "entries": bursts}, name="burst", from_="a", to="b")
    link = {"from": "a", "to": "b", "rate": f"{RATE} bit/s", "delay": "0 s", "buffer": "400 packets"}
    scenario = tb.graph(
        {**link, "queue": "weighted-fair-queueing"},
        duration="3 s",
        flows=[*greedy, burst],
        record={"packets": True},
    )
    result = scenario.run(seed=1)
    delays = [arrived - left for left, arrived in passages(result, "burst")]
    whole = 50 * 1000 * 8 / share  # 48 kB in 50 packets of 960 B and a header each.
    assert len(delays) == 150
    assert 0.97 * whole < max(delays) <= whole + 2 * 1000 * 8 / RATE


def passages(result: tb.Result, flow: str) -> Iterator[tuple[float, float]]:
    """When each packet of a flow left and arrived."""
    log = result.packets.filter(pl.col("flow") == flow).with_columns(pl.col("event").cast(pl.String))
    sent, arrived = (
        dict(log.filter(pl.col("event") == event).select("number", "time").iter_rows())
        for event in ("sent", "delivered")
    )
    return ((sent[number], time) for number, time in arrived.items())


def test_losses_of_gilbert_and_elliott_come_in_geometric_runs() -> None:
    to_bad, to_good = 0.01, 0.25
    chain = {"name": "gilbert-elliott", "good_to_bad": to_bad, "bad_to_good": to_good, "loss_bad": 1.0}
    result = poisson(0.5, "constant", 200.0, loss=chain, record={"packets": True}).run(seed=5)
    log = result.packets.with_columns(pl.col("event").cast(pl.String)).filter(pl.col("event") == "dropped")
    sent = row(result)["arrived_packets"]
    lost = set(log["number"])
    runs = [len(list(run)) for gone, run in groupby(number in lost for number in range(sent)) if gone]
    # Three standard deviations of some 960 runs.
    assert len(lost) / sent == pytest.approx(to_bad / (to_bad + to_good), rel=0.13)
    assert np.mean(runs) == pytest.approx(1 / to_good, rel=0.09)
    for longer in (1, 2, 4):
        assert np.mean(np.array(runs) > longer) == pytest.approx((1 - to_good) ** longer, abs=0.05)


Packet = tuple[int, int]
"""When it came, in nanoseconds, and its number."""


class Codel:
    """RFC 8289, section 5, in the RFC's own order; what is dropped goes to ``drops``."""

    TARGET, INTERVAL = 5_000_000, 100_000_000

    def __init__(self) -> None:
        self.waiting: deque[Packet] = deque()
        self.drops: list[Packet] = []
        self.first_above: int | None = None
        self.drop_next = 0
        self.count = 0
        self.last_count = 0
        self.dropping = False

    def take(self, now: int) -> tuple[Packet | None, bool]:
        """The pseudocode's ``dodequeue``."""
        if not self.waiting:
            self.first_above = None
            return None, False
        packet = self.waiting.popleft()
        if now - packet[0] < self.TARGET or len(self.waiting) <= 1:
            self.first_above = None
            return packet, False
        if self.first_above is None:
            self.first_above = now + self.INTERVAL
            return packet, False
        return packet, now >= self.first_above

    def next_drop(self, start: int) -> int:
        """The pseudocode's ``control_law``."""
        return start + round(self.INTERVAL / math.sqrt(self.count))

    def drop(self, packet: Packet | None, now: int) -> None:
        """Notes a drop and when it was."""
        assert packet is not None
        self.drops.append((now, packet[1]))

    def serve(self, now: int) -> Packet | None:
        """The pseudocode's ``dequeue``."""
        packet, standing = self.take(now)
        if self.dropping:
            if not standing:
                self.dropping = False
            while self.dropping and now >= self.drop_next:
                self.drop(packet, now)
                self.count += 1
                packet, standing = self.take(now)
                if not standing:
                    self.dropping = False
                else:
                    self.drop_next = self.next_drop(self.drop_next)
        elif standing:
            self.drop(packet, now)
            packet, _ = self.take(now)
            self.dropping = True
            recent = self.count - self.last_count
            self.count = recent if recent > 1 and now - self.drop_next < 16 * self.INTERVAL else 1
            self.drop_next = self.next_drop(now)
            self.last_count = self.count
        return packet


def through_codel(arrivals: Sequence[Packet]) -> Codel:
    """What becomes of packets before a server that takes a constant time for each."""
    queue, free = Codel(), 0
    for packet in arrivals:
        while queue.waiting and free <= packet[0]:
            free = free + SERVICE if queue.serve(free) else free
        queue.waiting.append(packet)
        if free <= packet[0]:
            free = packet[0]
            free = free + SERVICE if queue.serve(free) else free
    return queue


def logged(result: tb.Result, event: str) -> list[Packet]:
    """When and with which packets something happened at the link."""
    log = result.packets.with_columns(pl.col("event").cast(pl.String), pl.col("link").cast(pl.String))
    log = log.filter((pl.col("event") == event) & (pl.col("link") == "a->b"))
    return [(round(1e9 * time), number) for time, number in log.select("time", "number").iter_rows()]


@pytest.mark.parametrize("load", [0.97, 1.2])
def test_codel_drops_the_packets_that_the_rfc_drops(load: float) -> None:
    result = poisson(load, "constant", 20.0, queue="codel", record={"packets": True}).run(seed=7)
    offered = logged(result, "offered")
    dropped = [(now, number) for now, number in logged(result, "dropped") if now <= offered[-1][0]]
    assert len(dropped) > 20
    assert through_codel(offered).drops == dropped


class Red:
    """The average of Floyd and Jacobson 1993, figure 2, and its probability with ns-2's ``wait``."""

    WEIGHT, LEAST, MOST, MAX_P = 0.002, 5.0, 15.0, 0.1

    def __init__(self) -> None:
        self.average = 0.0
        self.count = 0
        self.above = False
        self.idle_since: int | None = 0

    def arrive(self, now: int, waiting: int) -> float:
        """The probability that this packet is dropped."""
        if self.idle_since is not None:
            self.average *= (1 - self.WEIGHT) ** ((now - self.idle_since) // SERVICE)
        self.average += self.WEIGHT * (waiting - self.average)
        self.count += 1
        if self.average < self.LEAST or waiting <= 1:
            self.above = False
            return 0.0
        if not self.above:
            self.above, self.count = True, 1
            return 0.0
        if self.average < self.MOST:
            base = self.MAX_P * (self.average - self.LEAST) / (self.MOST - self.LEAST)
        else:
            base = self.MAX_P + (1 - self.MAX_P) * (self.average / self.MOST - 1)
        spaced = self.count * base
        return 0.0 if spaced < 1 else min(1.0, base / (2 - spaced)) if spaced < 2 else 1.0


def test_red_averages_and_drops_as_published() -> None:
    record = {"packets": True, "queue_state": True, "bin": "50 ms", "links": "all"}
    red = {"name": "red", "gentle": True}
    result = poisson(1.1, "constant", 60.0, queue=red, record=record).run(seed=4)
    lost = {number for _, number in logged(result, "dropped")}
    queue, ends, chances, averages = Red(), deque[int](), [], []
    for now, number in logged(result, "offered"):
        while ends and ends[0] <= now:
            last = ends.popleft()
            if not ends:
                queue.idle_since = last
        # All that has not ended, but for the one in transmission, waits.
        chances.append(queue.arrive(now, max(0, len(ends) - 1)))
        averages.append((now, queue.average))
        if number in lost:
            queue.count = 0
            continue
        ends.append((ends[-1] if ends else now) + SERVICE)
        queue.idle_since = None
    told = result.link_series.filter(pl.col("link").cast(pl.String) == "a->b").select("time", "average_packets")
    times = np.array([now for now, _ in averages])
    for end, average in told.iter_rows():
        place = int(np.searchsorted(times, round(1e9 * end), side="right")) - 1
        assert average == pytest.approx(averages[place][1] if place >= 0 else 0.0, rel=1e-9)
    # As many drops as the probabilities promise, within four standard deviations.
    deviation = math.sqrt(sum(chance * (1 - chance) for chance in chances))
    assert deviation > 5
    assert abs(len(lost) - sum(chances)) < 4 * deviation
