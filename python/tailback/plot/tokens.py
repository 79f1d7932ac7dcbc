"""Panels of what two-dimensional queue management and TCP Newark add to an overview: the queue's two averages, and the
senders' virtual windows, limits and stored tokens, as means over each group. Panels that every result has are in
``overtime``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from tailback.plot import names as called
from tailback.plot.overtime import Panel, thinned
from tailback.plot.style import line
from tailback.units import scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tailback.results import Result

GRID = 800
"""Points in time at which notes are averaged over flows."""
NOTES = {"virtual_window": "$W_p$", "token_limit": "$T_c$", "stored_tokens": "stored tokens"}


def averages(axis: Axes, result: Result, link: str | None) -> None:
    """The router's averages of utilization and of burstiness."""
    series = result.series(link=link or result.shown_link)
    for index, (column, label) in enumerate((("rho", r"$\rho$"), ("eta", r"$\eta$"))):
        time, mean, _, _ = thinned(series["time"].to_numpy(), series[column].to_numpy())
        axis.plot(time, mean, label=label, **line(index + 2))
    axis.set_ylim(0.0, 1.02)
    axis.set_ylabel(r"$\rho$, $\eta$")


def note(axis: Axes, result: Result, name: str) -> None:
    """What flows published under this name, a mean per group: each value holds until the next."""
    notes = result.state.filter(pl.col("name") == name)
    grid = np.linspace(0.0, result.duration, GRID)
    factor, unit = scale_of(notes["value"], "B")
    for index, (group, name_of) in enumerate(called.of_groups(result).items()):
        members = result.flows.filter(pl.col("group") == group)["flow"].cast(pl.String).to_list()
        found = [
            np.concatenate([[np.nan], rows["value"].to_numpy() * factor])[
                np.searchsorted(rows["time"].to_numpy(), grid, "right")
            ]
            for _, rows in notes.filter(pl.col("flow").cast(pl.String).is_in(members)).group_by(
                "flow", maintain_order=True
            )
        ]
        if found:
            told = np.isfinite(found).any(axis=0)
            label = name_of if len(members) == 1 else f"{name_of} (mean of {len(members)})"
            axis.plot(grid[told], np.nanmean(np.array(found)[:, told], axis=0), label=label, **line(index))
    axis.set_ylabel(f"{NOTES[name]} ({unit})")
    axis.set_ylim(bottom=0.0)


def panel(name: str) -> Panel:
    """The panel of one note."""
    return lambda axis, result, _: note(axis, result, name)


def has_averages(result: Result, link: str | None) -> bool:
    """Whether the queue's two averages were recorded."""
    if result.link_series.height == 0:
        return False
    series = result.series(link=link or result.shown_link)
    return {"rho", "eta"} <= set(series.columns) and series["rho"].null_count() + series["eta"].null_count() == 0


def noted(result: Result) -> list[str]:
    """Which of the notes were recorded, in the order of panels."""
    names = set(result.state["name"].unique().to_list())
    return [name for name in NOTES if name in names] if "virtual_window" in names else []
