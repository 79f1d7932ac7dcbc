"""Metrics of losses, dynamics, fairness in time and completion, on series whose answers are known."""

from __future__ import annotations

import dataclasses
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.errors import TailbackWarning
from tailback.results import completion, dynamics, fairness, losses, metrics


def made_up(result: tb.Result, rates: dict[str, list[float]]) -> tb.Result:
    """A result whose watched flows had these goodputs and sending rates in bit/s, bin by bin, from time 0."""
    parts = [
        pl.DataFrame(
            {
                "time": (np.arange(len(values)) + 1) * result.bin,
                "flow": [name] * len(values),
                "goodput": values,
                "sending_rate": values,
                "goodput_bytes": [value * result.bin / 8.0 for value in values],
                "rtt": [result.bin] * len(values),
            }
        )
        for name, values in rates.items()
    ]
    flows = pl.DataFrame({"flow": list(rates), "start": [0.0] * len(rates)})
    return dataclasses.replace(result, flow_series=pl.concat(parts), flows=flows, warm_up=0.0)


def test_a_halving_is_a_smoothness_of_a_half(result: tb.Result) -> None:
    made = made_up(result, {"a": [8e6, 8e6, 4e6, 5e6, 6e6, 5e6]})
    assert dynamics.smoothness(made, "a") == pytest.approx(0.5)
    assert dynamics.aggressiveness(made, "a") == pytest.approx(1e6)


def test_a_rate_is_steady_after_its_last_window_outside(result: tb.Result) -> None:
    per = round(1.0 / result.bin)
    seconds = [9.0, 9, 2, 4, 6, 5, 5, 5, 5, 5]
    made = made_up(result, {"a": [1e6 * rate for rate in seconds for _ in range(per)]})
    # From 2 s on: 4 lies within a fifth of 5, where 2 does not; so does 6.
    assert dynamics.steady_after(made, "a", 2, 10) == pytest.approx(1.0)
    assert dynamics.steady_after(made, "a", 2, 10, tolerance=0.19) == pytest.approx(3.0)
    assert dynamics.steady_after(made, "a", 6, 10) == 0.0
    assert np.isnan(dynamics.steady_after(made, "a", 0, 3))
    assert dynamics.windows(made, "a", 1, 4).tolist() == pytest.approx([9e6, 2e6, 4e6])
    with pytest.raises(ValueError, match="until: 3 is not allowed"):
        dynamics.steady_after(made, "a", 2, 3)
    for since, until in ((4, 1), (2, 2.5), (50, 60)):
        with pytest.raises(
            ValueError, match=f"until: {until} is not allowed; expected .* a window of 1 s after {since}"
        ):
            dynamics.windows(made, "a", since, until)


def test_responsiveness_counts_round_trips_to_half_the_rate(result: tb.Result) -> None:
    made = made_up(result, {"a": [8e6] * 20 + [7e6, 6e6, 5e6, 4e6, 3e6], "b": [8e6] * 25})
    assert dynamics.responsiveness(made, "a", 20 * result.bin) == pytest.approx(4.0)
    assert np.isnan(dynamics.responsiveness(made, "b", 20 * result.bin))
    with pytest.raises(ValueError, match=r"since: 0.5 is not allowed"):
        dynamics.responsiveness(made, "a", 0.5)


def test_windows_respond_at_once_and_fixed_rates_never() -> None:
    slower = tb.dumbbell(
        rate="10 Mbit/s",
        delay="20 ms",
        buffer="20 packets",
        duration="12 s",
        schedule=[{"at": "8 s", "rate": "1 Mbit/s"}],
        record={"bin": "10 ms"},
    )
    schemes = [tb.flows(1, "cubic"), tb.flows(1, {"name": "fixed-rate", "rate": "3 Mbit/s"})]
    ran = slower.with_flows(*schemes).run()
    # Its packets come through at a tenth of the rate, and so do acknowledgements.
    assert 1.0 <= dynamics.responsiveness(ran, "cubic", 8.0) < 6.0
    assert np.isnan(dynamics.responsiveness(ran, "fixed-rate", 8.0))


