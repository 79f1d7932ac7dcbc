"""What no other test asks of the fourteen oracles on docs/todays-schemes.md: the rest of their ranges, and where they do not hold.

An assertion on what differs from what is asked pins what was measured; its reason stands beside it, as far as it is known.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

import polars as pl
import pytest

import tailback as tb
from tests.random_marks import RandomMarks

SEGMENT = {"segment_size": "1500 B"}
ACCESS = {"rate": "1 Gbit/s", "delay": "1 ms"}
PACKET = 1500 * 8


def run(rate: str, trip: float, seconds: tuple[float, float], flows: list[tb.Flow], **more: Any) -> tb.Result:
    """Flows over one link, whose round trip takes so many milliseconds with two access links of 1 ms; measured from the first of
    `seconds` until the last."""
    link = {"delay": f"{trip / 2 - 2:.6g} ms", "buffer": "4 BDP", "access": ACCESS}
    link |= {"warm_up": f"{seconds[0]} s", "duration": f"{seconds[1]} s"}
    return tb.dumbbell(**{**link, "rate": rate, "flows": flows, **more}).run()


def bottleneck(result: tb.Result) -> dict[str, Any]:
    return result.links.filter(pl.col("link") == "r0->r1").row(0, named=True)


def waiting(result: tb.Result, since: float) -> pl.Series:
    """Packets in the bottleneck's queue."""
    return result.series(link="r0->r1").filter(pl.col("time") > since)["queue_packets"]


def noted(result: tb.Result, name: str, since: float = 0.0, until: float = 1e9) -> pl.DataFrame:
    """What the flows of the group "one" noted under a name, in the order of time."""
    ours = (pl.col("name") == name) & pl.col("flow").str.starts_with("one") & pl.col("time").is_between(since, until)
    return result.state.filter(ours).sort("time")


def mean(values: pl.Series) -> float:
    return float(values.to_numpy().mean())


def fairness(result: tb.Result) -> float:
    """Jain's index of the flows' goodputs."""
    rates = result.flows["goodput"].to_numpy()
    return float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))


def share(result: tb.Result, group: str) -> float:
    ours = result.flows.filter(pl.col("group") == group)["goodput"]
    return float(ours.sum()) / float(result.flows["goodput"].sum())


def marked_at_random(scheme: Any, chance: float, trip: float, seconds: tuple[float, float], **flow: Any) -> tb.Result:
    """One flow on a path without any other limit than marks."""
    return run(
        "1 Gbit/s",
        trip,
        seconds,
        [tb.flows(1, scheme, name="one", **flow)],
        delay=f"{trip / 2 - 0.2:.6g} ms",
        buffer="10000 packets",
        queue=RandomMarks.queue(chance=chance),
        access={"rate": "10 Gbit/s", "delay": "0.1 ms"},
        record={"bin": "100 ms"},
    )


# ── 3: BBR version 1 beside CUBIC (Ware et al., IMC 2019) ──


def modelled_share(products: float) -> float:
    """The model's share of one BBR flow, 20 Mbit/s and 40 ms, in a buffer of so many products: with the loss-based flows' part
    p = 1/2 - 1/(2X) - 4/q of the buffer, (1 - p) of the time without ProbeRTT, which lasts for what waits and 0.24 s in 10 s."""
    buffer = products * 20e6 * 0.040 / PACKET
    part = 0.5 - 0.5 / products - 4 / buffer
    return (1 - part) * (1 - (products * 0.040 + 0.24) / 10)


@pytest.mark.parametrize(
    ("products", "others", "seconds", "found"),
    [
        (4, 1, 150, (0.40, 0.51)),
        (4, 16, 150, (0.38, 0.51)),
        (16, 4, 600, (0.38, 0.53)),
        (32, 16, 600, (0.38, 0.60)),
        (32, 1, 600, (0.11, 0.335)),
        (64, 4, 600, (0.0, 0.25)),
    ],
)
def test_3_share_of_bbr1_beside_cubic(products: int, others: int, seconds: float, found: tuple[float, float]) -> None:
    """Asked: within 0.1 of the model. That holds with 8 and 16 products of buffer, here 16. In 4 it is less than the model's 0.61;
    in 32 and 64 it depends on the number of the others, 0.14 to 0.53 and 0.03 to 0.14 by eight seeds. `test_todays_bbr1.py` has
    the reasons."""
    one = tb.flows(1, "bbr1", name="one", transport=SEGMENT)
    access = {"rate": "1 Gbit/s", "delay": {"from": "0.8 ms", "to": "1.2 ms"}}
    cubic = tb.flows(others, "cubic", transport=SEGMENT)
    link: dict[str, Any] = {"buffer": f"{products} BDP", "access": access}
    got = share(run("20 Mbit/s", 40, (seconds / 3, seconds), [one, cubic], **link), "one")
    assert found[0] < got < found[1]
    agrees = products == 16 or (products, others) == (32, 16)
    assert (abs(got - modelled_share(products)) < 0.1) is agrees


