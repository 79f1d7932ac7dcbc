"""What a page says to have again: the commands that make its figures and its runs, and its scenario."""

from __future__ import annotations

import dataclasses
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import cli
from tailback.report.again import result_command, run_command


class Still(tb.Controller):
    """A window that never moves."""

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Nothing to do."""

    def directive(self) -> tb.Directive:
        """Ten thousand bytes."""
        return tb.Directive(window=10_000)


def test_commands_draw_the_figures_again(sweep: Path, tmp_path: Path) -> None:
    commands = re.findall(r"<code>(tailback plot .*?)</code>", sweep.read_text(encoding="utf-8"))
    assert len(commands) >= 5
    for command in commands:
        words = shlex.split(unescape(command))[1:]
        done = CliRunner().invoke(cli.app, [*words, "--out", str(tmp_path)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    drawn = sorted(path.stem for path in tmp_path.glob("*.svg"))
    assert drawn == ["cdf", "heatmap", "over", "share", "throughput_delay"]
    again = (tmp_path / "heatmap.svg").read_text(encoding="utf-8")
    assert len(again) == pytest.approx(len((sweep.parent / "heatmap.svg").read_text(encoding="utf-8")), rel=0.01)


def test_scenarios_run_alone(one: Path, tmp_path: Path, result: tb.Result) -> None:
    (toml,) = re.findall(r"<pre>(.*?)</pre></details>", one.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "scenario.toml").write_text(unescape(toml), encoding="utf-8")
    assert tb.Scenario.from_toml(tmp_path / "scenario.toml").run(seed=result.seed).hash == result.hash


def test_custom_parts_come_with_their_file() -> None:
    base = tb.dumbbell(rate="5 Mbit/s", delay="10 ms", duration="1 s")
    plain, custom = base.with_flows(tb.flows(1, "sack")), base.with_flows(tb.flows(1, Still.scheme()))
    assert run_command("a b.toml", 3, [plain, None]) == "tailback run 'a b.toml' --seed 3"
    assert run_command("a.toml", 3, [plain, custom]) == "tailback run a.toml --custom test_again.py --seed 3"


@pytest.mark.usefixtures("one_figure")
def test_a_run_with_real_packets_is_made_again_with_real_packets(result: tb.Result, tmp_path: Path) -> None:
    group = result.scenario.to_dict()["flows"][0]["name"]
    made = {"command": "lab", "kernel": {group: "cubic"}, "budget": "1 ms, 2 ms"}
    real = dataclasses.replace(result, real={"valid": True, "made": made})
    file = str(tmp_path / "result" / "scenario.toml")
    words = ["tailback", "lab", file, "--seed", str(result.seed)]
    words += ["--set", "flows[0].scheme=kernel-cubic", "--budget", "1 ms, 2 ms"]
    assert shlex.split(result_command(real, file)) == words
    text = unescape(real.report(tmp_path).read_text(encoding="utf-8"))
    assert shlex.join(words) in text
    assert "tailback run" not in text
    assert "With real packets" in text
    assert f"{group} by kernel-cubic" in text
    typed = ["tailback", "shell", "--rate", "5 Mbit/s", "--", "curl", "a b"]
    shell = dataclasses.replace(result, real={"made": {"command": "shell", "typed": typed}})
    assert shlex.split(result_command(shell, file)) == typed
    older: list[dict[str, Any]] = [{"made": {"command": "send"}}, {"valid": True}]  # The latter does not say.
    for said in older:
        assert result_command(dataclasses.replace(result, real=said), file) == ""