def test_convergence_counts_bytes(result: tb.Result) -> None:
    made = made_up(result, {"a": [8e6] * 50})
    assert dynamics.convergence_time(made, "a", 2) == pytest.approx(0.15), "150 kB at 1 MB/s"
    assert np.isnan(dynamics.convergence_time(made, "a", 5))


def test_fairness_in_windows(result: tb.Result) -> None:
    made = made_up(result, {"a": [8e6] * 20 + [4e6] * 20, "b": [0.0] * 20 + [4e6] * 20})
    ends, values = fairness.jain_over_time(made, 1.0)
    assert ends.tolist() == pytest.approx([1.0, 2.0, 3.0, 4.0])
    assert values.tolist() == pytest.approx([0.5, 0.5, 1.0, 1.0])
    assert fairness.delta_fair_convergence(made, "a", "b", 0.1) == pytest.approx(3.0)
    assert dynamics.settling_time(made, "b", 4e6) == pytest.approx(3.0)


def test_variation_falls_with_the_scale(result: tb.Result) -> None:
    noise = np.random.default_rng(2).exponential(1e6, size=4000)
    made = dataclasses.replace(made_up(result, {"a": noise.tolist()}), duration=400.0)
    table = dynamics.variation(made, "a")
    assert table["scale"].to_list() == [0.2, 1.0, 5.0, 20.0]
    # Independent draws: the deviation of a mean of n falls as the root of n.
    expected = 1.0 / np.sqrt(table["scale"].to_numpy() / 0.1)
    assert table["variation"].to_numpy() == pytest.approx(expected, rel=0.35)
    assert table["variation"][:3].to_numpy() == pytest.approx(expected[:3], rel=0.1)


def test_a_variation_is_that_of_two_intervals_at_least(result: tb.Result) -> None:
    """Half of an odd number of bins is no whole number of bins, and may be rounded up."""
    made = made_up(result, {"a": [1e6, 3e6, 1e6]})
    half = 1.5 * result.bin
    with pytest.raises(ValueError, match=r"scale: .* is not allowed; expected seconds, from the bin, 0.1, to .*, 0.1"):
        metrics.coefficient_of_variation(made, "a", half)
    assert dynamics.variation(made, "a", [result.bin, half])["scale"].to_list() == [result.bin]


def test_delays_of_queues_are_of_the_bins_that_other_metrics_are_of() -> None:
    """Those that lie in the window by more than half: the warm-up may end within one."""
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", buffer="50 packets", duration="6 s", warm_up="2.7 s")
    made = base.replace(bin="1 s").with_flows(tb.flows(2, "reno", start="2.9 s")).run()
    percents = (0.0, 30.0, 100.0)
    (found,) = metrics.queue_delays(made, percents).filter(pl.col("link") == made.bottleneck).rows()
    assert list(found[2:]) == [metrics.queueing_delay_percentile(made, percent) for percent in percents]
    assert metrics.queue_delays(made, (0.0,))["p0"][0] > 0.0


def test_losses_of_a_run() -> None:
    base = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", buffer="15 packets", duration="10 s", record={"packets": True})
    made = base.with_flows(tb.flows(3, "reno")).run()
    rates = losses.loss_event_rate(made)
    drops = made.links["dropped_packets"].sum()
    assert 0 < rates.sum() * made.flows["sent_packets"].mean() <= drops
    events = losses.loss_events(made)
    assert events["packets"].sum() == drops
    assert events["flows"].is_between(1, 3).all()
    assert 1 / 3 <= losses.loss_synchronisation(made) <= 1.0
    every = losses.loss_events(made, span=0.0)
    assert every.height > events.height


def test_completion_of_files() -> None:
    base = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", duration="20 s")
    made = base.with_flows(tb.flows(5, "sack", {"name": "files"})).run()
    table = completion.completion_times(made)
    assert table["messages"][0] == made.messages.height > 0
    assert table["completion_time_p50"][0] <= table["completion_time_p95"][0]
    assert (completion.slowdown(made)["slowdown"] > 1.0 - 1e-6).all(), "nobody is faster than the empty path"
    assert completion.by_size(made)["messages"].sum() == made.messages.height


