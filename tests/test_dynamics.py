"""Metrics of losses, dynamics, fairness in time and completion, on series whose answers are known."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.results import completion, dynamics, fairness, losses


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
    assert (completion.slowdown(made)["slowdown"] > 0.99).all(), "nobody is faster than the empty path"
    assert completion.by_size(made)["messages"].sum() == made.messages.height


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
