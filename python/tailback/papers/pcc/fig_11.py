"""Figure 11: mixes of few and many probabilistic and TCP flows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from tailback.analysis import mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.pcc import choices, fig_6, scenes
from tailback.papers.pcc.scenes import Run, Seen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.analysis import Interval
    from tailback.papers.lab import Lab

PCC = (1, 4, 16, 64)
TCP = (4, 16, 64, 128)
SEVERAL = 16
"""From so many PCC flows on, intervals are over flows; with fewer, which switch each other off, over parts of the run."""
PART = 400
"""Seconds of a part."""
MANY = PCC[-1]
"""PCC flows that are run with a buffer in proportion to the link, and with p evaluated once per T, too: of so many, one run
tells the mean."""
ENDS = (TCP[0], TCP[-1])
BRIEF = 300
"""Seconds of these runs."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *scenes.COMMON,
        Parameter("flows", "1, 4, 16, 64 probabilistic with 4, 16, 64, 128 TCP", "inferred", "the figure's axes"),
        Parameter("rates", "fair 500 kbit/s, application 750 kbit/s", "stated", "§5.7"),
        Parameter("T", "60 s", "inferred", "not given"),
        Parameter(
            "duration",
            f"100 s that do not count and parts of {PART} s: "
            + ", ".join(f"{_parts(n, fidelity)} with {n} probabilistic flows" for n in PCC)
            + f". From {SEVERAL} of both kinds on, the runs of `pcc/fig-6`",
            "inferred",
            "not given; the fewer flows there are, the more of their time must be seen",
        ),
    )


@choices.judged_too
def measure(lab: Lab) -> Outcome:
    """Runs every mix; the fewer probabilistic flows there are, the longer."""
    runs = {(n, m): _run(n, m, lab.fidelity) for n in PCC for m in TCP}
    seen = dict(zip(runs, lab.once(scenes.simulate, list(runs.values())), strict=True))
    found = {(n, m): _interval(one, _parts(n, lab.fidelity)) for (n, m), one in seen.items()}
    even, once = (_otherwise(lab, kind) for kind in ("buffer", "evaluation"))
    gains = {n: found[n, TCP[-1]].mean - found[n, TCP[0]].mean for n in PCC}
    rows = {n: [found[n, m].mean for m in TCP] for n in PCC}
    rising = all(a < b for row in rows.values() for a, b in itertools.pairwise(row))
    course = "; ".join(f"{n}: {', '.join(f'{value:.0f}' for value in row)}" for n, row in rows.items())
    ordered = all(gains[a] > gains[b] for a, b in itertools.pairwise(PCC))
    data = pl.DataFrame(
        [{"pcc_flows": n, "tcp_flows": m, "pcc": one.mean, "pcc_ci95": one.half_width} for (n, m), one in found.items()]
    )
    told = "; ".join(f"{n}: {gain:+.0f} kbit/s" for n, gain in gains.items())
    loss = {m: seen[PCC[0], m].loss for m in ENDS}
    return Outcome(
        measured={
            "pcc_kbps": {str(n): {str(m): found[n, m].mean for m in TCP} for n in PCC},
            "pcc_kbps_buffer_in_proportion": _plain(even),
            "pcc_kbps_evaluated_once_per_period": _plain(once),
        },
        checks=(
            Check(
                f"PCC's throughput with {', '.join(map(str, TCP))} TCP flows, by PCC flows",
                f"{course} kbit/s",
                "rising at every step for each",
                rising,
            ),
            Check(f"its gain from {TCP[0]} to {TCP[-1]} TCP flows, by PCC flows", told, "larger the fewer", ordered),
        ),
        data=data,
        units={"pcc": "kbit/s", "pcc_ci95": "kbit/s"},
        why=(
            f"From {TCP[0]} to {TCP[-1]} TCP flows PCC goes {_told({n: [found[n, m] for m in ENDS] for n in PCC})} (95 %: "
            f"over parts of {PART} s for {PCC[0]} and {PCC[1]}, over flows for more). The buffer is 50 packets in every scene "
            "(§5), but the link has 500 kbit/s per flow: beside one PCC flow a full queue lasts "
            f"{_full(1 + TCP[0]):.0f} ms with {TCP[0]} TCP flows and "
            f"{_full(1 + TCP[-1]):.0f} ms with {TCP[-1]}. So round trips grow shorter with the number of flows and loss "
            f"grows, from {100 * loss[TCP[0]]:.1f} to {100 * loss[TCP[-1]]:.1f} %, loss events follow each other faster, "
            "and within T more estimates are made, of which the least decides. That works against the multiplexing "
            f"that the paper sees. With a buffer in proportion to the link, always {_full(64):.0f} ms, PCC goes "
            f"{_told(even)}; with p evaluated once per T, {_told(once)} (one run of {BRIEF} s each). What the paper's buffers and "
            "round trips were in these runs is not printed."
        ),
        scenario=scenes.scenario(runs[PCC[0], TCP[0]]).to_toml(),
    )


