"""The strategies that this paper's items compare: linear increase and exponential decrease without and with SAC, their schedules
and predictors, and what runs of them come to. The network is in ``network.py``; what an item judges, in its own file.

None of δ, a, k, the unit of ε or the report interval is printed. They are chosen once for all items: see the page on this paper
for the region they are from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tailback.analysis import Interval, mean_interval, paired_interval
from tailback.analysis.lrd import Table, counted
from tailback.papers.item import Check, Fidelity, Parameter
from tailback.papers.mtsc.network import COMMON, SEVERITY, Measured, Run, Setting, calibrated, scheme_of, simulate

if TYPE_CHECKING:
    from tailback.papers.lab import Lab


class Control(NamedTuple):
    """What the paper does not print of the control and of SAC above it."""

    generic: Mapping[str, Any]
    """Linear increase and exponential decrease."""
    unit: float
    """How many of the control's own increases an aggressiveness of 1 adds to each."""
    levels: Mapping[str, Any]
    """Fields of SAC that say what a level is."""


BANDS = Control(
    {
        "name": "lied",
        "increase": "350 kbit/s",
        "decrease": 4.0,
        "severity": SEVERITY,
        "sign": "difference",
        "report_interval": "50 ms",
        "max_rate": "10 Mbit/s",
    },
    36.0,
    {},
)
"""With levels as appendix A.1 defines them, bands of one standard deviation: what every item is judged with."""
EQUAL = Control({**BANDS.generic, "increase": "300 kbit/s"}, 24.0, {"quantiser": "equal-probability"})
"""With equally likely levels, which appendix A.1 calls "more universally effective"."""
_control = ContextVar("control", default=BANDS)


@contextmanager
def using(control: Control) -> Iterator[None]:
    """Makes what is set up in here, in this thread, with another control than ``BANDS``."""
    token = _control.set(control)
    try:
        yield
    finally:
        _control.reset(token)


def generic() -> dict[str, Any]:
    """The control without SAC."""
    return dict(_control.get().generic)


THRESHOLDS = tuple(range(1, 9))
RUNS = 8
"""So many where an item is also judged by several runs: seeds from 1 on. The first is the one that the item is judged by."""
SEVERAL = (
    f"The same test, by {RUNS} runs, with intervals over them. The paper does not say how many runs its figures have. Beside a "
    "background with long memory, runs differ by more than their parts say (the table of runs on the page)."
)
"""Why they are."""
LOAD = 5e6
"""bit/s of background where an item names none."""

PARAMETERS = (
    Parameter("δ", str(BANDS.generic["increase"]) + " per second", "inferred", "not printed; one value for all items"),
    Parameter("a", f"{BANDS.generic['decrease']:g} per second", "inferred", "not printed; one value for all items"),
    Parameter(
        "k", f"{SEVERITY:g}, in the control and in what is reported", "inferred", "not printed; one value for all items"
    ),
    Parameter(
        "reports", str(BANDS.generic["report_interval"]), "inferred", "§3: the fast component acts at 20 to 200 ms"
    ),
    Parameter(
        "sign of dγ/dλ",
        "of two successive reports, taken as positive without loss",
        "inferred",
        "“a number of techniques”, §3.1.1",
    ),
    Parameter(
        "unit of ε", f"ε = 1 adds {BANDS.unit:g} increases to each", "inferred", "not printed; one value for all items"
    ),
    Parameter("highest rate", str(BANDS.generic["max_rate"]), "inferred", "a host sends no faster than its own link"),
    Parameter("T1 = T2", "2 s", "stated", "§2.3"),
    Parameter("levels", "8, bands of one standard deviation", "stated", "Appendix A.1"),
    Parameter(
        "contention",
        "the level of one's own throughput, by the letter",
        "stated",
        "§3.2.2: “let ℓ = L1(S_t)”, S_t what the receiver reported",
    ),
    Parameter(
        "throughput",
        "γ_k over each twentieth of the run, averaged",
        "inferred",
        "§3.1.2: “we will use a throughput measure γ_k”; raw throughput alone hardly ever falls with aggressiveness",
    ),
)
"""Parameters of every item with connections of unlimited data."""


