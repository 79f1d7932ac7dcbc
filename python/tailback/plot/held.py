"""Ticks that are found once while a figure is saved, not a dozen times. How figures look is the business of ``style.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_UPDATE = "_update_ticks"
"""What matplotlib calls whenever it needs the ticks of an axis; where another version has no such method, nothing is held."""


@contextmanager
def ticks_held(made: Figure) -> Iterator[None]:
    """While inside, the ticks of each axis are found anew only where its limits or the place of its panel have changed.
    matplotlib asks for them for every measurement of a panel: fifteen times per axis in a figure of four panels. Nothing
    else may change meanwhile, so this is for saving only, and the picture is the same to the last byte."""
    axes = [axis for panel in made.axes for axis in (panel.xaxis, panel.yaxis) if hasattr(axis, _UPDATE)]
    for axis in axes:
        setattr(axis, _UPDATE, _once(axis, getattr(axis, _UPDATE)))
    try:
        yield
    finally:
        for axis in axes:
            delattr(axis, _UPDATE)


def _once(axis: Axis, find: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
    """A function that finds the ticks where something has changed, and else answers as before."""
    last: list[Any] = [None, []]

    def found() -> list[Any]:
        now = (*axis.get_view_interval(), *axis.axes.bbox.bounds)
        if now != last[0]:
            last[:] = [now, find()]
        return list(last[1])

    return found
