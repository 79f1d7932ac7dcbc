"""Which seeds a run or a sweep may have. What they seed is the core's business."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from tailback.errors import Problem, ScenarioError

GREATEST = 2**63 - 1
"""Of the seeds: scenario files have no greater numbers."""
MOST = 1_000_000
"""Of one sweep: a slip must not fill memory with runs."""


def one(seed: Any) -> int:
    """A seed that was given, NumPy's integers included.

    Raises:
        ScenarioError: where it is no whole number, or out of range.
    """
    found = _whole(seed)
    if found is None or not 0 <= found <= GREATEST:
        raise ScenarioError([Problem("seed", repr(seed), f"a whole number from 0 to {GREATEST}")])
    return found


def several(seeds: Any, first: int) -> list[int]:
    """So many seeds counted from ``first``, or those that are listed.

    Raises:
        ScenarioError: without a seed, with one twice, or with one that is none.
    """
    count = _whole(seeds)
    if count is not None:
        given: Iterable[Any] = range(first, first + count) if count <= MOST else ()
    else:
        given = seeds if isinstance(seeds, Iterable) else ()
    listed = [_whole(seed) for seed in given]
    found = [seed for seed in listed if seed is not None and 0 <= seed <= GREATEST]
    if not found or len(found) < len(listed) or len(set(found)) < len(found):
        most = min(MOST, GREATEST - first + 1)
        allowed = f"how many, 1 to {most}, or a list of different whole numbers from 0 to {GREATEST}"
        raise ScenarioError([Problem("seeds", repr(seeds), allowed)], "sweep")
    return found


def _whole(value: Any) -> int | None:
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None
