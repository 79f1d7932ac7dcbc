"""Runs every reference row that Tailback has the parts for, on all cores, and compares."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from tailback import _core
from tailback.analysis.arguments import expect_whole
from tailback.pool import Pool
from tailback.validation.differences import reasons
from tailback.validation.judge import Comparison, compare, left_out
from tailback.validation.measure import Job, measure
from tailback.validation.reference import Row, rows
from tailback.validation.settings import QUEUES


def every(_: Row) -> bool:
    """All rows."""
    return True


def obstacle(row: Row) -> str:
    """Why a row cannot be run; empty where it can."""
    known = json.loads(_core.registry())
    schemes = {entry["name"] for entry in known["schemes"]}
    queues = {entry["name"] for entry in known["queues"]}
    if row.scheme not in schemes:
        return f"the scheme {row.scheme} is not built yet"
    if QUEUES[row.queue] not in queues:
        return f"the queue discipline {QUEUES[row.queue]} is not built yet"
    return ""


def validate(
    pool: Pool,
    only: Callable[[Row], bool] = every,
    seeds: int | None = None,
    done: Callable[[], object] | None = None,
) -> list[Comparison]:
    """Compares Tailback with ns-2.

    Args:
        pool: where to run.
        only: which rows.
        seeds: how many seeds per row; as many as ns-2 had where ``None``.
        done: called after each run.

    Returns:
        One comparison per figure, in the reference's order.

    Raises:
        ArgumentError: for what is no whole number of seeds.
    """
    chosen = [(row, obstacle(row)) for row in rows() if only(row)]
    jobs = list(_jobs((row for row, why in chosen if not why), seeds))
    figures = pool.map(measure, jobs, done)
    comparisons: list[Comparison] = []
    for row, why in chosen:
        if why:
            comparisons += left_out(row, why)
            continue
        runs = [run for job, run in zip(jobs, figures, strict=True) if job.row is row]
        measured = {name: [run[name] for run in runs] for name in runs[0]}
        comparisons += compare(row, measured, reasons(row))
    return comparisons


def run_count(only: Callable[[Row], bool] = every, seeds: int | None = None) -> int:
    """How many simulations ``validate`` makes, for a progress bar.

    Raises:
        ArgumentError: for what is no whole number of seeds.
    """
    return len(list(_jobs((row for row in rows() if only(row) and not obstacle(row)), seeds)))


def _jobs(chosen: Iterable[Row], seeds: int | None) -> Iterable[Job]:
    if seeds is not None:
        expect_whole(seeds=seeds)
    for row in chosen:
        for seed in range(1, (seeds or row.seeds) + 1):
            yield Job(row, seed)