def test_slowdown_is_against_a_flows_own_path() -> None:
    """Downloads do not pass the slower upload, which here is the bottleneck of all."""
    home = tb.home(rate="50 Mbit/s", upload="5 Mbit/s", duration="10 s")
    made = home.with_flows(tb.flows(2, "cubic", {"name": "files"}), tb.flows(1, "cubic", from_="home", to="isp")).run()
    assert made.bottleneck == "home->isp"
    table = completion.slowdown(made).join(made.flows.select("flow", "round_trip"), on="flow")
    least = (table["completion_time"] / table["slowdown"]).to_numpy()
    assert (least > (table["round_trip"] + table["size"] * 8.0 / 50e6).to_numpy()).all()
    assert (least < (table["round_trip"] + table["size"] * 8.0 / 5e6).to_numpy()).sum() > 0.9 * table.height
    assert (table["slowdown"] > 1.0 - 1e-6).all(), "nobody is faster than the empty path"


def test_slowdown_by_size_is_of_the_messages_of_each_size() -> None:
    base = tb.dumbbell(rate="100 Mbit/s", delay="10 ms", duration="20 s", warm_up="1 s")
    sizes = {"name": "empirical", "values": ["10 kB", "100 kB", "300 kB"], "cumulative": [0.5, 0.8, 1.0]}
    made = base.with_flows(tb.flows(5, "sack", {"name": "files", "size": sizes, "pause": "100 ms"})).run()
    table = completion.slowdown_by_size(made, bounds=("20 kB", "100 kB", "10 MB"), percents=(50, 99.9))
    assert table.columns == ["from", "to", "messages", "slowdown_p50", "slowdown_p99.9"]
    assert table.select("from", "to").rows() == [(0.0, 20e3), (20e3, 100e3), (100e3, 10e6)], "none are above 10 MB"
    every = completion.slowdown(made)
    for low, high, messages, median, _ in table.iter_rows():
        of = every.filter((every["size"] >= low) & (every["size"] < high))
        assert of.height == messages
        assert of["slowdown"].median() == pytest.approx(median)
    assert table["messages"].sum() == every.height
    assert completion.slowdown_by_size(made, bounds=())["messages"].to_list() == [every.height]
    for bounds in (("1 MB", "1 kB"), ("1 MB", "1 MB")):
        with pytest.raises(tb.ArgumentError, match="expected sizes in rising order"):
            completion.slowdown_by_size(made, bounds=bounds)
    with pytest.raises(tb.ArgumentError, match="bounds"):
        completion.slowdown_by_size(made, bounds=("1 ms",))


def test_all_that_is_said_of_completion_is_of_the_same_messages() -> None:
    """Those that began from ``warm_up`` on."""
    base = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", duration="10 s", warm_up="5 s")
    made = base.with_flows(tb.flows(5, "sack", {"name": "files"})).run()
    late = int((made.messages["began"] >= 5.0).sum())
    assert 0 < late < made.messages.height
    assert completion.completion_times(made)["messages"].sum() == late
    assert completion.by_size(made)["messages"].sum() == late
    assert completion.slowdown(made).height == late
    dots, *_ = made.plot.completion().axes[0].lines
    assert np.size(dots.get_xdata()) == late
    none = dataclasses.replace(made, warm_up=10.0)
    assert completion.by_size(none).is_empty()
    with pytest.raises(tb.TailbackError, match="no message that began after warm_up ended"):
        none.plot.completion()


