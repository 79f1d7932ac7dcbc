"""``tailback shrink``: the smallest scenario of which a condition still holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from tailback.commands.changes import read_changed
from tailback.commands.console import stoppable
from tailback.errors import ArgumentError, TailbackError
from tailback.progress import Bar

METRICS = (
    "flows",
    "throughput",
    "goodput",
    "jain",
    "mean_rtt",
    "utilization",
    "loss_rate",
    "mean_queue",
    "queueing_delay",
)
"""What conditions may name beside ``failed``: the numbers of a run's summary, those of links at the bottleneck."""


def shrink_file(
    file: Path, condition: str, *, changes: Sequence[str], out: Path | None, tries: int, memory: str | None
) -> None:
    """Prints the scenario as TOML, or writes it.

    Raises:
        ArgumentError: where the condition is none, or does not hold to begin with.
    """
    from tailback.results.files import make_folder, write_file
    from tailback.scenario.file import read
    from tailback.scenario.toml import ORDER, dumps
    from tailback.shrinking.condition import Condition
    from tailback.shrinking.search import shrink

    asked = Condition(condition)
    text = read_changed(file, changes).to_json() if changes else read(file)
    with stoppable("nothing was written"), Bar("shrinking", float(tries)) as bar:
        first = values_of(text, memory)
        if not asked.holds(first):
            told = ", ".join(f"{name} {value:g}" for name, value in first.items() if isinstance(value, int | float))
            raise ArgumentError(f"--while: {condition} does not hold of {file} itself, which has {told}")
        made = shrink(json.loads(text), lambda scenario: asked.holds(values_of(scenario, memory)), tries, bar.reach)
    toml = dumps({name: made[name] for name in sorted(made, key=ORDER.index)})
    if out is None:
        typer.echo(toml, nl=False)
    else:
        make_folder(out.parent)
        write_file(out, lambda beside: beside.write_text(toml, encoding="utf-8"))
        typer.echo(str(out))


def values_of(scenario: str, memory: str | None = None) -> dict[str, Any]:
    """What conditions know of a run: its metrics, and whether it failed."""
    from tailback.run import run_text

    nothing = dict.fromkeys(METRICS)
    try:
        result = run_text(scenario, memory=memory)
    except TailbackError:
        return {**nothing, "failed": True}
    summary = result.summary().row(0, named=True)
    return {**{name: summary[name] for name in METRICS}, "failed": False}
