"""Scenarios made small, by the command and by its parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback.cli import app
from tailback.shrinking.condition import Condition

SCENARIO = """
name = "crowd"
duration = "20 s"
warm_up = "5 s"
[topology]
template = "parking-lot"
hops = 3
rate = "4 Mbit/s"
delay = "10 ms"
buffer = "12 packets"
queue = { name = "red", max_p = 0.2 }
loss = { name = "independent", probability = 0.001 }
[[flows]]
name = "long"
count = 4
scheme = { name = "cubic", beta = 0.6 }
[[flows]]
name = "cross"
count = 3
scheme = "vegas"
from = "r1"
to = "r2"
[record]
bin = "50 ms"
"""


def test_the_command_leaves_what_matters(tmp_path: Path) -> None:
    file, out = tmp_path / "crowd.toml", tmp_path / "new" / "small.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    words = ["shrink", str(file), "--while", "loss_rate > 0.001 and flows >= 2", "--out", str(out), "--tries", "150"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    small = tb.Scenario.from_toml(out)
    row = small.run().summary().row(0, named=True)
    assert row["loss_rate"] > 0.001
    assert row["flows"] >= 2
    assert sum(group.count for group in small.flows) == 2
    assert len(out.read_text(encoding="utf-8").splitlines()) < len(SCENARIO.splitlines()) - 8


def test_what_does_not_hold_to_begin_with_is_said(tmp_path: Path) -> None:
    file = tmp_path / "crowd.toml"
    file.write_text(SCENARIO, encoding="utf-8")
    done = CliRunner().invoke(app, ["shrink", str(file), "--while", "failed"])
    assert isinstance(done.exception, tb.ArgumentError)
    assert "does not hold of" in str(done.exception)
    assert "utilization" in str(done.exception)


def test_conditions_are_comparisons_and_nothing_else() -> None:
    values = {"utilization": 0.4, "jain": 0.8, "mean_rtt": None, "failed": False}
    for text, holds in (
        ("utilization < 0.5 and jain < 0.9", True),
        ("0.3 < utilization < 0.35", False),
        ("not failed and utilization * 2 > jain - 0.1", True),
        ("mean_rtt > 0", False),
        ("jain == 0.8 or failed", True),
    ):
        assert Condition(text).holds(values) is holds, text
    for text in ("__import__('os')", "utilization.real", "[1]", "utilization <", "'a' < 'b'", "jain if failed else 1"):
        with pytest.raises(tb.ArgumentError, match="expected comparisons of metrics"):
            Condition(text)
    with pytest.raises(tb.NotFoundError, match=r"jian: no such metric.*did you mean jain"):
        Condition("jian < 1").holds(values)


@pytest.mark.parametrize("text", ["utilization", "utilization + 1", "3", "jain < 0.9 and utilization", "not jain"])
def test_a_value_is_no_condition(text: str) -> None:
    with pytest.raises(tb.ArgumentError, match="is a value, not true or false; expected comparisons"):
        Condition(text)