@pytest.mark.parametrize("warm_up", ["0 s", "4 s"])
def test_messages_that_the_end_of_the_run_cuts_short_are_counted(warm_up: str) -> None:
    """Those that ended and those that did not are all that a longer run with the same seed knows of the same beginnings."""
    source = {"name": "files", "size": {"name": "exponential", "mean": "400 kB"}, "pause": "200 ms"}
    fields = {"rate": "6 Mbit/s", "delay": "10 ms", "warm_up": warm_up, "buffer": "30 packets"}
    base, long = (tb.dumbbell(duration=duration, **fields) for duration in ("8 s", "60 s"))
    late = tb.flows(3, "sack", source, name="late", start=warm_up)
    early = tb.flows(2, "sack", source, name="early")
    large = tb.flows(1, "sack", {"name": "bulk", "size": "1 GB"}, name="large", start="5 s")
    burst = tb.flows(1, "sack", {"name": "on-off", "on": "10 s", "rate": "100 kbit/s"}, name="burst", start="6 s")
    endless = tb.flows(1, "reno", name="endless")
    voice = tb.flows(1, "sack", "voice", name="voice")
    made = base.with_flows(late, early, large, burst, endless, voice).run()
    table = {row["group"]: row for row in completion.completion_times(made).iter_rows(named=True)}
    assert sorted(table) == ["burst", "early", "large", "late"], (
        "neither a transfer without end nor a call is a message"
    )
    assert (table["large"]["messages"], table["large"]["unfinished"], table["large"]["completion_time"]) == (0, 1, None)
    assert (table["burst"]["messages"], table["burst"]["unfinished"]) == (0, 1)
    longer = long.with_flows(late, early, large, burst, endless, voice).run()
    for group, count in {"late": 3, "early": 2}.items():
        began = longer.counted_messages().filter(pl.col("began") < 8.0, pl.col("flow").str.starts_with(group))
        found = table[group]
        assert found["messages"] + found["unfinished"] == began.height
        assert 0 < found["unfinished"] <= count, "one at a time of each flow, if it is not pausing"
    old = dataclasses.replace(made, flows=made.flows.drop("begun_messages"))
    assert completion.completion_times(old)["unfinished"].to_list() == [None, None]