# ── 4: random loss ──


@pytest.mark.parametrize(
    ("scheme", "megabits", "fine", "broken"),
    [("bbr1", 10, 0.12, 0.16), ("bbr1", 100, 0.14, 0.16), ("bbr3", 10, 0.02, 0.05), ("bbr3", 100, 0.0125, 0.02)],
)
def test_4_where_random_loss_halves_the_rate(scheme: str, megabits: int, fine: float, broken: float) -> None:
    """Asked: knees at some 20 and some 2 %. Version 1's is below 16 %: what loses 50/256 of what it delivers is 16 % of what it
    sends, which its detection of policers takes for one; chance reaches that earlier at 10 Mbit/s. Version 3 asks each round
    for 2 %: of few packets chance makes more and less, so that half is left at 3 % at 10 Mbit/s and at 1.5 at 100."""

    def part(loss: float) -> float:
        """Of what could get through."""
        one = tb.flows(1, scheme, name="one", transport=SEGMENT)
        link: dict[str, Any] = {"loss": {"name": "independent", "probability": loss}}
        result = run(f"{megabits} Mbit/s", 40, (10, 30), [one], **link)
        return float(result.flows["goodput"][0]) / (megabits * 1e6 * (1 - loss))

    assert part(fine) > 0.5
    assert part(broken) < 0.5


# ── 5: DCTCP behind a step (Alizadeh et al. 2010, §3.3) ──


def fluid_alpha(window: float, per_round: float) -> float:
    """α² (1 - α/4) = (2W + 1)/(W + 1)², where a round adds one packet."""
    wanted = per_round * (2 * window + 1) / (window + 1) ** 2
    alpha = sqrt(wanted)
    for _ in range(50):
        alpha = sqrt(wanted / (1 - alpha / 4))
    return alpha


def remembered_alpha(window: float, gain: float, marked: float = 1.0) -> tuple[float, float]:
    """α's mean, and its smallest, at which windows are cut. Of n rounds this part of one is marked, in which nothing grows (RFC
    3168 §6.1.2), so that the rest make up for the cut, (W + 1) α/2; within a period α falls by (1 - g) a round, n times from its
    peak."""
    alpha = 0.2
    for _ in range(500):
        rounds = marked + (window + 1) * alpha / 2
        kept = (1 - gain) ** (rounds - 1)
        alpha = 0.5 * alpha + 0.5 * gain * marked * kept / (1 - kept * (1 - gain))
    return marked / rounds, alpha


def behind_step(
    count: int,
    threshold: int,
    micros: int,
    *,
    gain: float = 1 / 16,
    echo: str = "state-change",
    receiver: dict[str, Any] | None = None,
    seconds: float = 0.2,
) -> tuple[float, pl.Series, tb.Result]:
    """DCTCP flows over 10 Gbit/s: α's mean, the queue, and all of it."""
    result = run(
        "10 Gbit/s",
        micros * 1e-3,
        (seconds / 2, seconds),
        [
            tb.flows(
                count,
                {"name": "dctcp", "g": gain, "echo": echo},
                name="one",
                transport=SEGMENT,
                receiver=receiver or {},
            )
        ],
        delay=f"{micros / 2 - 4} us",
        buffer="2000 packets",
        queue={"name": "step", "threshold": f"{threshold} packets"},
        access={"rate": "100 Gbit/s", "delay": "1 us"},
        record={"bin": f"{micros // 10} us", "flows": "all", "state": True},
    )
    return mean(noted(result, "alpha", seconds / 2)["value"]), waiting(result, seconds / 2), result


