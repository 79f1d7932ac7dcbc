"""Figure 6: how the throughput of single flows spreads, with 2 to 128 flows of each kind at one fair share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.pcc import choices, fig_5, scenes
from tailback.papers.pcc.scenes import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

PUBLISHED = 0.15
"""The coefficient of variation of PCC's throughput, §5.2."""
COUNTS = (2, 4, 8, 16, 32, 64, 128)


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *scenes.COMMON,
        Parameter("flows", "2, 4, … 128 of each kind", "stated", "§5.2"),
        Parameter("capacity", "500 kbit/s per flow", "stated", "§5.2: as in Fig. 5"),
        Parameter("application rate", "750 kbit/s, T = 60 s", "stated", "§5.2"),
        Parameter("duration", f"{_seconds(fidelity):g} s, the first 100 s not counted", "inferred", "not given"),
    )


def run(count: int, fidelity: Fidelity) -> Run:
    """So many flows of each kind; with as many as Figure 5 has, its first run."""
    shared = fig_5.runs(fidelity)[0]
    return shared if count == shared.pcc else Run(pcc=count, tcp=count, seconds=_seconds(fidelity))


@choices.judged_too
def measure(lab: Lab) -> Outcome:
    """Pools the throughput of all flows, each over the mean of its kind in its run."""
    seconds = _seconds(lab.fidelity)
    shared = fig_5.runs(lab.fidelity)
    runs = [run(n, lab.fidelity) for n in COUNTS]
    seen = lab.once(scenes.simulate, runs)
    pcc = np.concatenate([np.asarray(one.pcc) / scenes.mean(one.pcc) for one in seen])
    tcp = np.concatenate([np.asarray(one.tcp) / scenes.mean(one.tcp) for one in seen])
    cov_pcc, cov_tcp = float(pcc.std()), float(tcp.std())
    on = scenes.mean([scenes.mean(one.on) for one in seen])
    expected = _by_renewal(on, seconds - scenes.WARM_UP)
    by_time = _by_time(lab, [one for one in shared if one.series])
    longest = seconds - scenes.WARM_UP
    enough = longest * (by_time[longest] / PUBLISHED) ** 2
    said = ", ".join(f"{value:.2f} over {time:g} s ({_by_renewal(on, time):.2f})" for time, value in by_time.items())
    by_count = {str(n): scenes.variation(one.pcc) for n, one in zip(COUNTS, seen, strict=True)}
    edges = np.linspace(0, 2, 41)
    density = {name: np.histogram(values, edges, density=True)[0] for name, values in (("pcc", pcc), ("tcp", tcp))}
    return Outcome(
        measured={
            "cov_pcc": cov_pcc,
            "cov_tcp": cov_tcp,
            "cov_pcc_by_flows": by_count,
            "cov_by_renewal": expected,
            "cov_by_seconds": {f"{time:g}": value for time, value in by_time.items()},
        },
        checks=(
            Check("coefficient of variation of PCC", f"{cov_pcc:.3f}", "0.08 to 0.25", 0.08 <= cov_pcc <= 0.25),
            Check("over that of TCP", f"{cov_pcc / cov_tcp:.1f}", "at least 2", cov_pcc >= 2 * cov_tcp),
        ),
        data=pl.DataFrame({"relative": (edges[:-1] + edges[1:]) / 2, **density}),
        units={"relative": "throughput over its mean", "pcc": "1", "tcp": "1"},
        why=(
            f"The paper has 0.15 and 0.03. The spread of PCC's throughput depends on how long one looks: a flow "
            f"that is on for "
            f"whole periods, geometrically many, and then off for one has {expected:.2f} over "
            f"{seconds - scenes.WARM_UP:g} s by "
            f"renewal theory, here {cov_pcc:.2f}. The flows of Fig. 5 differ by {said}, in brackets by theory. So the "
            f"spread falls with the root of the time, and {PUBLISHED} is what one sees after about "
            f"{round(enough, -2):g} s, or with shorter periods; how long the paper's runs were is not printed."
        ),
        scenario=scenes.scenario(runs[0]).to_toml(),
    )


def draw(outcome: Outcome) -> Figure:
    """Both densities."""
    from tailback.plot.style import COLOURS, figure, style

    data = outcome.data
    with style():
        made, (axes,) = figure(1, 1, height=3)
        for index, name in enumerate(("pcc", "tcp")):
            axes.step(data["relative"], data[name], where="mid", color=COLOURS[index], label=name.upper())
        axes.set_xlabel("throughput over its mean")
        axes.set_ylabel("probability density")
        axes.set_xlim(0, 2)
        axes.set_ylim(bottom=0)
        axes.legend()
    return made


def _by_time(lab: Lab, runs: Sequence[Run]) -> dict[float, float]:
    """The coefficient of variation by how many seconds one looks, the mean of these runs."""
    seen = lab.once(scenes.simulate, runs)
    window = runs[0].seconds - runs[0].warm_up
    return {
        window / parts: scenes.mean([run.spread[index] for run in seen]) for index, parts in enumerate(scenes.PARTS)
    }


def _by_renewal(on: float, seconds: float) -> float:
    """The coefficient of variation of the time on in so many seconds, with periods of 60 s survived with probability ``on``:
    by the central limit theorem of renewal processes, on-times of ``60 k`` s with geometric ``k`` and off-times of 60 s."""
    p, t = on, 60.0
    up, variance = t * p / (1 - p), t**2 * p / (1 - p) ** 2
    return float(np.sqrt(variance * t**2 / (up + t) ** 3 / seconds) / on)


def _seconds(fidelity: Fidelity) -> float:
    return 1000 if fidelity == "full" else 400
