"""Probabilistic flows where loss is not what it was in 2002: beside CUBIC, and over queues that are managed. Figure 5's set-up,
otherwise. No item of the ledger; its table stands on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tailback.analysis import mean_interval
from tailback.papers.pcc import scenes
from tailback.papers.pcc.scenes import Run

if TYPE_CHECKING:
    from tailback.analysis import Interval
    from tailback.papers.lab import Lab

QUEUES = ("drop-tail", "red", "codel", "fq-codel")
SCHEMES = ("sack", "cubic")
ESTIMATES = ("equation", "normalised")
SECONDS = 400


class Beside(NamedTuple):
    """One line of the table."""

    queue: str
    scheme: str
    loss: float
    ratios: tuple[Interval, ...]
    """PCC over TCP by estimate."""
    on: tuple[float, ...]
    """Share of time on, likewise."""


def measure(lab: Lab) -> list[Beside]:
    """All combinations, with a few seeds each."""
    seeds = range(1, 4 if lab.full else 3)
    runs = {
        (queue, scheme, estimate): [
            Run(
                queue=queue,
                scheme=scheme,
                seconds=SECONDS,
                seed=seed,
                options=(("friendly_rate", estimate),) if estimate != "equation" else (),
            )
            for seed in seeds
        ]
        for queue in QUEUES
        for scheme in SCHEMES
        for estimate in ESTIMATES
    }
    flat = [run for of in runs.values() for run in of]
    seen = dict(zip(flat, lab.once(scenes.simulate, flat), strict=True))
    rows = []
    for queue in QUEUES:
        for scheme in SCHEMES:
            of = [[seen[run] for run in runs[queue, scheme, estimate]] for estimate in ESTIMATES]
            ratios = tuple(mean_interval([scenes.mean(one.pcc) / scenes.mean(one.tcp) for one in part]) for part in of)
            on = tuple(scenes.mean([scenes.mean(one.on) for one in part]) for part in of)
            loss = scenes.mean([one.loss for one in of[0]])
            rows.append(Beside(queue, scheme, loss, ratios, on))
    return rows


def table(rows: list[Beside]) -> str:
    """It in Markdown."""
    lines = [
        "| queue | beside | loss | PCC over TCP | on | normalised | on |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        parts = (f"{ratio} | {100 * on:.0f} %" for ratio, on in zip(row.ratios, row.on, strict=True))
        lines.append(f"| {row.queue} | {row.scheme} | {100 * row.loss:.1f} % | {' | '.join(parts)} |")
    return "\n".join(lines) + "\n"