@pytest.mark.parametrize(
    ("count", "threshold", "micros", "gain", "fluid"),
    [
        (1, 40, 100, 1 / 16, True),
        (4, 40, 100, 1 / 16, False),
        (10, 40, 100, 1 / 16, False),
        (20, 40, 100, 1 / 16, False),
        (40, 40, 100, 1 / 16, False),
        (1, 65, 500, 1 / 16, False),
        (1, 65, 500, 1 / 64, True),
        (10, 65, 500, 1 / 16, True),
    ],
)
def test_5_dctcp_of_one_to_forty_flows(count: int, threshold: int, micros: int, gain: float, fluid: bool) -> None:
    """Asked: the fluid model's α within 10 %. It has no round without growth, which matters for small windows, and takes α for
    constant, which needs g < 1.39/√(2 (C RTT + K)), 1/22 at 500 us. With both in the law α is within 8 % for 1 to 40 flows. The
    queue's peak is K + N as asked, its least that of the law for one flow; from four on flows do not swing together, and it is
    less."""
    alpha, queue, _ = behind_step(count, threshold, micros, gain=gain, seconds=0.5 if micros > 100 else 0.2)
    window = (10e9 * micros * 1e-6 / PACKET + threshold) / count
    remembered, least = remembered_alpha(window, gain)
    assert alpha == pytest.approx(remembered, rel=0.08)
    assert (abs(alpha / fluid_alpha(window, 1) - 1) <= 0.1) is fluid
    assert float(queue.to_numpy().max()) == pytest.approx(threshold + count, rel=0.1)
    swing = count * (window + 1) * least / 2
    if count == 1:
        assert float(queue.to_numpy().min()) == pytest.approx(threshold + count - swing, rel=0.1, abs=count)
    else:
        assert float(queue.to_numpy().min()) < threshold + count - 1.2 * swing


def marked_per_cut(result: tb.Result, since: float, gain: float) -> float:
    """How many rounds' worth of marks come with a cut, of one flow: by the steps of α, of which each is g (M - α)."""
    alpha = noted(result, "alpha", since)["value"].to_numpy()
    marked = (alpha[1:] - (1 - gain) * alpha[:-1]) / gain
    hit = marked > 1e-6
    cuts = int((hit[1:] & ~hit[:-1]).sum())
    return float(marked.sum()) / cuts


@pytest.mark.parametrize("echo", ["state-change", "counted"])
@pytest.mark.parametrize(("threshold", "micros"), [(40, 100), (65, 500)])
def test_5_dctcp_with_delayed_acknowledgements_meets_half_of_the_marks(threshold: int, micros: int, echo: str) -> None:
    """Asked: as with an acknowledgement per packet. Two packets leave at once, and when the window has grown to the threshold only
    the second one of two meets more than K: half of a round is marked, not all of it, whether marks are echoed by the receiver's
    two states or counted. With half in the law, α is that of the law."""
    gain, seconds = 1 / 16, 0.5 if micros > 100 else 0.2
    window = 10e9 * micros * 1e-6 / PACKET + threshold
    for acks, part in ((1, 1.0), (2, 0.5)):
        alpha, _, result = behind_step(1, threshold, micros, echo=echo, receiver={"ack_every": acks}, seconds=seconds)
        assert marked_per_cut(result, seconds / 2, gain) == pytest.approx(part, rel=0.06)
        assert alpha == pytest.approx(remembered_alpha(window, gain, part)[0], rel=0.06)


def test_5_dctcp_of_ten_flows_with_delayed_acknowledgements() -> None:
    """Packets of many flows lie between the two, and their queue swings by more: α is within a tenth of the law for whole rounds.
    The peak is up to N higher."""
    alpha, queue, result = behind_step(10, 40, 100, receiver={"ack_every": 2})
    window = (10e9 * 100e-6 / PACKET + 40) / 10
    assert alpha == pytest.approx(remembered_alpha(window, 1 / 16)[0], rel=0.1)
    assert 50 <= float(queue.to_numpy().max()) <= 60
    assert fairness(result) > 0.95


def test_5_dctcp_with_a_window_of_one_waits_for_the_receivers_timer() -> None:
    """Forty flows with three packets each do not share where two are acknowledged at once: whose window has fallen to one segment
    waits for the receiver's timer with each, by default 100 ms, a thousand round trips. A timer of one round trip mends it."""
    *_, patient = behind_step(40, 40, 100, receiver={"ack_every": 2})
    *_, prompt = behind_step(40, 40, 100, receiver={"ack_every": 2, "ack_delay": "100 us"})
    alone = patient.flows.filter(pl.col("goodput") < 1e6).height
    assert alone > 20
    assert fairness(patient) < 0.5
    assert fairness(prompt) > 0.95