def test_no_python_loop_over_samples_on_the_way_to_pandas(tmp_path: Path) -> None:
    """Ten times the samples take as many steps of the interpreter. How fast it is: `benches/loading.py`."""
    pytest.importorskip("pandas")

    def steps(duration: str) -> tuple[int, int]:
        base = tb.dumbbell(rate="1 Mbit/s", delay="20 ms", duration=duration, record={"bin": "10 ms"})
        base.with_flows(tb.flows(1, "sack")).run().save(tmp_path / duration, csv=False)
        tb.Result.load(tmp_path / duration).to_pandas("flow_series")  # Imports are not counted.
        count = 0

        def counted(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(counted)
        try:
            frames = [tb.Result.load(tmp_path / duration).to_pandas(name) for name in ("flow_series", "link_series")]
        finally:
            sys.setprofile(None)
        return count, sum(len(frame) for frame in frames)

    (few, short), (many, long) = steps("20 s"), steps("200 s")
    assert long == 10 * short
    assert many < 1.2 * few


def test_variation_by_hand_at_every_scale(result: tb.Result) -> None:
    values = np.random.default_rng(5).gamma(2.0, 1e6, size=1200).tolist()
    made = dataclasses.replace(made_up(result, {"a": values}), duration=120.0)
    for scale, found in dynamics.variation(made, "a").iter_rows():
        per = round(scale / made.bin)
        blocks = [statistics.fmean(values[begin : begin + per]) for begin in range(0, len(values) - per + 1, per)]
        assert found == pytest.approx(statistics.stdev(blocks) / statistics.fmean(blocks), rel=1e-9)
    assert dynamics.variation(made, "a").height == 4
    late = dataclasses.replace(made, warm_up=60.0)
    blocks = [statistics.fmean(values[begin : begin + 10]) for begin in range(600, 1200, 10)]
    assert dynamics.variation(late, "a", [1.0])["variation"][0] == pytest.approx(
        statistics.stdev(blocks) / statistics.fmean(blocks), rel=1e-9
    ), "from warm_up on, and nothing before"


def test_convergence_by_hand_within_a_bin(result: tb.Result) -> None:
    made = made_up(result, {"a": [0.0] * 10 + [4e6] * 40})
    flows = made.flows.with_columns(pl.lit(0.7).alias("start"))
    # 150 kB at 0.5 MB/s from 1 s on take 0.3 s; 1500 bytes take 3 ms.
    assert dynamics.convergence_time(dataclasses.replace(made, flows=flows), "a", 2) == pytest.approx(1.3 - 0.7)
    assert dynamics.convergence_time(dataclasses.replace(made, flows=flows), "a", 0) == pytest.approx(1.003 - 0.7)


def test_a_newcomer_sends_nothing_before_it_starts(result: tb.Result) -> None:
    # It starts in the middle of the bin from 1.0 to 1.1 s, in which 12 kB arrive: 1500 bytes in an eighth of 50 ms.
    made = made_up(result, {"a": [0.0] * 10 + [12_000 * 8 / 0.1] + [4e6] * 9})
    late = dataclasses.replace(made, flows=made.flows.with_columns(pl.lit(1.05).alias("start")))
    assert dynamics.convergence_time(late, "a", 0) == pytest.approx(0.05 / 8)
    assert dynamics.convergence_time(late, "a", 1) == pytest.approx(0.05 + 0.1 * 3_000 / 50_000)


@pytest.mark.parametrize("warm_up", [0.0, 0.05, 10.04, 10.06])
def test_variation_leaves_out_scales_of_which_whole_bins_hold_no_two(result: tb.Result, warm_up: float) -> None:
    values = np.random.default_rng(5).gamma(2.0, 1e6, size=500).tolist()
    made = dataclasses.replace(made_up(result, {"a": values}), warm_up=warm_up, duration=50.0 + warm_up % 0.1)
    held = 500 - round(warm_up / 0.1)
    expected = [scale for scale in (0.2, 1.0, 5.0, 20.0) if 2 * round(scale / 0.1) <= held]
    assert dynamics.variation(made, "a")["scale"].to_list() == expected


@pytest.mark.parametrize(("start", "window"), [(0.3, 0.3), (1.2, 0.3), (2.4, 0.2), (15.0, 1.0)])
def test_a_window_that_begins_with_a_flow_counts_whatever_sums_are_rounded_to(
    result: tb.Result, start: float, window: float
) -> None:
    made = made_up(result, {"a": [1e6] * 200, "b": [1e6] * 200})
    seconds = round(start * 1e9) * 1e-9  # As the core makes them of nanoseconds: 15.000000000000002, for one.
    flows = made.flows.with_columns(pl.when(pl.col("flow") == "b").then(seconds).otherwise(0.0).alias("start"))
    late = dataclasses.replace(made, flows=flows)
    ends, index = fairness.jain_over_time(late, window)
    assert ends[0] == pytest.approx(start + window)
    assert index == pytest.approx(np.ones(ends.size))
    assert fairness.delta_fair_convergence(late, "a", "b", window=window) == pytest.approx(window)


@pytest.mark.parametrize("window", [0.0, -1.0, float("nan"), float("inf"), "1 s", None])
def test_windows_that_are_none_are_refused(result: tb.Result, window: Any) -> None:
    with pytest.raises(tb.ArgumentError, match=r"window: .* is not allowed; expected seconds, at least the bin"):
        fairness.jain_over_time(result, window)
    with pytest.raises(tb.ArgumentError, match="window"):
        result.plot.fairness([window])


def test_what_is_not_a_number_says_why(result: tb.Result) -> None:
    made = made_up(result, {"a": [1e6] * 40, "b": [3e6] * 40})
    calls: list[tuple[Callable[[], float], str]] = [
        (lambda: dynamics.settling_time(made, "a", 4e6), r"a was within 0.2 of 4e\+06 bit/s; the nearest had 1e\+06"),
        (
            lambda: fairness.delta_fair_convergence(made, "a", "b"),
            r"shares from 0.4 to 0.6 .*; the nearest share of a was 0.25",
        ),
        (lambda: dynamics.convergence_time(made, "a", 5), r"a had 500,000 bytes of 150,000,000 when the run ended"),
        (lambda: dynamics.responsiveness(made, "b", 2.0), r"responsiveness: b never halved its 3e\+06 bit/s after 2 s"),
    ]
    for call, why in calls:
        with pytest.warns(TailbackWarning, match=why) as told:
            assert np.isnan(call())
        assert told[0].filename == __file__
    rising = made_up(result, {"a": [1e6] * 39 + [9e6]})
    with pytest.warns(
        TailbackWarning, match=r"steady_after: a had .* in the last window of 0.1 s .* not within 0.2 of"
    ):
        assert np.isnan(dynamics.steady_after(rising, "a", 0, 4, window=0.1))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -0.1, 20, 1.0, True, False])
