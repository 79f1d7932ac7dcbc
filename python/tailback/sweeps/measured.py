"""Metrics of one's own over all runs of a sweep: functions of a result, whose numbers become columns. The metrics that every run
has are measured in ``measure.py``; their intervals are made in ``statistics.py``."""

from __future__ import annotations

import dataclasses
import math
import numbers
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from tailback.callers import warn
from tailback.errors import ArgumentError, TailbackWarning, refused
from tailback.progress import Bar
from tailback.units import counted

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.sweeps.runs import Runs


def with_metrics(runs: Runs, metrics: Mapping[str, Any], *, progress: bool) -> Runs:
    """The runs with a column for each metric; those that failed have none.

    Raises:
        ArgumentError: as :meth:`tailback.Runs.measured`.
    """
    functions = {name: _function(runs, name, given) for name, given in metrics.items()}
    if not functions:
        raise ArgumentError("metrics: none is given; expected functions of a result by name, as in smooth=my_function")
    columns: dict[str, list[float | None]] = {name: [] for name in functions}
    reasons: dict[str, list[str]] = {name: [] for name in functions}
    rows = runs.table.select("variant", "seed", "error", "hash").rows()
    others = 0
    with Bar(counted(len(rows), "run"), len(rows), show=progress) as bar:
        for variant, seed, error, kept in rows:
            scenario = runs.variants[variant].scenario
            if error is not None or scenario is None:
                values: dict[str, float | None] = dict.fromkeys(functions)
            else:
                with _told_of(f"this run of the sweep: runs.result({_named(runs, variant, seed)})"):
                    result = scenario.run(seed=seed)
                    others += result.hash != kept
                    values = _measured(result, functions, reasons)
            for name, value in values.items():
                columns[name].append(value)
            bar.advance()
    tell_of_others(others, len(rows))
    _tell(columns, reasons)
    made = [pl.Series(name, values, dtype=pl.Float64) for name, values in columns.items()]
    units = {name: given[1] for name, given in metrics.items() if isinstance(given, tuple)}
    return dataclasses.replace(runs, table=runs.table.with_columns(made), own_units={**runs.own_units, **units})


@contextmanager
def _told_of(place: str) -> Iterator[None]:
    """Says of an error where it came from, among many runs and functions."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {place}")
        raise


def _named(runs: Runs, variant: int, seed: int) -> str:
    """What gives one run again, as it is written."""
    labels = dict(runs.variants[variant].labels)
    fields = [f"{name}={value!r}" for name, value in labels.items() if name.isidentifier()]
    paths = {name: value for name, value in labels.items() if not name.isidentifier()}
    return ", ".join([*fields, f"seed={seed}", *([f"**{paths!r}"] if paths else [])])


def tell_of_others(others: int, of: int) -> None:
    """Warns of runs that came out otherwise when they were made again: what is measured of these is not of the sweep's."""
    if others:
        warn(
            f"{others} of {counted(of, 'run')} came out otherwise than in the sweep, whose own figures are of the earlier ones: "
            "a class of yours, or the version of Tailback, has changed since; sweep anew"
        )


def _function(runs: Runs, name: str, given: Any) -> Callable[[Result], Any]:
    function: Callable[[Result], Any] = given
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
        function = given[0]
    if not callable(function):
        allowed = 'a function of a result, or such a function and a unit, as in (my_function, "s")'
        raise refused(name, given, allowed)
    if name in runs.table.columns and name not in runs.own_units:
        raise ArgumentError(f"{name}: a column of the runs has this name; expected another one")
    return function


def _measured(
    result: Result, functions: Mapping[str, Callable[[Result], Any]], reasons: Mapping[str, list[str]]
) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name, function in functions.items():
        with warnings.catch_warnings(record=True) as heard, _told_of(f"the function of the metric {name}"):
            warnings.simplefilter("always")
            value = function(result)
        for each in heard:
            if issubclass(each.category, TailbackWarning):
                reasons[name].append(str(each.message))
            else:
                warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
            value = value.item()
        if value is not None and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
            shown = repr(value)
            short = shown if len(shown) <= 80 else f"{shown[:77]}..."
            raise ArgumentError(f"{name}: its function gave {short}; expected a number, or None where there is none")
        found[name] = None if value is None or math.isnan(value) else float(value)
    return found


def _tell(columns: Mapping[str, Sequence[float | None]], reasons: Mapping[str, Sequence[str]]) -> None:
    for name, values in columns.items():
        missing = sum(value is None for value in values)
        if missing:
            why = f"; the first says: {reasons[name][0]}" if reasons[name] else ""
            warn(f"{name} is missing in {missing} of {counted(len(values), 'run')}, which its means leave out{why}")