@pytest.mark.parametrize(
    ("count", "threshold", "idle"), [(4, 6, True), (4, 14, False), (20, 14, True), (20, 40, False)]
)
def test_5_dctcp_loses_throughput_below_a_seventh_of_the_product(count: int, threshold: int, idle: bool) -> None:
    """Asked: none is lost from a seventh of the product on, 12 packets, whatever N. With 10 and more flows some is: windows of a
    few packets do not swing together, so that the sum swings by more than the model's."""
    *_, result = behind_step(count, threshold, 100)
    assert (bottleneck(result)["utilization"] < 0.998) is idle


# ── 6: DCTCP with the receiver of RFC 3168 ──


@pytest.mark.parametrize(("chance", "latched"), [(0.01, (0.15, 0.3)), (0.1, (0.3, 0.55)), (0.5, (0.55, 0.75))])
def test_6_dctcp_with_the_echo_of_rfc_3168(chance: float, latched: tuple[float, float]) -> None:
    """Asked: α goes to 1, and each cut halves. It goes to many times the fraction marked, not to 1: the echo ends when the sender's
    CWR arrives, a round trip later, and a window that is cut so much has round trips without a mark."""

    def settled(echo: str) -> tuple[float, float]:
        """α and what is used of 100 Mbit/s."""
        one = tb.flows(1, {"name": "dctcp", "echo": echo}, name="one", transport=SEGMENT)
        link: dict[str, Any] = {"queue": RandomMarks.queue(chance=chance), "buffer": "1000 packets"}
        link["record"] = {"bin": "10 ms", "flows": "all", "state": True}
        result = run("100 Mbit/s", 12, (5, 10), [one], **link)
        return mean(noted(result, "alpha", 5)["value"]), float(bottleneck(result)["utilization"])

    alpha, used = settled("state-change")
    assert alpha == pytest.approx(chance, rel=0.1)
    other, less = settled("latched")
    assert latched[0] < other < latched[1]
    assert less < 0.8 * used


# ── 7: Prague at a fixed probability of marks ──


@pytest.mark.parametrize(
    ("chance", "trip", "off"),
    [
        (0.02, 1, (1.25, 1.45)),
        (0.1, 1, (1.25, 1.45)),
        (0.5, 25, (1.25, 1.5)),
        (0.5, 100, (1.25, 1.5)),
        (0.9, 25, (1.2, 1.6)),
    ],
)
def test_7_prague_has_a_third_more_than_its_law(chance: float, trip: float, off: tuple[float, float]) -> None:
    """Asked: (1/p - 1) min(1, 25 ms/RTT) packets per 12.5 ms, within 10 %. It has 1.29 to 1.44 times as much: the law has a
    reduction in every period, and one waits for a mark (`test_todays_laws.py` has the law with that wait)."""
    seconds = (10.0, 30.0) if chance < 0.5 else (20.0, 120.0)
    result = marked_at_random("prague", chance, trip, seconds, transport=SEGMENT)
    asked = 2 * (1 / chance - 1) * PACKET / max(trip * 1e-3, 25e-3)
    assert off[0] < float(result.flows["goodput"][0]) / asked < off[1]


def test_7_prague_sends_a_hundred_kilobits_at_least() -> None:
    """At 90 % of marks and 100 ms the law has 27 kbit/s, and Prague no less than 100 (module 0.7)."""
    result = marked_at_random("prague", 0.9, 100, (20, 120), transport=SEGMENT)
    assert 0.1e6 < float(result.flows["goodput"][0]) < 0.15e6


# ── 8: Prague beside CUBIC behind DualPI2 ──


