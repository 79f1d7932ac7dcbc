"""Packet-pair end to end: what its paper did not try, and the pieces that its items stand on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback import _core
from tailback.analysis import jain
from tailback.papers.lab import Lab
from tailback.papers.packet_pair import (
    benchmarks,
    coder,
    fig_15,
    fig_17,
    fig_19,
    stability,
    table_4,
    table_7,
    table_13,
    video,
)
from tailback.papers.packet_pair.scenes import (
    RATE,
    UPSTREAM,
    Source,
    base,
    bulk,
    fixed,
    packet_pair,
    transport,
    watched,
)
from tailback.papers.packet_pair.traces import Steps, logged, own_queue, published, sending_rate
from tailback.pool import Pool
from tailback.progress import Bar

SOURCES, PACKETS = 4, 1000


def shared(duration: str = "60 s", reverse: dict[str, Any] | None = None, **fields: Any) -> tb.Result:
    """Four transfers over one fair bottleneck, with something wrong."""
    scheme, against = fields.pop("scheme", packet_pair()), fields.pop("against", False)
    made: dict[str, Any] = {
        "queue": "weighted-fair-queueing",
        "reverse": {"rate": f"{UPSTREAM} bit/s", **(reverse or {})},
        "access": {"rate": f"{UPSTREAM} bit/s", "delay": "4 ms"},
        "record": {"flows": "none", "links": "none"},
        **fields,
    }
    flows = [tb.flows(SOURCES, scheme, bulk(PACKETS), name="source", transport=transport())]
    if against:
        # Bursts on the way back, which acknowledgements wait behind and leave at the line's rate.
        bursts = {"name": "on-off", "on": {"name": "constant", "value": "20 ms"}, "rate": "4 Mbit/s"}
        back = {"from_": "r1", "to": "r0", "datagram": {"segment_size": "500 B"}}
        flows.append(tb.flows(1, {"name": "fixed-rate", "rate": "20 Mbit/s"}, bursts, name="against", **back))
    scenario = tb.dumbbell(
        rate=f"{RATE} bit/s", delay="40 ms", buffer="100 packets", duration=duration, flows=flows, **made
    )
    return scenario.run()


TROUBLE: dict[str, dict[str, Any]] = {
    "nothing": {},
    "reordering": {"reordering": {"probability": 0.05, "hold": {"from": "5 ms", "to": "20 ms"}}},
    "lost data": {"loss": {"name": "independent", "probability": 0.02}},
    "lost acknowledgements": {"reverse": {"loss": {"name": "independent", "probability": 0.1}}},
    "duplicated acknowledgements": {"reverse": {"duplication": {"probability": 0.1}}},
    "a slow way back": {"reverse": {"rate": "300 kbit/s"}},
    "compressed acknowledgements": {"reverse": {"rate": "1 Mbit/s", "queue": "drop-tail"}, "against": True},
    "first in, first out": {"queue": "drop-tail"},
    "a tenth of the capacity for a while": {
        "schedule": [{"at": "1 s", "rate": "400 kbit/s"}, {"at": "6 s", "rate": "4 Mbit/s"}]
    },
    "ten times the capacity": {"schedule": [{"at": "1 s", "rate": "40 Mbit/s"}]},
    # By the memorandum's own rule a timer loaded in the outage keeps its rate for tens of seconds.
    "an outage": {
        "scheme": packet_pair(rate_change="within-round-trip"),
        "schedule": [{"at": "1 s", "rate": "4 kbit/s"}, {"at": "4 s", "rate": "4 Mbit/s"}],
    },
    "a clock of 1 ms": {"scheme": packet_pair(clock="1 ms")},
    "a clock of 10 ms": {"scheme": packet_pair(clock="10 ms")},
    "the discrete law": {"scheme": packet_pair(law={"name": "discrete"})},
    "a Kalman filter": {"scheme": packet_pair(estimator={"name": "kalman"})},
    "a nominal rate": {"scheme": packet_pair(nominal_rate="400 kbit/s")},
    "gentle probing": {"scheme": packet_pair(setpoint={"name": "section-7"})},
}


SLOWER = {
    # 400 ms of packets pass in the five seconds of a tenth, and next to none in the outage's three; then the rate must rise anew.
    "a tenth of the capacity for a while": 9.5,
    "an outage": 14.0,
    # A second at the old rate, 300 ms for the rest, and the time to find out.
    "ten times the capacity": 2.2,
}
"""Seconds by which all must be done; :data:`SOON` for the others."""
SOON = 5.5
"""Seconds: the four transfers take 4.1 s of the bottleneck at least."""
NEEDLESS = {"reordering", "lost acknowledgements", "a slow way back", "compressed acknowledgements", "an outage"}
"""What makes packets look lost that are not."""


@pytest.mark.parametrize("end", ["sender", "receiver"])
@pytest.mark.parametrize("trouble", TROUBLE)
def test_every_transfer_completes_in_spite_of(trouble: str, end: str) -> None:
    fields = dict(TROUBLE[trouble])
    scheme = {**fields.pop("scheme", packet_pair()), "controlled_at": end}
    flows = shared(scheme=scheme, **fields).flows.filter(pl.col("group") == "source")
    assert flows["finished"].is_not_null().all()
    assert (flows["goodput_packets"] == PACKETS).all()
    assert max(flows["finished"]) < SLOWER.get(trouble, SOON)
    if trouble != "an outage":
        assert jain(1.0 / flows["finished"].to_numpy()) > 0.98
    if trouble not in NEEDLESS:
        assert int(flows["duplicate_packets"].sum()) == 0, "something that had arrived was retransmitted"


def test_a_silent_receiver_is_left_alone() -> None:
    result = shared(reverse={"loss": {"name": "independent", "probability": 1.0}})
    # A pair at first, then ever rarer single packets.
    assert (result.flows["sent_packets"] < 10).all()


def test_without_trouble_losses_are_repaired_once() -> None:
    result = shared()
    assert int(result.flows["retransmitted_packets"].sum()) == int(result.links["dropped_packets"].sum())
    assert int(result.flows["duplicate_packets"].sum()) == 0


def test_fifo_breaks_probing_but_not_delivery() -> None:
    fair, fifo = shared(), shared(queue="drop-tail")
    lost = [int(run.links["dropped_packets"].sum()) for run in (fair, fifo)]
    # Spacing tells the line's rate there, so each source takes the line to be its own.
    assert lost[1] > 10 * lost[0]


def test_the_queue_is_steered_to_the_setpoint() -> None:
    record = watched(packets=True, links=logged())
    for setpoint in (8.0, 40.0):
        result = base([Source(None, 0)], 2000.0, scheme=packet_pair(setpoint=fixed(setpoint)), record=record).run()
        assert own_queue(result).mean(1200, 1900) == pytest.approx(setpoint, abs=1.5)
        assert published(result, "setpoint").values[-1] == setpoint


def test_steps_are_step_functions() -> None:
    steps = Steps(np.array([1.0, 2.0, 4.0]), np.array([10.0, 20.0, 40.0]))
    assert np.isnan(steps.at(0.5)[0])
    assert steps.at(np.array([1.0, 3.9, 9.0])).tolist() == [10.0, 20.0, 40.0]
    assert steps.mean(1.0, 5.0) == pytest.approx((10 + 2 * 20 + 40) / 4)
    assert jain(np.array([1.0, 1.0])) == 1.0
    assert jain(np.array([1.0, 0.0])) == 0.5


def test_optima_are_the_printed_ones() -> None:
    assert benchmarks.optimal(14_000) == 1444
    assert [benchmarks.optimal(packets) for packets in (4, 20, 200, 2000)] == [44.4, 46, 64, 244]
    assert benchmarks.optimum_check([710.7], [710.0]).holds
    assert not benchmarks.optimum_check([711.2], [710.0]).holds


def test_an_optimum_is_that_of_the_network() -> None:
    crossing = table_7.CROSSING.scenario()
    assert benchmarks.completion(benchmarks.flooded(crossing).run()) == pytest.approx(1444, abs=0.1)
    slower = crossing.model_copy(update={"topology": crossing.topology.model_copy(update={"rate": "39.9 Mbit/s"})})
    assert not benchmarks.optimum_check([benchmarks.completion(benchmarks.flooded(slower).run())], [1444]).holds


def test_moduli_are_those_of_the_characteristic_equations() -> None:
    for alpha in (0.5, 0.9, 1.0):
        assert stability.published_modulus(alpha) == pytest.approx(np.sqrt(alpha))
        assert stability.corrected_modulus(alpha) == pytest.approx(np.sqrt(1 - alpha))


def test_the_laws_derivatives_refute_the_published_equation() -> None:
    for alpha in (0.5, 0.9, 1.1):
        assert stability.linearised(alpha) == pytest.approx((1 - alpha, 1 - alpha), abs=1e-6)
        assert stability.linearised(alpha) != pytest.approx((1, alpha), abs=0.3)


def test_the_rate_timers_limit_changes_what_the_program_does() -> None:
    program, limited = (table_4.simulate(table_4.Run(7, 100, way)).peak for way in ("program", "limited"))
    assert (program, limited) == (52, 43)


def test_the_sending_rate_is_judged_and_not_what_the_queue_lets_through() -> None:
    run = fig_17.simulate(2.0)
    # At 2000 TU a ninth is fair, and what is sent is above it; what the fair queue lets through would be 0.11 at most.
    assert run.rate_1 > 0.13
    assert run.rate_steady == pytest.approx(0.1, abs=0.01)


class Told(Lab):
    """Gives every experiment what a function says in place of a run."""

    def __init__(self, answer: Callable[[Any], Any]) -> None:
        super().__init__("quick", Pool(1), Bar("x", show=False))
        self.answer = answer

    def map(self, _: Any, arguments: Iterable[Any]) -> list[Any]:
        """An answer for each."""
        return [self.answer(argument) for argument in arguments]


@pytest.mark.parametrize(
    ("slow", "word", "changed"), [(None, "holds", True), (False, "fails", True), (True, "holds", False)]
)
def test_table_13_judges_sources_that_come_one_by_one(slow: bool | None, word: str, changed: bool) -> None:
    """As the ledger has it; those that are there from the beginning are the changed test."""

    def took(run: table_13.Run) -> float:
        late = run.load == 0.6 and run.at_once is slow
        return (44.0 + 400.0 / (1.0 - run.load)) * (1.4 if late else 1.2)

    outcome = table_13.measure(Told(took))
    assert outcome.verdict == word
    assert outcome.changed
    assert outcome.changed.holds is changed
    assert outcome.measured["completion_mean_ms"]["0.6"] == pytest.approx(1044.0 * (1.4 if slow is False else 1.2))


@pytest.mark.parametrize(("lost", "holds"), [(1, True), (0, False), (9, False)])
def test_figure_15_counts_the_losses_of_every_source_in_every_run(lost: int, holds: bool) -> None:
    """A mean over runs would take nine in one for four in each."""

    def made(run: fig_15.Run) -> fig_15.Traced:
        losses = [
            [1000.0 + index for index in range(lost if run.seed == 2 and source == 3 else 4)] for source in range(4)
        ]
        swing = [20.0 + 10.0 * (int(time) // 100 % 2) for time in np.arange(1.0, fig_15.SHOWN, 1.0)]
        return fig_15.Traced([swing] * 4, losses, [len(own) for own in losses], [1.0] * 4, [swing] * 4)

    assert fig_15.measure(Told(made)).holds is holds


def test_figure_19_is_judged_with_the_estimator_of_all_items() -> None:
    def answer(run: table_4.Run) -> fig_19.Traced:
        good = fig_19.Traced(
            [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [0.0, 1e3, 1.1e3, 1.2e3, 2e3, 6e3, 7e3],
            33, 31, 0.0, 80, 0, 0.1, 10, 0, 1.0, 7e3, 5,
        )  # fmt: skip
        return good if run.way == "program" else good._replace(rate_3=0.38)

    outcome = fig_19.measure(Told(answer))
    assert not outcome.holds
    assert outcome.changed
    assert outcome.changed.holds
    assert "0.38" in outcome.why


def test_estimators_follow_a_series() -> None:
    seen = [1.0] * 5 + [2.0] * 50
    for name in ("fuzzy", "kalman", "ewma"):
        found = _core.estimate(f'{{"name": "{name}"}}', seen)
        assert found[4] == pytest.approx(1.0)
        assert found[-1] == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ("config", "seen", "word"),
    [
        ('{"name": "fuzy"}', [1.0], "fuzy"),
        ('{"name": "ewma", "history": 2.0}', [1.0], "history"),
        ('{"name": "fuzzy"}', [1.0, 0.0], "0"),
        ('{"name": "fuzzy"}', [float("nan")], "NaN"),
    ],
)
def test_estimators_refuse(config: str, seen: list[float], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        _core.estimate(config, seen)


def test_the_packet_log_tells_losses_apart() -> None:
    result = shared(record={"flows": "none", "links": "main", "packets": True})
    drops = result.packets.filter(pl.col("event") == "dropped")
    assert drops.height == int(result.links["dropped_packets"].sum())


def test_a_lost_anchor_spoils_its_group_and_a_lost_b_frame_itself() -> None:
    hit = np.zeros((4, len(coder.PATTERN)), dtype=bool)
    hit[0, 3] = hit[1, 1] = True
    coded = np.full(hit.shape, 40.0)
    coded[3, 0] = np.nan
    seen = coder.seen(coded, hit)
    assert (seen[0] == coder.CONCEALED).sum() == len(coder.PATTERN) - 3
    assert (seen[1] == coder.CONCEALED).sum() == 1
    assert (seen[2] == 40.0).all()
    assert (seen[3] == coder.CONCEALED).sum() == 1, "a skipped frame is frozen, what follows is not"
    reference = np.array([coder.REFERENCE, 2 * coder.REFERENCE])
    assert coder.quality(reference).tolist() == [coder.ANCHOR, coder.ANCHOR - coder.SLOPE]


def test_frames_are_judged_by_their_own_packets() -> None:
    one = video.Film(
        frame=np.arange(3),
        quantiser=np.full(3, 8.0),
        offered=np.array([0.0, 0.04, 0.08]),
        first=np.array([0, 2, 5]),
        end=np.array([2, 5, 6]),
    )
    times = {0: 0.05, 1: 0.06, 2: 0.1, 3: 0.3, 4: 0.1, 5: 0.09 + video.PLAYOUT}
    delivered = pl.DataFrame({"number": list(times), "time": list(times.values())})
    late = video.shown(one, delivered).ravel()
    assert late[:3].tolist() == [coder.ANCHOR, coder.ANCHOR, coder.CONCEALED]
    lost = video.shown(one, delivered.filter(pl.col("number") != 3).with_columns(time=pl.lit(0.1))).ravel()
    assert lost[:3].tolist() == [coder.ANCHOR, coder.CONCEALED, coder.ANCHOR]


def test_the_coder_follows_the_rate_while_it_runs() -> None:
    film = {"name": "video", "rate": "4 Mbit/s"}
    flows = [tb.flows(1, packet_pair(setpoint=fixed(5)), film, name="film", transport=transport())]
    result = tb.dumbbell(
        rate="4 Mbit/s",
        delay="20 ms",
        buffer="100 packets",
        duration="20 s",
        queue="weighted-fair-queueing",
        schedule=[{"at": "10 s", "rate": "1 Mbit/s"}],
        flows=flows,
        record={"bin": "1 s", "flows": "all", "links": "none", "state": True},
    ).run()
    told = result.state.filter(pl.col("name") == "quantiser")
    before, after = (
        float(told.filter((pl.col("time") > begin) & (pl.col("time") < begin + 5))["value"].median())  # type: ignore[arg-type]
        for begin in (5.0, 14.0)
    )
    assert after > 2 * before, (before, after)
    bytes_sent = float(result.series(flow="film").filter(pl.col("time") > 14)["received_bytes"].sum())
    # 95 % of the payload of a quarter of the capacity, but for the film's own bursts.
    assert 0.75 < 8 * bytes_sent / 6 / 1e6 < 1.0


def test_receiver_and_sender_control_alike() -> None:
    taken = [
        benchmarks.completion(
            base([Source(1000, 0), Source(1000, 300)], 6000, scheme=packet_pair(controlled_at=end)).run()
        )
        for end in ("sender", "receiver")
    ]
    assert taken[1] == pytest.approx(taken[0], rel=0.05)


def test_a_receiver_that_controls_falls_silent() -> None:
    scheme = packet_pair(controlled_at="receiver")
    result = shared(scheme=scheme, reverse={"loss": {"name": "independent", "probability": 1.0}})
    assert (result.flows["sent_packets"] < 10).all()


def test_the_laws_own_epochs_decay_as_the_eigenvalue_says_where_they_are_small() -> None:
    for alpha in (0.5, 0.7, 0.9):
        rest = stability.corrected_rest(alpha) - stability.PAIR / 2 * (1 - alpha) / alpha * alpha
        found = stability.epochs(alpha, rest + 1e-3, 1.0, count=100)
        rates = np.array([rate for _, rate in found])
        assert stability.fitted((rates - rates[-1])[1:13]) == pytest.approx(
            stability.corrected_modulus(alpha), rel=0.01
        )


def sent_early(scheme: dict[str, Any]) -> int:
    """Packets that leave before the first acknowledgement can be back, after 100 TU."""
    result = base([Source(500, 0)], 99.0, scheme=scheme).run()
    return int(result.flows["sent_packets"][0])


def test_a_nominal_rate_is_sent_at_before_anything_is_known() -> None:
    assert sent_early(packet_pair()) == 2
    # A tenth of the bottleneck: a pair every 20 TU.
    assert sent_early(packet_pair(nominal_rate=f"{RATE // 10} bit/s")) == pytest.approx(10, abs=2)


@pytest.mark.parametrize(("restart", "least", "most"), [(True, 0.05, 0.5), (False, 0.9, 1.3)])
def test_after_idling_the_rate_rises_from_rest(restart: bool, least: float, most: float) -> None:
    bursts = {
        "name": "on-off",
        "on": {"name": "constant", "value": "1 s"},
        "off": {"name": "constant", "value": "2 s"},
        "rate": "3 Mbit/s",
    }
    scheme = packet_pair(idle_restart=restart, setpoint=fixed(20))
    flows = [tb.flows(1, scheme, bursts, name="1", transport=transport())]
    made = base([Source(1, 0)], 3150.0, scheme=scheme, record=watched()).with_flows(flows)
    rate = sending_rate(made.run())
    # The second burst begins at 3 s: what is directed before its first acknowledgements.
    assert least < rate.mean(3020.0, 3090.0) < most
