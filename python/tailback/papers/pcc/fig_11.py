"""Figure 11: mixes of few and many probabilistic and TCP flows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from tailback.analysis import mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.pcc import scenes
from tailback.papers.pcc.scenes import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

PCC = (1, 4, 16, 64)
TCP = (4, 16, 64, 128)
EVEN = (1, 4)
"""PCC flows that are run with a buffer in proportion to the link, too."""
SECONDS = 500


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *scenes.COMMON,
        Parameter("flows", "1, 4, 16, 64 probabilistic with 4, 16, 64, 128 TCP", "inferred", "the figure's axes"),
        Parameter("rates", "fair 500 kbit/s, application 750 kbit/s", "stated", "§5.7"),
        Parameter("T", "60 s", "inferred", "not given"),
        Parameter("duration", f"{SECONDS} s, the first 100 s not counted", "inferred", "not given"),
        Parameter("seeds", ", ".join(f"{n}: {_seeds(n, fidelity)}" for n in PCC), "inferred", "by probabilistic flows"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs every mix; the fewer probabilistic flows there are, the more seeds."""
    runs = [
        Run(pcc=n, tcp=m, seconds=SECONDS, seed=seed)
        for n in PCC
        for m in TCP
        for seed in range(1, _seeds(n, lab.fidelity) + 1)
    ]
    seen = dict(zip(runs, lab.once(scenes.simulate, runs), strict=True))
    even = _even(lab)
    found = {
        (n, m): mean_interval([scenes.mean(seen[run].pcc) for run in runs if (run.pcc, run.tcp) == (n, m)])
        for n in PCC
        for m in TCP
    }
    gains = {n: found[n, TCP[-1]].mean - found[n, TCP[0]].mean for n in PCC}
    rows = {n: [found[n, m].mean for m in TCP] for n in PCC}
    rising = all(a < b for row in rows.values() for a, b in itertools.pairwise(row))
    course = "; ".join(f"{n}: {', '.join(f'{value:.0f}' for value in row)}" for n, row in rows.items())
    ordered = all(gains[a] > gains[b] for a, b in itertools.pairwise(PCC))
    data = pl.DataFrame(
        [{"pcc_flows": n, "tcp_flows": m, "pcc": one.mean, "pcc_ci95": one.half_width} for (n, m), one in found.items()]
    )
    told = "; ".join(f"{n}: {gain:+.0f} kbit/s" for n, gain in gains.items())
    loss = {m: scenes.mean([seen[run].loss for run in runs if (run.pcc, run.tcp) == (1, m)]) for m in (TCP[0], TCP[-1])}
    return Outcome(
        measured={
            "pcc_kbps": {str(n): {str(m): found[n, m].mean for m in TCP} for n in PCC},
            "pcc_kbps_buffer_in_proportion": {
                str(n): dict(zip(map(str, TCP), row, strict=True)) for n, row in even.items()
            },
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
            f"Single means are uncertain by {max(one.half_width for one in found.values() if one.samples > 1):.0f} "
            "kbit/s at most (95 %). The buffer is 50 packets in every scene (§5), but the link has 500 kbit/s per flow: "
            f"beside one PCC flow a full queue lasts {_full(1 + TCP[0]):.0f} ms with {TCP[0]} TCP flows and "
            f"{_full(1 + TCP[-1]):.0f} ms with {TCP[-1]}. So round trips grow shorter with the number of flows and loss "
            f"grows, from {100 * loss[TCP[0]]:.1f} to {100 * loss[TCP[-1]]:.1f} %, loss events follow each other faster, "
            "and within T more estimates are made, of which the least decides. That works against the multiplexing "
            f"that the paper sees. With a buffer in proportion to the link, always {_full(64):.0f} ms, throughput with "
            f"{', '.join(map(str, TCP))} TCP flows is "
            + " and ".join(
                f"{', '.join(f'{value:.0f}' for value in row)} kbit/s beside {n} PCC {'flow' if n == 1 else 'flows'}"
                for n, row in even.items()
            )
            + ". What the paper's buffers and round trips were in these runs is not printed."
        ),
        scenario=scenes.scenario(runs[0]).to_toml(),
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


def _seeds(pcc: int, fidelity: Fidelity) -> int:
    full = {1: 10, 4: 5, 16: 2, 64: 1}[pcc]
    return full if fidelity == "full" else max(1, full // 4)


def _even(lab: Lab) -> dict[int, list[float]]:
    """PCC's throughput where the buffer is in proportion to the link, 50 packets with 64 flows, by PCC and TCP flows."""
    runs = {
        (n, m): [
            Run(pcc=n, tcp=m, seconds=SECONDS, seed=seed, buffer=max(2.0, round(50 * (n + m) / 64)))
            for seed in range(1, _seeds(n, lab.fidelity) + 1)
        ]
        for n in EVEN
        for m in TCP
    }
    flat = [run for of in runs.values() for run in of]
    seen = dict(zip(flat, lab.once(scenes.simulate, flat), strict=True))
    return {n: [scenes.mean([scenes.mean(seen[run].pcc) for run in runs[n, m]]) for m in TCP] for n in EVEN}


def _full(flows: int) -> float:
    """How long 50 packets take at the bottleneck of so many flows, in ms."""
    return 50 * scenes.PACKET * 8 / (scenes.FAIR * flows)