@pytest.mark.parametrize(
    ("megabits", "trip", "alike"), [(20, 20, True), (100, 20, True), (40, 100, True), (40, 5, False), (40, 10, False)]
)
def test_8_prague_and_cubic_behind_dualpi2(megabits: int, trip: float, alike: bool) -> None:
    """Asked: windows within 0.6 to 1.7 of each other, 4 to 200 Mbit/s. At round trips below some 15 ms Prague's is smaller, since
    it behaves as if they were 25 ms: there goodputs are within 0.6 to 1.7, not windows."""
    classic = {**SEGMENT, "ecn": "ect0"}
    flows = [
        tb.flows(1, "prague", name="prague", transport=SEGMENT),
        tb.flows(1, "cubic", name="cubic", transport=classic),
    ]
    link: dict[str, Any] = {
        "queue": "dualpi2",
        "buffer": "4000 packets",
        "record": {"bin": "10 ms", "queue_state": True},
    }
    result = run(f"{megabits} Mbit/s", trip, (20, 60), flows, **link)
    flow = {row["group"]: row for row in result.flows.iter_rows(named=True)}
    goodput = flow["prague"]["goodput"] / flow["cubic"]["goodput"]
    windows = goodput * flow["prague"]["mean_rtt"] / flow["cubic"]["mean_rtt"]
    assert (0.6 < windows < 1.7) is alike
    assert 0.6 < goodput < 2.5
    late = result.series(link="r0->r1").filter(pl.col("time") > 20)["l4s_seconds"]
    assert float(late.quantile(0.99)) < 2e-3  # type: ignore[arg-type]  # Of numbers, a number.


# ── 9: Copa (Arun and Balakrishnan, NSDI 2018, §3) ──


def copas(count: int, megabits: int, competitive: bool, mixed: bool) -> tb.Result:
    """Flows that start a second apart, with round trips of 40 ms, or of 40 to 80."""
    copa = {"name": "copa", "competitive": competitive}
    delays = {"from": "0.5 ms", "to": "10 ms"} if mixed else {"from": "0.8 ms", "to": "1.2 ms"}
    flows = [tb.flows(1, copa, name=f"one-{index}", start=f"{index} s", transport=SEGMENT) for index in range(count)]
    link: dict[str, Any] = {"access": {"rate": "1 Gbit/s", "delay": delays}, "record": {"bin": "10 ms"}}
    return run(f"{megabits} Mbit/s", 40, (20, 40), flows, **link)


def least_in_parts(result: tb.Result, trips: int) -> int:
    """The largest of the queue's minima in pieces of so many round trips, from 20 s on."""
    part = pl.col("time") / (trips * mean(result.flows["mean_rtt"]))
    late = result.series(link="r0->r1").filter(pl.col("time") > 20).group_by(part.floor().alias("part"))
    return int(late.agg(pl.col("queue_packets").min())["queue_packets"].to_numpy().max())


@pytest.mark.parametrize(
    ("count", "megabits", "mixed", "excess"),
    [(3, 40, False, 0.2), (8, 40, False, 0.2), (4, 40, True, 0.2), (8, 40, True, 0.2), (8, 10, False, 0.8)],
)
def test_9_copa_of_up_to_eight_flows_and_mixed_round_trips(
    count: int, megabits: int, mixed: bool, excess: float
) -> None:
    """Asked: 1.25 N/δ = 2.5 N packets wait on average; Jain's index is 0.95 or more. Both hold without its mode for competition,
    within a fifth. Eight flows at 10 Mbit/s, with four packets each, queue 1.4 to 1.6 times as much, and never less than the
    round trip time that they take for the path's."""
    result = copas(count, megabits, competitive=False, mixed=mixed)
    queue = mean(waiting(result, 20))
    assert queue == pytest.approx(2.5 * count, rel=excess)
    assert (excess > 0.2) is (queue > 1.2 * 2.5 * count)
    assert fairness(result) > 0.95
    assert bottleneck(result)["utilization"] > 0.97


def test_9_copa_does_not_empty_the_queue_in_every_five_round_trips() -> None:
    """Asked: it is empty once in five round trips. Of eight flows at 40 Mbit/s it is nearly so once in twenty: they turn at
    different times."""
    result = copas(8, 40, competitive=False, mixed=False)
    assert least_in_parts(result, 5) > 8 >= least_in_parts(result, 20)


def test_9_copa_that_may_compete_fills_the_buffer_with_mixed_round_trips() -> None:
    """With its mode for competition, the default, flows of different round trips take each other for ones that fill buffers:
    what waits is more than ten times the law's 10 packets."""
    assert mean(waiting(copas(4, 40, competitive=True, mixed=True), 20)) > 10 * 10


# ── 10: Copa's mode beside CUBIC ──


