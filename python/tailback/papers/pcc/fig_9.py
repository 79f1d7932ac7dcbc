"""Figure 9: applications of different rates at one fair rate, with the rate that the receivers take for TCP's."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tailback.analysis import columns, mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.pcc import choices, fig_5, scenes
from tailback.papers.pcc.scenes import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

SECONDS = 500
OTHERWISE = (500, 750, 2000)
"""Of these, those that are run with p evaluated once per T."""
TWICE = 1000
"""kbit/s: from twice the fair rate on, flows differ more, and another item compares estimates."""
RATES = (250, 375, 450, 500, 550, 625, 700, 750, 1000, 1500, 2000)


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *scenes.COMMON,
        Parameter(
            "flows", "32 probabilistic, 32 TCP, 32 Mbit/s, T = 60 s", "inferred", "as in Fig. 5; §5.5 does not say"
        ),
        Parameter(
            "application rate", ", ".join(f"{rate}" for rate in RATES) + " kbit/s", "inferred", "the figure's range"
        ),
        Parameter(
            "duration",
            f"{SECONDS} s, the first 100 s not counted; {_seeds(RATES[-1], fidelity)} seeds from {TWICE} kbit/s on, else one; "
            "at 750 kbit/s a run of `pcc/fig-5`",
            "inferred",
            "not given",
        ),
    )


@choices.judged_too
def measure(lab: Lab) -> Outcome:
    """Runs every rate with every seed."""
    data, toml = sweep(lab, ())
    pcc = {row["rate"]: row["pcc"] for row in data.iter_rows(named=True)}
    estimated = {row["rate"]: row["estimated"] for row in data.iter_rows(named=True)}
    reached = _reached(list(pcc), list(pcc.values()))
    below = max(abs(pcc[rate] / rate - 1) for rate in RATES if rate < scenes.FAIR)
    beyond = [rate for rate in RATES if rate > scenes.FAIR]
    rises = all(pcc[a] < pcc[b] for a, b in itertools.pairwise(beyond))
    off = max(abs(pcc[rate] / estimated[rate] - 1) for rate in beyond)
    once, _ = sweep(lab, scenes.evaluated_once(), OTHERWISE, seeds=1)
    otherwise = dict(zip(once["rate"].to_list(), once["pcc"].to_list(), strict=True))
    told = f"at {reached:.0f} kbit/s" if reached else "nowhere up to 2000 kbit/s"
    return Outcome(
        measured={name: _by(data, column) for name, column in KEYS.items()}
        | {"pcc_kbps_evaluated_once_per_period": {str(rate): value for rate, value in otherwise.items()}},
        checks=(
            Check(
                "below the fair share PCC sends its own rate",
                f"at most {100 * below:.1f} % off",
                "within 5 %",
                below <= 0.05,
            ),
            Check("at the fair share it gets", f"{pcc[500]:.0f} kbit/s", "less than 500", pcc[500] < scenes.FAIR),
            Check("the fair rate is reached", told, "550 to 750 kbit/s", reached is not None and 550 <= reached <= 750),
            Check(
                "beyond, PCC rises with the rate",
                ", ".join(f"{pcc[rate]:.0f}" for rate in beyond),
                "at every step",
                rises,
            ),
            Check(
                "and tracks its estimate of TCP's rate", f"at most {100 * off:.0f} % off", "within 15 %", off <= 0.15
            ),
        ),
        data=data,
        units=UNITS,
        why=(
            f"PCC has less than the fair rate at it ({pcc[500]:.0f} kbit/s) and rises by {pcc[2000] - pcc[550]:.0f} kbit/s "
            f"from {beyond[0]} to {beyond[-1]}, since more packets per round trip make fewer loss events per packet, as in "
            f"the paper; single means are uncertain by {columns.greatest(data['pcc_ci95']):.0f} kbit/s at most (95 %, over "
            "flows), which is more than some steps. But the least of the estimates within T decides, "
            f"not their mean. So flows below the fair rate are switched off now and then (PCC is up to {100 * below:.0f} % "
            f"below its own rate there), the fair rate is reached {told}, and PCC stays below its own mean estimate. With p "
            "evaluated once per T in place of once per round trip it has "
            + ", ".join(f"{value:.0f} kbit/s at {rate}" for rate, value in otherwise.items())
            + " (one run each)."
        ),
        scenario=toml,
    )


KEYS = {"pcc_kbps": "pcc", "tcp_kbps": "tcp", "estimated_friendly_kbps": "estimated"}
UNITS = {"rate": "kbit/s", "pcc": "kbit/s", "pcc_ci95": "kbit/s", "tcp": "kbit/s", "estimated": "kbit/s"}


def sweep(
    lab: Lab, options: tuple[tuple[str, Any], ...], rates: Sequence[int] = RATES, seeds: int = 0
) -> tuple[pl.DataFrame, str]:
    """Throughput and estimates at every rate, and one of the scenarios; with the item's seeds where no number is given."""
    shared = next(run for run in fig_5.runs(lab.fidelity) if run.estimates)
    runs = [
        # Figure 5 makes this run, too.
        shared
        if rate == shared.rate and not options
        else Run(rate=rate, seed=seed, seconds=SECONDS, estimates=seed == 1, options=options)
        for rate in rates
        for seed in range(1, (seeds or _seeds(rate, lab.fidelity)) + 1)
    ]
    seen = dict(zip(runs, lab.once(scenes.simulate, runs), strict=True))
    rows = []
    for rate in rates:
        of = [seen[run] for run in runs if run.rate == rate]
        pcc, tcp = (mean_interval([each for one in of for each in getattr(one, kind)]) for kind in ("pcc", "tcp"))
        estimated = max(one.friendly for one in of)
        rows.append(
            {"rate": rate, "pcc": pcc.mean, "pcc_ci95": pcc.half_width, "tcp": tcp.mean, "estimated": estimated}
        )
    return pl.DataFrame(rows), scenes.scenario(runs[0]).to_toml()


def draw(outcome: Outcome) -> Figure:
    """All three against the application's rate."""
    from tailback.plot.style import COLOURS, INK, figure, style

    data = outcome.data
    with style():
        made, (axes,) = figure(1, 1, height=3.2)
        axes.axhline(scenes.FAIR, color=INK, linewidth=0.6)
        axes.errorbar(data["rate"], data["pcc"], data["pcc_ci95"], color=COLOURS[0], marker="o", capsize=2, label="PCC")
        axes.plot(data["rate"], data["tcp"], color=COLOURS[1], marker="s", label="TCP")
        axes.plot(
            data["rate"], data["estimated"], color=COLOURS[2], linestyle="--", label="PCC's estimate of TCP's rate"
        )
        axes.set_xlabel("application rate (kbit/s)")
        axes.set_ylabel("throughput (kbit/s)")
        axes.set_ylim(0, 1000)
        axes.legend()
    return made


def _reached(rates: Sequence[float], values: Sequence[float]) -> float | None:
    """Where the values first reach the fair rate, on straight lines between."""
    for (a, low), (b, high) in zip(
        zip(rates, values, strict=True), list(zip(rates, values, strict=True))[1:], strict=False
    ):
        if low < scenes.FAIR <= high:
            return float(np.interp(scenes.FAIR, [low, high], [a, b]))
    return None


def _by(data: pl.DataFrame, column: str) -> dict[str, float]:
    return {str(rate): value for rate, value in zip(data["rate"], data[column], strict=True)}


def _seeds(rate: float, fidelity: Fidelity) -> int:
    return 2 if fidelity == "full" and rate >= TWICE else 1