def draw(outcome: Outcome) -> Figure:
    """Throughput against the number of TCP flows."""
    from tailback.plot.style import COLOURS, figure, style

    data = outcome.data
    with style():
        made, (axes,) = figure(1, 1, height=3)
        for index, n in enumerate(PCC):
            part = data.filter(pl.col("pcc_flows") == n)
            axes.errorbar(
                part["tcp_flows"],
                part["pcc"],
                part["pcc_ci95"],
                color=COLOURS[index],
                marker="o",
                capsize=2,
                label=f"{n} PCC",
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks(TCP, [str(m) for m in TCP])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel("TCP flows")
        axes.set_ylabel("throughput of a PCC flow (kbit/s)")
        axes.legend()
    return made


def _parts(pcc: int, fidelity: Fidelity) -> int:
    full = {1: 5, 4: 3, 16: 2, 64: 1}[pcc]
    return full if fidelity == "full" else max(1, full // 2)


def _run(pcc: int, tcp: int, fidelity: Fidelity) -> Run:
    if pcc == tcp and pcc >= SEVERAL:
        return fig_6.run(pcc, fidelity)
    seconds = scenes.WARM_UP + PART * _parts(pcc, fidelity)
    return Run(pcc=pcc, tcp=tcp, seconds=seconds, series=pcc < SEVERAL)


def _interval(seen: Seen, parts: int) -> Interval:
    """A flow's mean throughput."""
    if len(seen.pcc) >= SEVERAL:
        return mean_interval(seen.pcc)
    return mean_interval([float(np.mean(part)) for part in np.array_split(seen.pcc_series[scenes.WARM_UP :], parts)])


def _otherwise(lab: Lab, kind: str) -> dict[int, list[Interval]]:
    """A flow's throughput at both ends, by PCC flows, with a buffer in proportion to the link (50 packets with 64 flows) or with p
    evaluated once per T."""
    changed: Mapping[str, Callable[[int], dict[str, Any]]] = {
        "buffer": lambda flows: {"buffer": float(round(50 * flows / 64))},
        "evaluation": lambda _: {"options": scenes.evaluated_once()},
    }
    runs = [Run(pcc=MANY, tcp=m, seconds=BRIEF, **changed[kind](MANY + m)) for m in ENDS]
    return {MANY: [mean_interval(one.pcc) for one in lab.once(scenes.simulate, runs)]}


def _told(ends: Mapping[int, Sequence[Interval]]) -> str:
    said = {n: [f"{each.mean:.0f} ± {each.half_width:.0f}" for each in row] for n, row in ends.items()}
    return ", ".join(
        f"from {first} to {last} kbit/s with {n} PCC {'flow' if n == 1 else 'flows'}"
        for n, (first, last) in said.items()
    )


def _plain(ends: Mapping[int, Sequence[Interval]]) -> dict[str, dict[str, float]]:
    return {str(n): {str(m): each.mean for m, each in zip(ENDS, row, strict=True)} for n, row in ends.items()}


def _full(flows: int) -> float:
    """How long 50 packets take at the bottleneck of so many flows, in ms."""
    return 50 * scenes.PACKET * 8 / (scenes.FAIR * flows)
