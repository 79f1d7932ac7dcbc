"""``tailback tune``: recommended parameters of a queue, what is expected of them, and what runs show. The theory is in
``tuning.py``, the runs in ``tuning_runs.py``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tailback import units
from tailback.errors import ArgumentError

if TYPE_CHECKING:
    from tailback.pool import Pool
    from tailback.scenario import Scenario
    from tailback.tuning import Tuned
    from tailback.tuning_runs import Round

_READABLE = 4
"""Digits of a time that are read at a glance."""
_LOSSY = 1e-4
"""A part of packets that is lost from which a miss is put down to a full buffer."""


def tune_file(
    kind: str,
    file: Path,
    *,
    changes: list[str],
    link: str | None,
    utilization: float | None,
    delay: str | None,
    seeds: int,
    rounds: int,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Tunes the queue of one link of a scenario and prints it; 1 where runs miss what was asked for.

    Raises:
        TailbackError: for a scenario or a target that is not allowed.
    """
    from tailback.commands.changes import read_changed
    from tailback.pool import Pool
    from tailback.tuning import tune_tdqm

    if kind != "tdqm":
        raise ArgumentError(f"queue: {kind} is not allowed; expected tdqm")
    scenario: Scenario = read_changed(file, changes)
    limit = None if delay is None else units.option("--delay", delay, "time")
    found = tune_tdqm(scenario, scenario.run(), link=link, utilization=utilization, delay=limit)
    tried: list[Round] = []
    seen: dict[str, float] = {}
    if seeds:
        with Pool(jobs) as pool:
            tried, seen = _shown_by_runs(found, seeds, rounds, pool)
        found = tried[-1].tuned if tried else found
    if as_json:
        typer.echo(json.dumps(_told(found, tried, seen), ensure_ascii=False))
        return _status(found, seen, limit)
    _recommendation(found)
    _expectations(found)
    if seen:
        _runs(found, tried, seen, seeds)
        if limit is not None and seen["queueing_delay"] > limit:
            typer.echo(
                f"Warning: mean queueing is above the {_shown(limit)} asked for, which theory computes for smooth arrivals. Try a "
                "lower --utilization."
            )
    return _status(found, seen, limit)


def _status(found: Tuned, seen: Mapping[str, float], limit: float | None) -> int:
    """1 where runs miss the utilization, or the delay, that was asked for."""
    if not seen:
        return 0
    slow = limit is not None and seen["queueing_delay"] > limit
    return 1 if slow or missed(found, seen, is_corrected=True) else 0


def _shown_by_runs(found: Tuned, seeds: int, rounds: int, pool: Pool) -> tuple[list[Round], dict[str, float]]:
    """Corrections by the runs of some seeds, and what runs of others show of what came of it."""
    from tailback.progress import Bar
    from tailback.tuning_runs import corrected, measured

    with Bar("tuning", rounds + 2) as bar:
        tried = []
        if rounds:
            others = range(seeds + 1, 2 * seeds + 1)
            tried = corrected(found, others, pool, rounds=rounds, done=bar.advance)
        return tried, measured(tried[-1].tuned if tried else found, range(1, seeds + 1), pool)


def _told(found: Tuned, tried: Sequence[Round], seen: Mapping[str, float]) -> dict[str, object]:
    predicted = {
        "utilization": found.rest.utilization,
        "window_packets": found.rest.window,
        "marked": found.rest.probability,
        "phase_margin_degrees": found.margins.phase,
        "gain_margin": found.margins.gain,
        "delay_margin_seconds": found.margins.delay,
        **{f"settles_{name}": value for name, value in found.settles.items()},
    }
    return {
        "link": found.link,
        "queue": found.queue,
        "target": found.target,
        "predicted": _plain(predicted),
        "corrections": [
            {"max_p": one.tuned.rho.max_p, "predicted": one.tuned.rest.utilization, "measured": one.carried}
            for one in tried
        ],
        "measured": _plain(seen),
    }