@pytest.mark.parametrize(("megabits", "begins", "ends"), [(10, (0.3, 0.6), 1.0), (50, (0.6, 2.5), 3.0)])
def test_10_copa_competes_within_five_round_trips(megabits: int, begins: tuple[float, float], ends: float) -> None:
    """Asked: the mode follows a CUBIC flow's life, 10 to 25 s, within five round trips, of 120 ms with two products of buffer. It
    does at 10 Mbit/s. At 50 it begins later, since CUBIC's slow start loses so much that the queue is empty at 11 s. After CUBIC it
    is off at once, and on again for tenths of a second until 1 to 3 s later."""
    flows = [
        tb.flows(1, "copa", name="one", transport=SEGMENT),
        tb.flows(1, "cubic", name="other", start="10 s", stop="25 s", transport=SEGMENT),
    ]
    link: dict[str, Any] = {"buffer": "2 BDP", "record": {"bin": "10 ms", "flows": "all", "state": True}}
    result = run(f"{megabits} Mbit/s", 40, (0, 35), flows, **link)
    mode = noted(result, "competitive")
    on, off = mode.filter(pl.col("value") == 1)["time"], mode.filter(pl.col("value") == 0)["time"]
    assert begins[0] < float(on.filter(on > 10)[0]) - 10 <= begins[1]
    assert float(off.filter(off > 25)[0]) - 25 < 0.6
    assert 0.6 < float(on.to_numpy().max()) - 25 < ends
    assert mean(mode.filter(pl.col("time").is_between(25.2, 25 + ends))["value"]) < 0.3


# ── 11: LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06) ──


@pytest.mark.parametrize("slowdowns", [True, False])
def test_11_ledbat_plus_plus_queues_its_target(slowdowns: bool) -> None:
    """60 ms within 5 %, its slowdowns included, which cost less than a tenth of the link."""
    one = tb.flows(1, {"name": "ledbat-plus-plus", "slowdowns": slowdowns}, name="one", transport=SEGMENT)
    found = bottleneck(run("10 Mbit/s", 40, (30, 120), [one], buffer="8 BDP"))
    assert found["queueing_delay"] == pytest.approx(0.060, rel=0.05)
    assert (0.9 if slowdowns else 0.999) < found["utilization"] <= (0.99 if slowdowns else 1)


# ── 12: NADA with the capacities of RFC 8867 §5.1 ──


@pytest.mark.parametrize("one_way", [50, 100])
def test_12_nada_in_every_steady_bin(one_way: int) -> None:
    """Signal times rate is 15 kbit within 1 % in every tenth of a second, from 20 s after a change on. At 2.5 Mbit/s the rate is
    NADA's largest, and nothing waits. At 0.6 the 20 s of the table are too few: after the overflow the rate climbs for 20 s. So
    this stage lasts for 60 s here. At 1 Mbit/s and 100 ms it never rests: what accelerated growth queues is taken back until for
    500 ms less than QEPS waits, 10 of the 15 ms at rest, and growth begins again."""
    steps = [(40, 2.5), (60, 0.6), (120, 1.0)]
    link: dict[str, Any] = {"schedule": [{"at": f"{at} s", "rate": f"{rate} Mbit/s"} for at, rate in steps]}
    link |= {"buffer": "37500 B", "record": {"bin": "100 ms", "flows": "all", "state": True}}
    result = run("1 Mbit/s", 2 * one_way, (0, 160), [tb.flows(1, "nada", name="one")], **link)

    def bins(begin: float, end: float) -> pl.DataFrame:
        rates = noted(result, "reference_rate", begin, end).rename({"value": "rate"})
        both = noted(result, "signal", begin, end).join(rates, on="time")
        tenth = (pl.col("time") * 10).floor().alias("tenth")
        return both.group_by(tenth).agg(pl.col("rate").mean(), (pl.col("value") * pl.col("rate")).mean().alias("kept"))

    for begin, end, capacity in ((20, 40, 1e6), (100, 120, 0.6e6), (140, 160, 1e6)):
        steady = bins(begin, end)
        assert len(steady) > 150
        if one_way == 100 and capacity == 1e6:
            assert (steady["rate"].min(), steady["rate"].max()) == pytest.approx((0.9e6, 1.12e6), rel=0.02)
            assert mean(steady["rate"]) == pytest.approx(1e6, rel=0.03)
            continue
        assert (steady["kept"] - 15e3).abs().to_numpy().max() < 150, (begin, end)
        assert (steady["rate"] / capacity - 1).abs().to_numpy().max() < 0.01
    fast = bins(50, 60)
    assert (mean(fast["rate"]), mean(waiting(result, 50)[:100])) == (1.5e6, 0.0)
    assert mean(bins(70, 80)["kept"]) < 7e3, "not steady 20 s after the step to 0.6 Mbit/s"


