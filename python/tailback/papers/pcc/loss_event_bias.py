"""What §5.5 and §6 leave open: a loss event rate that does not depend on the rate at which it is measured. Figure 9's
set-up, with every packet taking part in the measurement with the probability r_TCP / r_NA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.pcc import choices, fig_9, scenes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

RATES = (1000, 1500, 2000)
OTHERWISE = (1000, 2000)
"""Of these, those that are run with p evaluated once per T."""
OPTIONS = (("friendly_rate", "normalised"),)


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *fig_9.parameters(fidelity),
        Parameter(
            "loss events",
            "among a random share r_TCP / r_NA of the packets",
            "inferred",
            "ours: the paper says only that a more accurate estimate is being investigated",
        ),
    )


@choices.judged_too
def measure(lab: Lab) -> Outcome:
    """Runs both estimators at two to four times the fair rate."""
    plain, toml = fig_9.sweep(lab, (), RATES)
    normalised, _ = fig_9.sweep(lab, OPTIONS, RATES)
    once = [fig_9.sweep(lab, (*scenes.evaluated_once(), *options), OTHERWISE, seeds=1)[0] for options in ((), OPTIONS)]
    ratios = [(one["pcc"] / one["tcp"]).to_list() for one in once]
    data = normalised.with_columns(plain["pcc"].alias("pcc_plain"), plain["tcp"].alias("tcp_plain"))
    checks = []
    for row in data.iter_rows(named=True):
        new, old = row["pcc"] / row["tcp"], row["pcc_plain"] / row["tcp_plain"]
        checks.append(
            Check(
                f"PCC over TCP at {row['rate']} kbit/s",
                f"{new:.2f}",
                f"closer to 1 than {old:.2f}",
                abs(new - 1) < abs(old - 1),
            )
        )
    by = {column: dict(zip(map(str, data["rate"]), data[column], strict=True)) for column in ("pcc", "tcp")}
    spread = {
        name: max(ratios) - min(ratios)
        for name, ratios in (
            ("plain", (plain["pcc"] / plain["tcp"]).to_list()),
            ("normalised", (data["pcc"] / data["tcp"]).to_list()),
        )
    }
    return Outcome(
        measured={"pcc_kbps": by["pcc"], "tcp_kbps": by["tcp"], "spread": spread, "evaluated_once_per_period": ratios},
        checks=tuple(checks),
        data=data,
        units=fig_9.UNITS | {"pcc_plain": "kbit/s", "tcp_plain": "kbit/s"},
        why=(
            f"The bias is removed: from 1000 to 2000 kbit/s PCC over TCP varies by {spread['normalised']:.2f}, against "
            f"{spread['plain']:.2f} without. But what is left is the loss that the least estimate within T "
            f"causes, which the bias had hidden "
            "(§6: “to some extent, these effects on the average PCC sending rate cancel each other out”). So a "
            "ratio that is closer to 1 "
            "by two errors of opposite sign is not improved by taking one of them away. With p evaluated once per T, so that no "
            f"least estimate decides, PCC over TCP is {_listed(ratios[1])} at {' and '.join(map(str, OTHERWISE))} kbit/s "
            f"normalised, against {_listed(ratios[0])} without (one run each)."
        ),
        scenario=toml,
    )


def draw(outcome: Outcome) -> Figure:
    """PCC over TCP with both estimators."""
    from tailback.plot.style import COLOURS, INK, figure, style

    data = outcome.data
    with style():
        made, (axes,) = figure(1, 1, height=2.8)
        axes.axhline(1, color=INK, linewidth=0.6)
        axes.plot(
            data["rate"], data["pcc_plain"] / data["tcp_plain"], color=COLOURS[1], marker="s", label="as in the paper"
        )
        axes.plot(data["rate"], data["pcc"] / data["tcp"], color=COLOURS[0], marker="o", label="normalised")
        axes.set_xlabel("application rate (kbit/s)")
        axes.set_ylabel("PCC over TCP")
        axes.set_ylim(0, 1.5)
        axes.legend()
    return made


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