def seconds(fidelity: Fidelity) -> float:
    """How long a run is."""
    return 10_000.0 if fidelity == "full" else 400.0


def parameters(fidelity: Fidelity, *more: Parameter, time: float | None = None) -> tuple[Parameter, ...]:
    """All of an item; ``time`` in seconds where its runs have a length of their own."""
    time = time or seconds(fidelity)
    length = Parameter("length", f"{time:g} s", "stated" if time == seconds("full") else "inferred", "§4.1: 10 000 s")
    return (*COMMON, *PARAMETERS, length, *more)


def setting(fidelity: Fidelity, alpha: float, **fields: Any) -> Setting:
    """The network with background of this shape."""
    return Setting(**{"alpha": alpha, "seconds": seconds(fidelity), "load": LOAD, **fields})


def inverse(**fields: Any) -> dict[str, Any]:
    """SAC with the inverse schedule, learning on line."""
    control = _control.get()
    sac = {"name": "sac", "over": generic(), "unit": control.unit, "reading": "throughput", **control.levels}
    return {**sac, "schedule": {"name": "inverse"}, **fields}


def threshold(theta: float, shift: float = 0.0) -> dict[str, Any]:
    """SAC with the threshold schedule."""
    return inverse(schedule={"name": "threshold", "theta": float(theta), "shift": shift})


def measured(lab: Lab, wanted: Sequence[tuple[Setting, Mapping[str, Any], int]]) -> list[Measured]:
    """Runs of schemes, each with so many connections; what other items have run is not run again."""
    settings = list(dict.fromkeys(place for place, _, _ in wanted))
    found = dict(zip(settings, lab.once(calibrated, [background(place) for place in settings]), strict=True))
    return lab.once(
        simulate, [Run(place, found[place].pause, scheme_of(scheme), count) for place, scheme, count in wanted]
    )


def perfect(lab: Lab, place: Setting) -> Measured:
    """SAC with the inverse schedule that knows the aggregate's future: a first run, of the control without SAC, is recorded, and
    a second one told, with the same random streams."""
    (first,) = measured(lab, [(place, generic(), 1)])
    return told(lab, place, inverse(), first)


def told(lab: Lab, place: Setting, scheme: Mapping[str, Any], first: Measured) -> Measured:
    """A run of SAC that knows what the clients sent in the first one."""
    (second,) = all_told(lab, place, scheme, [first])
    return second


def all_told(lab: Lab, place: Setting, scheme: Mapping[str, Any], firsts: Sequence[Measured]) -> list[Measured]:
    """The same for several first runs, whose seeds are those from the place's own on."""
    seeded = [place._replace(seed=place.seed + number) for number in range(len(firsts))]
    found = lab.once(calibrated, [background(each) for each in seeded])
    return lab.once(
        simulate,
        [
            Run(each, pause.pause, scheme_of(scheme), 1, first.loads)
            for each, pause, first in zip(seeded, found, firsts, strict=True)
        ],
    )


def background(place: Setting) -> Setting:
    """What a setting's load is calibrated in: clients that do not listen to the network send the same whatever the delay."""
    return place._replace(delay=Setting(0.0, 0.0).delay)


def gain(better: Measured, base: Measured, k: float = SEVERITY) -> Interval:
    """By which part the first gets more of γ_k, with its interval from parts of the runs pair by pair: that of a ratio of means,
    both of which are known only so well (Cochran 1977, §6.4). Where one gets a tenth more in every part, parts in which both
    get much say nothing against the tenth."""
    ours, theirs = (run.penalised(k).sum(axis=0) for run in (better, base))
    mean = max(float(theirs.mean()), 1e-9)
    ratio = float(ours.mean()) / mean
    found = paired_interval(ours, ratio * theirs)
    return Interval(ratio - 1.0, found.half_width / mean, found.level, found.samples)


