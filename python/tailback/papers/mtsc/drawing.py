"""Pictures that several of this paper's items draw: curves over a numbered axis with level lines, and bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from tailback.plot.style import COLOURS, DASHES, FAINT, INK, MARKERS, figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def curves(
    data: pl.DataFrame,
    x: str,
    y: str,
    by: str | None,
    *,
    x_label: str,
    y_label: str,
    lines: Mapping[str, float] | None = None,
    log: bool = False,
    error: str = "ci95",
) -> Figure:
    """One curve per value of ``by``, with intervals from the column ``error`` where there is one; ``lines`` are levels across."""
    with style():
        made, (axis,) = figure(height=3.6)
        parts = (
            [("", data)]
            if by is None
            else [(str(key[0]), part) for key, part in data.group_by(by, maintain_order=True)]
        )
        for index, (name, part) in enumerate(parts):
            axis.errorbar(
                part[x],
                part[y],
                part[error] if error in part.columns and part[error].null_count() == 0 else None,
                color=COLOURS[index % len(COLOURS)],
                linestyle=DASHES[index % len(DASHES)],
                marker=MARKERS[index % len(MARKERS)],
                capsize=2,
                elinewidth=0.8,
                label=f"{name}" or None,
            )
        for index, (name, level) in enumerate((lines or {}).items()):
            axis.axhline(
                level,
                color=INK if index == 0 else FAINT,
                linewidth=1.0,
                linestyle=DASHES[(index + 1) % len(DASHES)],
                label=name,
            )
        if log:
            axis.set_xscale("log")
        axis.set_xlabel(x_label)
        axis.set_ylabel(y_label)
        axis.margins(y=0.12)
        if len(parts) + len(lines or {}) > 3:
            # So many entries would lie on the curves.
            axis.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
        elif by is not None or lines:
            axis.legend()
    return made


def bars(names: Sequence[str], values: Sequence[float], widths: Sequence[float] | None, y_label: str) -> Figure:
    """A bar per name, with intervals."""
    with style():
        made, (axis,) = figure(height=3.2)
        axis.bar(range(len(names)), values, yerr=widths, color=COLOURS[0], capsize=3, width=0.6)
        axis.set_xticks(range(len(names)), names)
        axis.set_ylabel(y_label)
        axis.grid(visible=False, axis="x")
    return made
