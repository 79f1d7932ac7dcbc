"""``tailback tune``: recommended parameters of a queue, what is expected of them, and what runs show."""

from __future__ import annotations

import json
import math
from pathlib import Path

import typer

from tailback import units
from tailback.errors import ArgumentError, TailbackError


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
        told = {"link": found.link, "queue": found.queue, "predicted": _plain(predicted), "measured": _plain(seen)}
        typer.echo(json.dumps(told, indent=2))
        return
    typer.echo(f"# for {found.link}: {found.network.users} users with endless files, to rest at {found.target:.3g}")
    for key, value in found.queue.items():
        typer.echo(f"{key} = {_toml(value)}")
    left, trip = found.margins, found.network.round_trip
    typer.echo(
        f"\npredicted: rests at {found.rest.utilization:.3f} with windows of {found.rest.window:.1f} packets, "
        f"{100 * found.rest.probability:.2f} % marked; {left.phase:.0f}° and a factor of {left.gain:.1f} from oscillating, "
        f"stable up to round trips {units.time(left.delay) if math.isfinite(left.delay) else 'of any length'} longer"
    )
    typer.echo(f"           settles: {_settles(found.settles, trip)}")
    if seen:
        typer.echo(
            f"measured:  utilization {seen['utilization']:.3f}, mean queueing {1e3 * seen['queueing_delay']:.2f} ms, "
            f"loss {100 * seen['loss_rate']:.3f} %, mean of {seeds} runs"
        )
        typer.echo(f"           settles: {_settles({name: seen[f'settles_{name}'] for name in ('rho', 'eta')}, trip)}")


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
    return json.dumps(value)
