"""``tailback tune``: what it says, and what it refuses."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import tuning_runs, units
from tailback.cli import app
from tailback.commands import tune as commands
from tailback.commands.tune import missed
from tailback.errors import ArgumentError, NotFoundError
from tailback.tuning import Tuned, tune_tdqm
from tailback.tuning_runs import Round
from tests.tuning.networks import EXAMPLE, bottleneck


def test_tuning_tells_link_queue_and_expectations() -> None:
    done = CliRunner().invoke(
        app, ["tune", "tdqm", str(EXAMPLE), "--seeds", "1", "--json", "--set", "duration=10 s", "--set", "warm_up=5 s"]
    )
    assert done.stdout.count("\n") == 1  # An object per line, as every command's --json.
    told = json.loads(done.stdout)
    missed = abs(told["measured"]["utilization"] - told["target"]) > tuning_runs.TOLERANCE
    assert done.exit_code == int(missed), done.output
    assert told["link"] == "r0->r1"
    assert told["queue"]["rho"]["min"] <= 0.9
    assert told["predicted"]["utilization"] == pytest.approx(0.95, abs=0.05)
    assert told["corrections"][-1]["predicted"] == told["predicted"]["utilization"]
    assert 0.8 < told["measured"]["utilization"] < 1.0


def test_the_page_shows_what_the_command_prints(
    example: tuple[tb.Scenario, tb.Result], capsys: pytest.CaptureFixture[str]
) -> None:
    # What runs of other seeds measure takes longer; here they correct nothing.
    found = tune_tdqm(*example, utilization=0.95)
    commands._recommendation(found)
    commands._expectations(found)
    page = (EXAMPLE.parent.parent / "docs" / "tdqm.md").read_text(encoding="utf-8")
    assert f"```text\n{capsys.readouterr().out}measured: " in page


def test_theory_alone_on_request() -> None:
    short = ["--set", "duration=5 s", "--set", "warm_up=2 s", "--json"]
    for options in (["--seeds", "0"], ["--seeds", "1", "--rounds", "0"]):
        told = json.loads(CliRunner().invoke(app, ["tune", "tdqm", str(EXAMPLE), *short, *options]).stdout)
        assert told["predicted"]["utilization"] == pytest.approx(0.95, abs=1e-3)
        assert told["corrections"] == []
        assert bool(told["measured"]) == ("--rounds" in options)


def test_other_seeds_correct_than_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[list[int]] = []
    correct, measure = tuning_runs.corrected, tuning_runs.measured

    def correcting(found: Tuned, seeds: range, *_: object, **__: object) -> list[Round]:
        used.append(list(seeds))
        return correct(found, [1], rounds=0)

    def measuring(found: Tuned, seeds: range, *_: object) -> dict[str, float]:
        used.append(list(seeds))
        return measure(found, [1])

    monkeypatch.setattr(tuning_runs, "corrected", correcting)
    monkeypatch.setattr(tuning_runs, "measured", measuring)
    short = ["--set", "duration=3 s", "--set", "warm_up=1 s", "--seeds", "4"]
    # Three seconds are too short to meet the target.
    assert CliRunner().invoke(app, ["tune", "tdqm", str(EXAMPLE), *short]).exit_code == 1
    assert used == [[5, 6, 7, 8], [1, 2, 3, 4]]


def test_corrections_are_said_and_times_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(bottleneck(2, 5, 10).to_toml())
    done = CliRunner().invoke(app, ["tune", "tdqm", str(file), "--utilization", "0.9", "--seeds", "3", "--jobs", "1"])
    assert done.exit_code == 0, done.output
    assert re.search(
        r"corrected: max_p of rho, by 3 runs of other seeds each, which use 0\.8\d+ with 0\.\d+, ", done.output
    )
    used = re.search(r"measured:  utilization (0\.\d+)", done.output)
    assert used is not None
    assert float(used[1]) == pytest.approx(0.9, abs=tuning_runs.TOLERANCE)
    assert "Warning" not in done.output
    # Times are read at a glance, and are the same to the nanosecond.
    assert not re.search(r"\d{5,} (ns|µs|us)", done.output)
    window = re.search(r'^window = "(.*)"$', done.output, re.MULTILINE)
    assert window is not None
    assert units.number(window[1]) == pytest.approx(10 / 625, rel=1e-9)


def test_a_target_that_cannot_be_had_is_said(tmp_path: Path) -> None:
    file = tmp_path / "crowd.toml"
    file.write_text(bottleneck(50, 5, 10, seconds=8.0).to_toml())
    done = CliRunner().invoke(app, ["tune", "tdqm", str(file), "--utilization", "0.8", "--seeds", "1", "--jobs", "1"])
    assert done.exit_code == 1, done.output
    assert "more of the link than the 0.8 it was to rest at" in done.output
    assert "larger g" in done.output


def test_a_miss_comes_with_what_may_be_done(one_tuned: Tuned) -> None:
    def said(utilization: float, loss: float = 0.0, *, is_corrected: bool = True, max_p: float = 0.01) -> str:
        found = replace(one_tuned, rho=replace(one_tuned.rho, max_p=max_p))
        return missed(found, {"utilization": utilization, "loss_rate": loss}, is_corrected=is_corrected)

    assert said(0.94) == said(0.96) == ""
    assert "0.050 less" in said(0.9)
    assert "longer duration" in said(0.9)
    assert "overflows" in said(0.9, loss=0.01)
    assert "--rounds" in said(0.9, is_corrected=False)
    assert "0.040 more" in said(0.99)
    assert "larger g" not in said(0.99)
    assert "larger g" in said(0.99, max_p=1.0)


def test_more_queueing_than_asked_for_is_said() -> None:
    short = ["--set", "duration=5 s", "--set", "warm_up=2 s", "--seeds", "1", "--rounds", "0", "--jobs", "1"]
    said = [
        CliRunner().invoke(app, ["tune", "tdqm", str(EXAMPLE), *short, *more]).output
        for more in (["--delay", "0.5 ms"], ["--delay", "1 s"], [])
    ]
    assert ["mean queueing is above" in one for one in said] == [True, False, False]


def test_tuning_refuses_what_makes_no_sense() -> None:
    scenario = tb.Scenario.from_toml(EXAMPLE).replace(duration="3 s", warm_up="1 s")
    result = scenario.run()
    with pytest.raises(ArgumentError, match="utilization"):
        tune_tdqm(scenario, result, utilization=1.0)
    with pytest.raises(ArgumentError, match=r"utilization: '95 %' is not allowed; .* \(did you mean 0\.95\?"):
        tune_tdqm(scenario, result, utilization="95 %")  # type: ignore[arg-type]  # No number: that is what is refused.
    with pytest.raises(ArgumentError, match="delay"):
        tune_tdqm(scenario, result, delay=0.0)
    with pytest.raises(NotFoundError, match=r"no such link; expected one of .*r0->r1"):
        tune_tdqm(scenario, result, link="r0->r")
    strict = tune_tdqm(scenario, result, delay=0.5e-3)
    assert strict.target < 0.95
    done = CliRunner().invoke(app, ["tune", "tdqm", str(EXAMPLE), "--utilization", "95 %"])
    assert done.exit_code == 2
    assert "did you mean 0.95?" in " ".join(done.output.split())
    done = CliRunner().invoke(app, ["tune", "red", str(EXAMPLE)])
    assert done.exit_code != 0


def test_recommended_times_are_written_for_people() -> None:
    told = commands._toml({"short": "2400 µs", "long": "21333333 µs", "fine": "21333333 ns"})
    assert told == '{ short = "2400 µs", long = "21333.333 ms", fine = "21.333333 ms" }'