# ── 13: SCReAM version 2 at a fixed probability of marks ──


@pytest.mark.parametrize(
    ("chance", "trip", "least"), [(0.01, 25, 0.4), (0.5, 25, 0.8), (0.9, 25, 1.0), (0.9, 100, 1.0), (0.01, 1, 0.05)]
)
def test_13_scream_has_two_marks_per_round_trip_or_fewer(chance: float, trip: float, least: float) -> None:
    """On packets through a link. At 1 ms it behaves as if the round trip were 25 ms, in which two and a half are marked."""
    scheme = {"name": "scream2", "ecn": "ect1", "max_rate": "1 Gbit/s"}
    result = marked_at_random(scheme, chance, trip, (10, 30))
    marks = result.series(link="r0->r1").filter(pl.col("time") > 10)["marks"]
    assert least < float(marks.sum()) * trip * 1e-3 / 20 <= 2


# ── 14: GCC ──


def gcc(start: float, capacity: float, most: float, seconds: float) -> tb.Result:
    """One flow of packets of 1000 bytes that starts at a rate and may have another at most, without probes, over 100 ms."""
    rates = {"start_rate": f"{start:.0f} bit/s", "max_rate": f"{most:.0f} bit/s"}
    one = tb.flows(1, {"name": "gcc", "probes": False, **rates}, name="one")
    link: dict[str, Any] = {"buffer": "2000 packets", "record": {"bin": "100 ms", "flows": "all", "state": True}}
    return run(f"{capacity:.0f} bit/s", 100, (0, seconds), [one], **link)


def directed(result: tb.Result) -> pl.DataFrame:
    return result.series(flow=str(result.flows["flow"][0])).select("time", "directed_rate")


@pytest.mark.parametrize(
    ("excess", "reduced"), [(0.0, False), (0.01, False), (0.02, False), (0.03, True), (0.06, True)]
)
def test_14_gcc_finds_what_exceeds_the_capacity(excess: float, reduced: bool) -> None:
    """Asked: over-use from 5.2 % on, where a slope of s times 4 times 60 groups is the first threshold, 12.5. But this threshold
    comes down to 6 within the first reports, by 0.039 of the difference per millisecond: over-use is found from 2.5 % on."""
    result = gcc(1.2e6, 1.2e6 / (1 + excess), 1.2e6, 20)
    assert (float(directed(result)["directed_rate"].to_numpy().min()) < 1.1e6) is reduced
    threshold = noted(result, "threshold", 1)["value"]
    assert float(threshold.to_numpy().min()) == 6
    if not reduced:
        assert mean(noted(result, "trend", 2)["value"]) == pytest.approx(240 * excess / (1 + excess), abs=0.4)


@pytest.mark.parametrize(("megabits", "until"), [(1.0, 8.0), (2.0, 15.0)])
def test_14_gcc_returns_by_a_packet_per_response_time(megabits: float, until: float) -> None:
    """Asked: 24 kbit/s per second, a packet of 1200 bytes per 2 (RTT + 100 ms). The packet is a thirtieth of a second's data cut
    into equal parts of 1200 bytes or less: 19 to 21 kbit/s here, and 24 only where a frame is a whole number of packets."""
    rate = directed(gcc(1.2e6 * megabits, megabits * 1e6, 3e6 * megabits, until))
    assert float(rate["directed_rate"].to_numpy().min()) == pytest.approx(0.85e6 * megabits, rel=0.03)
    climb = rate.filter(pl.col("time").is_between(2, until))
    first, last = climb["directed_rate"][0], climb["directed_rate"][-1]
    slope = float(last - first) / (float(climb["time"][-1]) - float(climb["time"][0]))
    frame = (first + last) / 2 / 30
    packet = frame / ceil(frame / (1200 * 8))
    assert slope == pytest.approx(packet / (2 * 0.2), rel=0.06)
    assert slope < 0.95 * 24e3
