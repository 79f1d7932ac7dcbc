"""The schemes `lied` and `sac`, decision by decision beside the law as written down a second time in `mtsc_by_paper.py`."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback.results import Result
from tests.mtsc_by_paper import Law, Report

INTERVAL = 0.05
LIED = {"name": "lied", "increase": "400 kbit/s", "decrease": 3.0, "severity": 4.0, "max_rate": "100 Mbit/s"}
SAC = {"name": "sac", "over": LIED, "unit": 20.0, "reading": "throughput"}


def watched(scheme: dict[str, Any]) -> Result:
    """One connection beside traffic that comes and goes, looked at more often than it hears reports."""
    others = {
        "name": "on-off",
        "on": {"name": "exponential", "mean": "2 s"},
        "off": {"name": "exponential", "mean": "2 s"},
    }
    link = tb.dumbbell(
        rate="4 Mbit/s", delay="10 ms", buffer="20 packets", duration="150 s", record={"bin": "5 ms", "state": True}
    )
    greedy = tb.flows(1, scheme, name="greedy")
    rivals = tb.flows(3, {"name": "fixed-rate", "rate": "900 kbit/s"}, others, name="rival")
    return link.with_flows(greedy, rivals).run(seed=3)


def told(result: Result) -> list[Report]:
    """The reports as the sender took them in."""
    notes = {
        name: result.state.filter(pl.col("name").cast(pl.String) == name) for name in ("load", "throughput", "loss")
    }
    times = notes["load"]["time"].to_list()
    columns = [notes[name]["value"].to_list() for name in ("load", "throughput", "loss")]
    return [Report(*row) for row in zip(times, *columns, strict=True)]


@pytest.mark.parametrize(("scheme", "unit"), [(LIED, 0.0), (SAC, 20.0)], ids=["lied", "sac"])
def test_every_decision_is_the_one_the_text_asks_for(scheme: dict[str, Any], unit: float) -> None:
    result = watched(scheme)
    reports = told(result)
    series = result.series(flow="greedy")
    rates = series["directed_rate"].to_numpy() / 8.0
    ends = series["time"].to_numpy()
    # The rate at the end of the bin in which a report came.
    seen = rates[np.searchsorted(ends, [report.time + 1e-9 for report in reports])]
    law = Law(50_000.0, 3.0, 4.0, INTERVAL, 12_500.0, unit)
    found = list(law.run(reports))
    wanted = np.array([rate for rate, _ in found])
    assert len(reports) > 2900
    steps = np.diff(wanted)
    assert (steps < 0.0).sum() > 100
    assert (steps > 0.0).sum() > 1000
    assert seen == pytest.approx(wanted, rel=1e-6, abs=1.0)
    if unit:
        assert len({round(aggressiveness, 6) for _, aggressiveness in found}) > 20
