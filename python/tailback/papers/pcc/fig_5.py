"""Figure 5: 32 probabilistic flows beside 32 of TCP, and single flows of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from tailback.analysis import mean_interval
from tailback.papers.item import ChangedTest, Fidelity, Outcome, Parameter
from tailback.papers.pcc import choices, scenes
from tailback.papers.pcc.scenes import Run, Seen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

OTHERS: Mapping[str, dict[str, Any]] = {
    "16 loss intervals": {"options": (("loss_intervals", (("intervals", 16),)),)},
    "32 loss intervals": {"options": (("loss_intervals", (("intervals", 32),)),)},
    "an evaluation per second": {"options": (("evaluation_interval", "1 s"),)},
    "an evaluation per 10 s": {"options": (("evaluation_interval", "10 s"),)},
    "one per T": {"options": (("evaluation_interval", "60 s"),)},
    "round trips of 50 ms": {"rtt": 50},
    "round trips of 200 ms": {"rtt": 200},
    "TCP's time-outs at least 1 s": {"min_rto": 1000},
    "TCP sending without random delays": {"send_jitter": 0},
    "that and round trips of 100.1 ms": {"send_jitter": 0, "rtt": 100.1},
    "the same and 100.3 ms": {"send_jitter": 0, "rtt": 100.3},
}
"""What the paper does not say, otherwise than it is judged."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    seconds, seeds = _effort(fidelity)
    return (
        *scenes.COMMON,
        Parameter("flows", "32 probabilistic, 32 TCP", "stated", "§5.1"),
        Parameter("capacity", "32 Mbit/s", "stated", "§5.1"),
        Parameter("application rate", "750 kbit/s", "stated", "§5.1"),
        Parameter("T", "60 s, not varied", "stated", "§5.1; §5.3 says what randomising it would change"),
        Parameter("starts", "over the first 50 s", "stated", "§5.1"),
        Parameter("duration", f"{seconds:g} s, the first 100 s not counted; {seeds} seeds", "inferred", "not given"),
    )


def measure(lab: Lab) -> Outcome:
    """Runs with several seeds; the first is drawn."""
    main = runs(lab.fidelity)
    others = [Run(seconds=400, seed=1, **fields) for fields in OTHERS.values()]
    seen = lab.once(scenes.simulate, main + others)
    judged, rest = seen[: len(main)], seen[len(main) :]
    second = lab.once(scenes.simulate, [choices.OTHER.of(run) for run in main])
    pcc = mean_interval([scenes.mean(run.pcc) for run in judged])
    tcp = mean_interval([scenes.mean(run.tcp) for run in judged])
    ratio, on_off = choices.seen_in_figure_5(judged)
    otherwise = {name: scenes.mean(run.pcc) / scenes.mean(run.tcp) for name, run in zip(OTHERS, rest, strict=True)}
    estimate = max(run.friendly for run in judged)
    loss = scenes.mean([run.loss for run in judged])
    model = _model(loss)
    lost = [scenes.mean([run.lost[kind] for run in judged]) for kind in (0, 1)]
    first = judged[0]
    told = ", ".join(f"{value:.2f} with {name}" for name, value in otherwise.items())
    return Outcome(
        measured={
            "pcc_mean_kbps": pcc.mean,
            "tcp_mean_kbps": tcp.mean,
            "on_off_ratio": on_off,
            "ratio_ci95": ratio.half_width,
            "ratio_otherwise": otherwise,
            "estimated_friendly_kbps": estimate,
            "model_kbps": model,
            "lost": dict(zip(("pcc", "tcp"), lost, strict=True)),
        },
        checks=choices.figure_5(ratio, on_off),
        changed=_changed(second),
        data=pl.DataFrame(
            {
                "time": first.time,
                "tcp_flow": first.sample_tcp,
                "pcc_flow": first.sample_pcc,
                "pcc_mean": first.pcc_series,
            }
        ),
        units={"time": "s", "tcp_flow": "kbit/s", "pcc_flow": "kbit/s", "pcc_mean": "kbit/s"},
        why=(
            f"PCC gets {pcc} kbit/s, TCP {tcp}: a ratio of {ratio}. An experiment holds for T, so that the least "
            f"estimate within T decides (§3.5), while the flows' estimates are {estimate:.0f} kbit/s on average; §5.5 "
            f"calls this the susceptibility to dynamic conditions. At the {100 * loss:.1f} % of loss here equation "
            f"(1) gives {model:.0f} kbit/s. PCC loses {100 * lost[0]:.1f} % of its packets, TCP {100 * lost[1]:.1f} %: TCP "
            "sends when an acknowledgement comes, so about as often as packets leave the full queue, and PCC at its own "
            "pace. How much it costs depends on what the paper does not say. The ratio is "
            f"{told} (one run of 400 s each, ± 0.1)."
        ),
        scenario=scenes.scenario(main[0]).to_toml(),
        notes=(
            "With exactly even packets the flows of one run differ more than here: some are in phase with the "
            "full queue and lose "
            "nothing.",
        ),
    )


def _changed(seen: Sequence[Seen]) -> ChangedTest:
    """The tests under the other choices; what is drawn and explained is of the first."""
    return choices.changed(choices.figure_5(*choices.seen_in_figure_5(seen)))


def draw(outcome: Outcome) -> Figure:
    """Throughput against time."""
    from tailback.plot.style import COLOURS, figure, style

    data = outcome.data
    with style():
        made, (axes,) = figure(1, 1, height=3.2)
        axes.plot(data["time"], data["tcp_flow"], color=COLOURS[1], linewidth=0.7, label="a TCP flow")
        axes.plot(data["time"], data["pcc_flow"], color=COLOURS[2], linewidth=0.9, label="a PCC flow")
        axes.plot(data["time"], data["pcc_mean"], color=COLOURS[0], linewidth=1.6, label="mean of 32 PCC flows")
        axes.set_xlim(0, min(500.0, float(data["time"].to_numpy().max())))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("throughput (kbit/s)")
        axes.legend()
    return made


def runs(fidelity: Fidelity) -> list[Run]:
    """The runs that are judged, the first of which is drawn. One tells what its flows take for TCP's rate, the others their
    series."""
    seconds, seeds = _effort(fidelity)
    return [Run(seconds=seconds, seed=seed, series=seed != 2, estimates=seed == 2) for seed in range(1, seeds + 1)]


def _effort(fidelity: Fidelity) -> tuple[float, int]:
    return scenes.effort(fidelity, (1000, 3), (400, 3))


def _model(loss: float) -> float:
    """Equation (1) at 100 ms, kbit/s."""
    from tailback.analysis import tcp_friendly_rate

    return float(tcp_friendly_rate(loss, 0.1, scenes.PACKET)) / 1e3
