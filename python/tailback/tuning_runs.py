"""What runs of a tuned queue show, and the correction of its marks by runs where these miss the target. What theory recommends
is in ``tuning.py``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tailback import units
from tailback.analysis import tdqm, tdqm_chance
from tailback.pool import Pool
from tailback.tuning import SMOOTH, Tuned, with_max_p

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOLERANCE = 0.02
"""A utilization that is measured further from the target than this misses it: the tolerance of the comparison with ns-2."""
ENOUGH = TOLERANCE / 2
"""Nearer than this nothing is corrected: other seeds than those that correct must stay within the tolerance, too."""
ROUNDS = 5
"""Corrections at most."""
LONGEST = 4.0
"""What a correction multiplies or divides the probability of marks by at most."""
MOST_LOST = 0.02
"""Marks are made no rarer where more packets than this are lost: losses do then what marks should spare."""
WITHIN = 0.25
"""The part of a bracket, from either end, that a correction stays away from."""


@dataclass(frozen=True)
class Round:
    """One recommendation and what runs of it carried."""

    tuned: Tuned
    carried: float
    """The mean utilization."""
    lost: float = 0.0
    """The mean part of packets that were lost."""

    @property
    def missed(self) -> float:
        """By how much utilization is below its target."""
        return self.tuned.target - self.carried


@dataclass(frozen=True)
class _Task:
    scenario: dict[str, Any]
    link: str
    seed: int


@dataclass(frozen=True)
class _Seen:
    row: tuple[float, float, float]
    course: NDArray[np.float64]


def measured(tuned: Tuned, seeds: Sequence[int], pool: Pool | None = None) -> dict[str, float]:
    """What runs of the tuned scenario show, in the mean over seeds: seconds until each metric settles, and
    utilization, queueing and loss after the warm-up.

    Args:
        tuned: what was recommended.
        seeds: one run for each.
        pool: makes the runs; by default this process does.
    """
    seen = _runs(tuned, seeds, pool, width=tuned.network.round_trip / 4)
    names = ("utilization", "queueing_delay", "loss_rate")
    found = dict(zip(names, np.mean([one.row for one in seen], axis=0).tolist(), strict=True))
    mean = np.mean([one.course for one in seen], axis=0)
    for index, name in ((1, "rho"), (2, "eta")):
        span = SMOOTH * tuned.network.round_trip
        found[f"settles_{name}"] = tdqm.settling(mean[:, 0], mean[:, index], span)
    return found


def corrected(
    tuned: Tuned,
    seeds: Sequence[int],
    pool: Pool | None = None,
    *,
    rounds: int = ROUNDS,
    done: Callable[[], object] | None = None,
) -> list[Round]:
    """Runs a recommendation, and others with rarer or more frequent ρ marks where runs carry less or more than the target: a
    secant search. Ends where runs are near enough, where rarer marks do not carry more or lose many packets, and after so many
    rounds.

    Args:
        tuned: what was recommended.
        seeds: of the runs of each round; other ones should measure what comes of it.
        pool: makes the runs; by default this process does.
        rounds: corrections at most.
        done: called after each round.

    Returns:
        What was run, in this order, but the one that came nearest, of those that lose few packets, stands last.
    """
    found = [_round(tuned, seeds, pool)]
    while True:
        if done:
            done()
        max_p = None if len(found) > rounds else next_max_p(found)
        if max_p is None:
            break
        found.append(_round(with_max_p(tuned, max_p), seeds, pool))
    nearest = min(found, key=lambda one: (one.lost > MOST_LOST, abs(one.missed)))
    return [*(one for one in found if one is not nearest), nearest]


def next_max_p(found: Sequence[Round]) -> float | None:
    """The probability to try next; ``None`` where the last round is near enough, or nothing is left to try."""
    last = found[-1]
    if abs(last.missed) <= ENOUGH or (last.missed > 0.0 and last.lost > MOST_LOST):
        return None
    # In logarithms: what is carried hardly depends on the probability's scale otherwise.
    here = math.log(last.tuned.rho.max_p)
    low = max((math.log(one.tuned.rho.max_p) for one in found if one.missed < 0.0), default=-math.inf)
    high = min((math.log(one.tuned.rho.max_p) for one in found if one.missed > 0.0), default=0.0)
    if low >= high:
        return None
    is_bracketed = low > -math.inf and any(one.missed > 0.0 for one in found)
    step = _step(found, is_bracketed=is_bracketed)
    if step is None:
        return None
    there = here + min(max(step, -math.log(LONGEST)), math.log(LONGEST))
    if is_bracketed:
        there = min(max(there, low + WITHIN * (high - low)), high - WITHIN * (high - low))
    there = min(there, 0.0)
    return None if there == here else math.exp(there)


def _step(found: Sequence[Round], *, is_bracketed: bool) -> float | None:
    """How far to move the logarithm: the first time as theory says of a utilization that is as much higher as runs carried
    less, later by the secant."""
    last = found[-1]
    here = math.log(last.tuned.rho.max_p)
    if len(found) == 1:
        aim = last.tuned.rest.utilization + last.missed
        if not last.tuned.rho.low < aim < 1.0:
            return math.copysign(math.log(LONGEST), -last.missed)
        return math.log(tdqm_chance.max_p_for(last.tuned.network, last.tuned.rho, aim)) - here
    before = found[-2]
    slope = (last.carried - before.carried) / (here - math.log(before.tuned.rho.max_p))
    if slope < 0.0:
        return last.missed / slope
    # Rarer marks carry less: the buffer overflows. Within a bracket it is chance.
    return 0.0 if is_bracketed else None


def _round(tuned: Tuned, seeds: Sequence[int], pool: Pool | None) -> Round:
    seen = _runs(tuned, seeds, pool, width=None)
    carried, _, lost = np.mean([one.row for one in seen], axis=0).tolist()
    return Round(tuned, carried, lost)


def _runs(tuned: Tuned, seeds: Sequence[int], pool: Pool | None, width: float | None) -> list[_Seen]:
    data = tuned.scenario.to_dict()
    data["record"] = {"links": [tuned.link], "flows": "none"}
    if width is not None:
        data["record"] |= {"bin": units.time(width), "queue_state": True}
    return (pool or Pool(1)).map(_seen, [_Task(data, tuned.link, seed) for seed in seeds])


def _seen(task: _Task) -> _Seen:
    from tailback.scenario import Scenario

    result = Scenario.of(task.scenario).run(seed=task.seed)
    row = result.links.filter(pl.col("link") == task.link).row(0, named=True)
    kept = (row["utilization"], row["queueing_delay"] or 0.0, row["loss_rate"])
    if not task.scenario["record"].get("queue_state"):
        return _Seen(kept, np.zeros((0, 3)))
    return _Seen(kept, result.series(link=task.link).select("time", "rho", "eta").to_numpy())