def test_tolerances_are_parts(result: tb.Result, wrong: float) -> None:
    made = made_up(result, {"a": [1e6] * 40, "b": [3e6] * 40})
    allowed = "is not allowed; expected a number of at least 0 and below 1"
    calls: list[tuple[Callable[[], float], str]] = [
        (lambda: dynamics.settling_time(made, "a", 1e6, tolerance=wrong), "tolerance"),
        (lambda: dynamics.steady_after(made, "a", 0, 4, tolerance=wrong), "tolerance"),
        (lambda: fairness.delta_fair_convergence(made, "a", "b", delta=wrong), "delta"),
    ]
    for call, name in calls:
        with pytest.raises(tb.ArgumentError, match=f"{name}: {wrong} {allowed}"):
            call()
    with pytest.raises(tb.ArgumentError, match="share: inf is not allowed"):
        dynamics.settling_time(made, "a", float("inf"))


@pytest.mark.parametrize("window", [0.25, 0.1001, 0.15, 0.05])
def test_windows_are_whole_bins(result: tb.Result, window: float) -> None:
    """Rounded, a window would be of another length than its figure says: 0.25 s in bins of 0.1 s were 0.2 s."""
    made = made_up(result, {"a": [1e6, 3e6] * 20, "b": [3e6, 1e6] * 20})
    said = rf"window: {window} is not allowed; expected seconds, at least the bin, 0.1, and a multiple of it"
    for call in (
        lambda: fairness.jain_over_time(made, window),
        lambda: fairness.delta_fair_convergence(made, "a", "b", window=window),
        lambda: dynamics.settling_time(made, "a", 1e6, window=window),
        lambda: dynamics.steady_after(made, "a", 0, 4, window=window),
        lambda: dynamics.windows(made, "a", 0, 4, window),
        lambda: made.plot.fairness(window),
    ):
        with pytest.raises(tb.ArgumentError, match=said):
            call()
    with pytest.raises(tb.ArgumentError, match=rf"scale: {window} is not allowed; .* and a multiple of the bin"):
        metrics.coefficient_of_variation(made, "a", window)
    assert dynamics.variation(made, "a", [window, 0.3])["scale"].to_list() == [0.3]


@pytest.mark.parametrize(("width", "shown"), [(0.1, [1, 5]), (0.3, [0.3, 1.5, 6]), (2.5, [5, 20]), (4.0, [20])])
def test_fairness_is_drawn_in_windows_of_whole_bins(result: tb.Result, width: float, shown: list[float]) -> None:
    """Also in a report of a run, which asks for no windows."""
    made = made_up(result, {"a": [1e6, 3e6] * 30, "b": [3e6, 1e6] * 30})
    made = dataclasses.replace(
        made, bin=width, flow_series=made.flow_series.with_columns(pl.col("time") * width / result.bin)
    )
    lines = made.plot.fairness().axes[0].get_lines()
    assert [line.get_label() for line in lines] == [f"in windows of {window:g} s" for window in shown]


def test_of_nothing_there_are_no_shares(result: tb.Result) -> None:
    idle = dataclasses.replace(result, flows=pl.DataFrame({"flow": ["a", "b"], "goodput": [0.0, 0.0]}))
    assert np.isnan(metrics.jain_index(idle))
    assert np.isnan(fairness.epsilon(idle))


def test_fairness_of_shares_by_hand(result: tb.Result) -> None:
    flows = pl.DataFrame({"flow": ["a", "b", "c"], "goodput": [2e6, 3e6, 5e6]})
    made = dataclasses.replace(result, flows=flows)
    assert fairness.epsilon(made) == pytest.approx(1 - 2 / 5)
    assert metrics.jain_index(made) == pytest.approx((2 + 3 + 5) ** 2 / (3 * (4 + 9 + 25)))