def _recommendation(found: Tuned) -> None:
    users = found.network.users
    typer.echo(
        f"# for {found.link}: {users} user{'' if users == 1 else 's'} with endless files, to rest at {found.target:.3g}"
    )
    for key, value in found.queue.items():
        typer.echo(f"{key} = {_toml(value)}")


def _expectations(found: Tuned) -> None:
    left, trip = found.margins, found.network.round_trip
    typer.echo(
        f"\npredicted: rests at {found.rest.utilization:.3f} with windows of {found.rest.window:.1f} packets, "
        f"{100 * found.rest.probability:.2f} % marked; {_margin(left.phase, left.gain)} from oscillating, "
        f"stable up to round trips {_shown(left.delay) if math.isfinite(left.delay) else 'of any length'} longer"
    )
    typer.echo(f"           settles: {_settles(found.settles, trip)}")


def _runs(found: Tuned, tried: Sequence[Round], seen: Mapping[str, float], seeds: int) -> None:
    if len(tried) > 1:
        steps = ", ".join(f"{one.carried:.3f} with {one.tuned.rho.max_p:.3g}" for one in tried)
        typer.echo(f"corrected: max_p of rho, by {units.counted(seeds, 'run')} of other seeds each, which use {steps}")
    typer.echo(
        f"measured:  utilization {seen['utilization']:.3f}, mean queueing {1e3 * seen['queueing_delay']:.2f} ms, "
        f"loss {100 * seen['loss_rate']:.3f} %, mean of {units.counted(seeds, 'run')}"
    )
    settles = {name: seen[f"settles_{name}"] for name in ("rho", "eta")}
    typer.echo(f"           settles: {_settles(settles, found.network.round_trip)}")
    if warning := missed(found, seen, is_corrected=bool(tried)):
        typer.echo(warning)


def missed(found: Tuned, seen: Mapping[str, float], *, is_corrected: bool) -> str:
    """A warning where runs miss the target, with what may be done; empty where they do not."""
    from tailback.tuning_runs import TOLERANCE

    missing = found.target - seen["utilization"]
    if abs(missing) <= TOLERANCE:
        return ""
    said = f"Warning: the runs use {abs(missing):.3f} {'less' if missing > 0 else 'more'} of the link than the {found.target:.3g} "
    said += "it was to rest at"
    if not is_corrected:
        return f"{said}. Let runs correct it: --rounds 5."
    if missing < 0 and found.rho.max_p >= 1.0:
        return (
            f"{said}, and marks take no more away: a window is a packet at least. Give the scheme a larger g, or accept a "
            "higher --utilization."
        )
    if missing > 0 and seen["loss_rate"] > _LOSSY:
        return (
            f"{said}, as its buffer of {found.network.buffer:.0f} packets overflows first. Give it a larger one, or accept "
            "a lower --utilization."
        )
    return f"{said}, and corrections come no nearer. Runs may be too short for windows to grow: try a longer duration and warm_up."


def _margin(phase: float, gain: float) -> str:
    if not math.isfinite(phase) and not math.isfinite(gain):
        return "as far as can be"
    if not math.isfinite(phase):
        return f"a factor of {gain:.1f}"
    return f"{phase:.0f}° and a factor of {gain:.1f}"


def _plain(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _settles(seconds: Mapping[str, float], trip: float) -> str:
    return ", ".join(
        f"{name} after {value:.1f} s ({value / trip:.0f} round trips)"
        if math.isfinite(value)
        else f"{name} not for good"
        for name, value in seconds.items()
    )


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"
    return json.dumps(_in_ms(value) if isinstance(value, str) else value, ensure_ascii=False)


def _in_ms(written: str) -> str:
    """The same time, to the last nanosecond, where it would be a row of digits: 21333333 ns is 21.333333 ms."""
    count, _, unit = written.partition(" ")
    if unit not in {"ns", "µs"} or len(count) <= _READABLE:
        return written
    return f"{Decimal(count).scaleb(-6 if unit == 'ns' else -3).normalize():f} ms"


def _shown(seconds: float) -> str:
    number, unit = units.scaled(seconds, "s")
    return f"{number:.3g} {unit}"
