"""Table 14, benchmark 8: as table 7 with a tenth of the buffer. Networks are in ``benchmarks.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tailback import units
from tailback.analysis.confidence import Interval, mean_interval
from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair import transfers
from tailback.papers.packet_pair.benchmarks import (
    CROSS,
    PRIMARY,
    ROUND_TRIP,
    cross_streams,
    optimal,
    shared,
    slowdown,
    slowdown_check,
    transfer,
)  # fmt: skip
from tailback.papers.packet_pair.benchmarks import (
    parameters as common,
)
from tailback.papers.packet_pair.scenes import WINDOW, transport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

PUBLISHED = 1686.0
BUFFER = 44
"""Packets: a tenth of a round trip."""
WINDOWS = (500, 700, WINDOW, 1500, 4000)
"""Packets of receiver's window, for comparison; 440 fill the pipeline, 4000 are the file."""
LATE = 4.4
"""Milliseconds: a tenth of a round trip, by which connections start late at most where chance is let in."""
LIMIT = 0.20
"""The ledger's."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return common(
        Parameter("cross traffic", "10 × 500 kB, from 100 ms, 44 ms apart", "stated", "§9.4.1"),
        Parameter(
            "starts",
            f"up to {LATE:g} ms later, {_seeds(fidelity)} times anew",
            "inferred",
            "which packets are lost is a matter of chance: one run alone says little",
        ),
        buffer="44 packets: a tenth of a round trip",
    )


def _seeds(fidelity: Fidelity) -> int:
    return 40 if fidelity == "full" else 20


class Run(NamedTuple):
    """One receiver's window; with a seed, connections start a little late."""

    window: int
    seed: int | None = None


def scenario(run: Run) -> Scenario:
    """Connection 1 and its cross traffic."""
    sized = transport(run.window)
    flows = [transfer("1", PRIMARY, transport=sized), *cross_streams(ROUND_TRIP, transport=sized)]
    if run.seed is not None:
        starts = [1e3 * units.number(str(flow.start)) for flow in flows]
        flows = [
            type(flow).model_validate(
                flow.model_dump(by_alias=True, exclude_none=True)
                | {"start": {"from": f"{start:g} ms", "to": f"{start + LATE:g} ms"}}
            )
            for flow, start in zip(flows, starts, strict=True)
        ]
    return shared(flows, buffer=BUFFER, name="fewer buffers", seed=run.seed or 1)


def simulate(run: Run) -> transfers.Row:
    """One run."""
    return transfers.run(scenario(run), "connection 1", optimal(PRIMARY + 10 * CROSS), 1444.0, PUBLISHED)


def measure(lab: Lab) -> Outcome:
    """Many runs whose connections start a little late, with other windows too to see how much depends on them."""
    seeds = _seeds(lab.fidelity)
    runs = [Run(window, seed) for window in WINDOWS for seed in range(1, seeds + 1)]
    as_printed, *rows = lab.map(simulate, [Run(WINDOW), *runs])
    completions = {
        window: [row.completion for run, row in zip(runs, rows, strict=True) if run.window == window]
        for window in WINDOWS
    }
    times = {window: mean_interval(each) for window, each in completions.items()}
    found = times[WINDOW]
    printed = slowdown(as_printed.completion, as_printed.optimal)
    slow = sum(slowdown(each, as_printed.optimal) > LIMIT for each in completions[WINDOW])
    made = transfers.outcome(
        [as_printed],
        [
            *transfers.optimum_checks([as_printed]),
            slowdown_check("slowdown, started to the millisecond as printed", printed, LIMIT),
        ],
        transfers.measured([as_printed])
        | {
            "completion_late_ms": round(found.mean, 2),
            "completion_late_ci95_ms": round(found.half_width, 2),
        },
        scenario=scenario(Run(WINDOW)).to_toml(),
        notes=(_losses(as_printed), _windows(times)),
        why=""
        if printed <= LIMIT
        else f"Started as printed it takes {as_printed.completion:.0f} ms. That is one run, and chance, as the changed test shows.",
    )
    return replace(made, changed=_started_late(found, as_printed.optimal, seeds, slow))


def _losses(row: transfers.Row) -> str:
    return (
        f"The setpoints of eleven sources begin at 5 packets each, over a buffer of {BUFFER}: some {row.losses} packets "
        "are lost. A retransmission that is lost too waits for soft time-outs, one in four round trips, or until the receiver's "
        "window is full and the timer repairs all holes at once."
    )


def _windows(times: Mapping[int, Interval]) -> str:
    """How much depends on the receiver's window, which is assumed."""
    shown = ", ".join(
        f"{time.mean:.0f} ± {time.half_width:.0f} ms with {window}"
        for window, time in times.items()
        if window != WINDOW
    )
    return (
        f"The paper prints no receiver's window. {WINDOW} packets are assumed; others give {shown}. A window beyond the file, "
        "which no timer ever frees from its holes, is slower. §9.2 (no wait for a full window at N = 10, some at larger N) "
        "agrees with any from 150 packets up, so nothing better than the assumed one can be inferred."
    )


def _started_late(found: Interval, optimum: float, seeds: int, slow: int) -> ChangedTest:
    """The ledger's test by the mean of runs that let chance in; so many of them are slower than its limit."""
    late, spread = slowdown(found.mean, optimum), found.half_width / optimum
    return ChangedTest(
        [
            Check(
                f"slowdown, mean of {seeds} runs with starts up to {LATE:g} ms late",
                f"{100 * late:.1f} ± {100 * spread:.1f} %",
                f"at most {100 * LIMIT:.0f} %",
                late <= LIMIT,
            )
        ],
        f"Which packets are lost over so small a buffer is chance, and one run is one throw: of {seeds} runs whose connections "
        f"start up to {LATE:g} ms late, {slow} are slower than the limit, and the mean is {found.mean:.0f} ± "
        f"{found.half_width:.0f} ms. The paper's {PUBLISHED:.0f} ms is one run, too.",
    )


def draw(outcome: Outcome) -> Figure:
    """Optimum, ours and the paper's."""
    return transfers.bars(outcome)