def test_loss_events_by_hand(result: tb.Result) -> None:
    flows = pl.DataFrame(
        {
            "flow": ["a", "b", "c", "silent"],
            "recoveries": [3, 0, 1, 0],
            "timeouts": [1, 0, 0, 0],
            "sent_packets": [200, 100, 50, 0],
            "mean_rtt": [0.1, 0.1, 0.1, None],
            "round_trip": [0.05] * 4,
        }
    )
    drops = [(2.5, "a"), (2.54, "b"), (2.63, "a"), (4.0, "c"), (4.0, "a"), (4.0, "b"), (7.0, "b")]
    packets = pl.DataFrame(
        {
            "time": [1.0, *(time for time, _ in drops), 7.01, 7.02],
            "event": ["dropped"] * (len(drops) + 2) + ["delivered"],
            "link": ["l"] * (len(drops) + 1) + ["other", "l"],
            "flow": ["c", *(flow for _, flow in drops), "a", "a"],
        }
    )
    links = pl.DataFrame({"link": ["l", "other", "quiet"]})
    made = dataclasses.replace(result, flows=flows, links=links, packets=packets, warm_up=2.0)
    assert losses.loss_event_rate(made).tolist() == pytest.approx([4 / 200, 0.0, 1 / 50, 0.0])
    events = losses.loss_events(made, "l")
    assert events.select("began", "ended", "packets", "flows").rows() == [
        (2.5, 2.54, 2, 2),
        (2.63, 2.63, 1, 1),
        (4.0, 4.0, 3, 3),
        (7.0, 7.0, 1, 1),
    ], "a drop within a round trip of an event's first is part of it"
    assert losses.loss_synchronisation(made, "l") == pytest.approx((2 + 1 + 3 + 1) / 4 / 3), "three flows are there"
    assert losses.loss_events(made, "l", span=0.2)["packets"].to_list() == [3, 3, 1]
    assert np.isnan(losses.loss_synchronisation(made, "quiet", span=0.1))


def test_flows_of_other_paths_are_no_part_of_a_links_synchronisation() -> None:
    """Each hop has flows of its own. Alone on a hop, a flow is all that can lose there."""
    lot = tb.parking_lot(
        hops=2, rate="5 Mbit/s", delay="5 ms", buffer="10 packets", duration="5 s", record={"packets": True}
    )
    alone = tb.flows(1, "reno", name="alone", from_="r0", to="r1")
    made = lot.with_flows(alone, tb.flows(3, "reno", name="others", from_="r1", to="r2")).run()
    assert losses.loss_synchronisation(made, "r0->r1") == 1.0
    assert 1 / 3 <= losses.loss_synchronisation(made, "r1->r2") <= 1.0


def test_acknowledgements_make_no_flow_of_a_link() -> None:
    """Data of one flow passes where acknowledgements of three others do. Alone, it is all that can lose data there."""
    base = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", buffer="10 packets", duration="5 s", record={"packets": True})
    there, back = tb.flows(3, "reno", name="there"), tb.flows(1, "reno", name="back", from_="r1", to="r0")
    made = base.with_flows(there, back).run()
    passing = made.packets.filter(pl.col("link") == "r1->r0")
    assert passing["flow"].n_unique() == 4
    assert losses.loss_synchronisation(made, "r1->r0") == 1.0


def test_spans_and_links_that_are_none(result: tb.Result) -> None:
    for span in (-1.0, float("nan")):
        with pytest.raises(ValueError, match=r"span: .* is not allowed; expected seconds, at least 0"):
            losses.loss_events(result, span=span)
    with pytest.raises(KeyError, match=r"r0-r1: no such link; expected .*did you mean r0->r1"):
        losses.loss_events(result, "r0-r1")
    with pytest.raises(ValueError, match="percent: 101 is not allowed; expected a number from 0 to 100"):
        metrics.queueing_delay_percentile(result, 101)


def test_a_part_of_one_is_no_percentage(result: tb.Result) -> None:
    """0.95 would be answered by the 0.95th percentile, nearly the least delay, without a word."""
    with pytest.raises(ValueError, match=r"percent: 0\.95 is not allowed; expected 0, or .* \(did you mean 95\?\)"):
        metrics.queueing_delay_percentile(result, 0.95)
    with pytest.raises(ValueError, match=r"percents: 0\.999 is not allowed; .* \(did you mean 99\.9\?\)"):
        metrics.queue_delays(result, (50.0, 0.999))
    with pytest.raises(ValueError, match=r"percents: 101\.0 is not allowed; expected a number from 0 to 100"):
        metrics.queue_delays(result, (101.0,))
    assert metrics.queueing_delay_percentile(result, 0) <= metrics.queueing_delay_percentile(result, 1)
