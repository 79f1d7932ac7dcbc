"""``tailback tune``: recommended parameters of a queue, what is expected of them, and what runs show."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path

import typer

from tailback import units
from tailback.errors import ArgumentError, TailbackError

MISSED = 0.02
"""A utilization that is measured further from the target than this is told: the tolerance of the comparison with ns-2."""
_READABLE = 4
"""Digits of a time that are read at a glance."""


def tune_file(
    kind: str,
    file: Path,
    *,
    changes: list[str],
    link: str | None,
    utilization: float | None,
    delay: str | None,
    seeds: int,
    as_json: bool,
) -> None:
    """Tunes the queue of one link of a scenario and prints it.

    Raises:
        TailbackError: for a scenario or a target that is not allowed.
    """
    from tailback.commands.changes import changed
    from tailback.scenario import Scenario
    from tailback.tuning import measured, tune_tdqm

    if kind != "tdqm":
        raise ArgumentError(f"queue: {kind} is not allowed; expected tdqm")
    scenario = changed(Scenario.from_toml(file), changes)
    try:
        limit = None if delay is None else units.number(delay)
    except (TailbackError, ValueError) as error:
        raise ArgumentError(f"delay: {delay} is not allowed; expected a time, for example '5 ms'") from error
    found = tune_tdqm(scenario, scenario.run(), link=link, utilization=utilization, delay=limit)
    seen = measured(found, range(1, seeds + 1)) if seeds else {}
    if as_json:
        predicted = {
            "utilization": found.rest.utilization,
            "window_packets": found.rest.window,
            "marked": found.rest.probability,
            "phase_margin_degrees": found.margins.phase,
            "gain_margin": found.margins.gain,
            "delay_margin_seconds": found.margins.delay,
            **{f"settles_{name}": value for name, value in found.settles.items()},
        }
        told = {
            "link": found.link,
            "queue": found.queue,
            "target": found.target,
            "predicted": _plain(predicted),
            "measured": _plain(seen),
        }
        typer.echo(json.dumps(told, indent=2))
        return
    typer.echo(f"# for {found.link}: {found.network.users} users with endless files, to rest at {found.target:.3g}")
    for key, value in found.queue.items():
        typer.echo(f"{key} = {_toml(value)}")
    left, trip = found.margins, found.network.round_trip
    typer.echo(
        f"\npredicted: rests at {found.rest.utilization:.3f} with windows of {found.rest.window:.1f} packets, "
        f"{100 * found.rest.probability:.2f} % marked; {left.phase:.0f}° and a factor of {left.gain:.1f} from oscillating, "
        f"stable up to round trips {_shown(left.delay) if math.isfinite(left.delay) else 'of any length'} longer"
    )
    typer.echo(f"           settles: {_settles(found.settles, trip)}")
    if seen:
        typer.echo(
            f"measured:  utilization {seen['utilization']:.3f}, mean queueing {1e3 * seen['queueing_delay']:.2f} ms, "
            f"loss {100 * seen['loss_rate']:.3f} %, mean of {seeds} runs"
        )
        typer.echo(f"           settles: {_settles({name: seen[f'settles_{name}'] for name in ('rho', 'eta')}, trip)}")
        if (missed := found.target - seen["utilization"]) > MISSED or -missed > MISSED:
            more, other = ("less", "higher") if missed > 0 else ("more", "lower")
            typer.echo(
                f"Warning: the runs use {abs(missed):.3f} {more} of the link than the {found.target:.3g} it was to rest at; the "
                f"theory does not fit this scenario so well. Try a {other} --utilization, and see what is measured."
            )


def _plain(values: dict[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _settles(seconds: dict[str, float] | object, trip: float) -> str:
    assert isinstance(seconds, dict)
    return ", ".join(
        f"{name} after {value:.1f} s ({value / trip:.0f} round trips)"
        if math.isfinite(value)
        else f"{name} not for good"
        for name, value in seconds.items()
    )


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"
    return json.dumps(_in_ms(value) if isinstance(value, str) else value)


def _in_ms(written: str) -> str:
    """The same time, to the last nanosecond, where it would be a row of digits: 21333333 ns is 21.333333 ms."""
    count, _, unit = written.partition(" ")
    if unit not in {"ns", "us"} or len(count) <= _READABLE:
        return written
    return f"{Decimal(count).scaleb(-6 if unit == 'ns' else -3).normalize():f} ms"


def _shown(seconds: float) -> str:
    number, unit = units.scaled(seconds, "s")
    return f"{number:.3g} {unit}"