def pairs(
    lab: Lab, places: Sequence[Setting], ours: Mapping[str, Any], base: Mapping[str, Any]
) -> list[list[tuple[Measured, Measured]]]:
    """For each place, several pairs of runs of two schemes, each pair with the same random streams."""
    seeded = [place._replace(seed=seed) for place in places for seed in range(1, RUNS + 1)]
    found = measured(lab, [(place, scheme, 1) for place in seeded for scheme in (ours, base)])
    both = list(zip(found[::2], found[1::2], strict=True))
    return [both[first : first + RUNS] for first in range(0, len(both), RUNS)]


def mean_gain(several: Sequence[tuple[Measured, Measured]], k: float = SEVERITY) -> Interval:
    """As :func:`gain`, the mean of several pairs, with its interval over them."""
    return mean_interval([gain(better, base, k).mean for better, base in several])


def percent(found: Interval, digits: int = 1, sign: Literal["-", "+"] = "-") -> str:
    """A gain with its interval; with ``"+"`` gains above zero bear a sign, too. A single run has no
    interval."""
    said = f"{100 * found.mean:{sign}.{digits}f} %"
    return f"{said} ± {100 * found.half_width:.{digits}f}" if math.isfinite(found.half_width) else said


def interval(run: Measured) -> Interval:
    """Throughput of all connections together, kB/s."""
    return mean_interval(run.batches)


def apart(run: Measured, base: Measured) -> float:
    """Half the width of the interval of what a run gets more than another one with the same random streams, kB/s. The intervals
    of the two themselves are wider: both have the same hours of much and of little background."""
    return paired_interval(run.batches, base.batches).half_width


def against_threshold(theta: float, run: Measured, first: Measured) -> dict[str, float]:
    """A point of a curve against the threshold, as figures 9 to 11 have it; the difference is to the first one."""
    return {
        "theta": theta,
        "throughput_kBps": run.total,
        "ci95": interval(run).half_width,
        "ci95_of_difference": apart(run, first),
    }


def table(run: Measured) -> Table:
    """CondProb as the first connection learnt it: pairs in the order in which they came."""
    return counted([first for first, _ in run.levels], [second for _, second in run.levels])


def peak(values: Sequence[float]) -> int:
    """The threshold with the highest value, from 1 on. Thresholds that never tell runs apart give equal runs: of equal values the
    outermost counts, 1 before 8, since then nothing in between is better."""
    best = max(values)
    if values[0] == best:
        return 1
    return len(values) if values[-1] == best else values.index(best) + 1


def turns_once(values: Sequence[float]) -> bool:
    """Whether values rise to one maximum and then fall, either part possibly empty."""
    steps = [b - a for a, b in pairwise(values) if b != a]
    return all(not (a < 0.0 < b) for a, b in pairwise(steps))


STEPS = (
    "Neighbouring thresholds often give runs that differ by a tenth of a percent, so chance decides whether a single "
    "step rises or falls. Here a step counts only beyond its paired interval."
)
"""Why a curve's shape is tested a second time."""


def one_maximum(runs: Sequence[Measured]) -> bool:
    """Whether throughput rises to its maximum and then falls, as far as the intervals of single steps tell rising from falling."""
    best = max(range(len(runs)), key=lambda index: runs[index].total)
    steps = [gain(after, before) for before, after in pairwise(runs)]
    return all(step.high >= 0.0 for step in steps[:best]) and all(step.low <= 0.0 for step in steps[best:])


def said(values: Sequence[float]) -> str:
    """A row of throughputs."""
    return ", ".join(f"{value:.0f}" for value in values)


def why(checks: Sequence[Check], reason: str) -> str:
    """The reason where a check fails."""
    return "" if all(check.holds for check in checks) else reason
