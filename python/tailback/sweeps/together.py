"""Several sweeps as one: their runs below one another. What is said of them is the business of ``runs.py``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from tailback import _core
from tailback.calls import checked_call
from tailback.errors import ArgumentError, refused
from tailback.sweeps import statistics
from tailback.sweeps.design import Variant, label
from tailback.sweeps.runs import Runs
from tailback.sweeps.tables import OWN, giving_way

if TYPE_CHECKING:
    from tailback.scenario import Scenario

_ALLOWED: Final = "sweeps of the same scenario, or names: tb.concat({'before': first, 'after': second})"


@checked_call
def concat(sweeps: Sequence[Runs] | Mapping[str, Runs], axis: str = "sweep") -> Runs:
    """Several sweeps as one, whose tables, figures, comparisons and reports then cover all of their runs.

        tb.concat([first, more_seeds])
        tb.concat({"before": old, "after": new}, axis="version").compare("version", "before", "goodput")

    Args:
        sweeps: over the same fields. A run that two of them made, with the same outcome, counts once. By name, they are
            told apart by one axis more.
        axis: what that axis is called. It may be a field of scenarios that is the same within each sweep, such as ``scheme``.

    Raises:
        ArgumentError: where they are over different fields, or two have different outcomes of what should be one run; for the
            name of a metric, or of another column by which tables are read.
    """
    pairs = sweeps.items() if isinstance(sweeps, Mapping) else enumerate(sweeps if isinstance(sweeps, Iterable) else ())
    named: dict[str | int, Runs] = dict(pairs)
    if not named or not all(isinstance(runs, Runs) for runs in named.values()):
        raise refused("sweeps", sweeps, "a list of sweeps, or a table of them by name")
    first = next(iter(named.values()))
    for name, runs in named.items():
        if runs.axes != first.axes:
            allowed = f"{', '.join(first.axes) or 'none'}, the fields of the first"
            raise ArgumentError(f"sweeps[{name!r}]: is over {', '.join(runs.axes) or 'none'}; expected {allowed}")
    if isinstance(sweeps, Mapping):
        _check_axis(axis, first)
        named = {name: _with_axis(runs, axis, name) for name, runs in named.items()}
    return _joined(list(named.values()))


def _check_axis(axis: str, runs: Runs) -> None:
    """Refuses a name that tables have for something else; a column of flows or links gives way to an axis, as in sweeps.

    Raises:
        ArgumentError: with what else it is.
    """
    if not isinstance(axis, str) or not axis:
        raise refused("axis", axis, "a name")
    if axis in runs.axes:
        raise refused("axis", axis, f"a name other than {', '.join(runs.axes)}")
    values = {f"{name}_value" for name in runs.axes}
    if axis in {*runs.table.columns, *runs.groups.columns, *statistics.COLUMNS, "flow", "link", *values}:
        raise refused("axis", axis, "a name that no column of runs, groups or intervals has")


def _with_axis(runs: Runs, axis: str, value: object) -> Runs:
    """The runs with one axis more, before the others, on which all stand at the same place."""
    said = label(value)
    variants = [Variant({axis: said, **one.labels}, one.scenario, one.error) for one in runs.variants]
    tables: dict[str, Any] = {
        name: giving_way(getattr(runs, name), [axis], OWN[name]).select(pl.lit(said).alias(axis), pl.all())
        for name in Runs.TABLES
    }
    return dataclasses.replace(runs, variants=variants, **tables)


def _joined(sweeps: Sequence[Runs]) -> Runs:
    """All runs of sweeps over the same fields; variants that are the same become one."""
    variants: list[Variant] = []
    numbers: dict[tuple[object, ...], int] = {}
    parts: dict[str, list[pl.DataFrame]] = {name: [] for name in Runs.TABLES}
    for runs in sweeps:
        new = []
        for variant in runs.variants:
            key = tuple(variant.labels.values())
            if key not in numbers:
                numbers[key] = len(variants)
                variants.append(variant)
            else:
                _expect_same(variants[numbers[key]], variant)
            new.append(numbers[key])
        for name, tables in parts.items():
            table = getattr(runs, name)
            tables.append(table.with_columns(pl.Series("variant", new, dtype=pl.Int64).gather(table["variant"])))
    table = _once(pl.concat(parts["table"], how="diagonal_relaxed"), ["variant", "seed"], ["hash", "error"])
    flows = pl.concat(parts["flows"], how="diagonal_relaxed").unique(["variant", "seed", "flow"], maintain_order=True)
    links = pl.concat(parts["links"], how="diagonal_relaxed").unique(["variant", "seed", "link"], maintain_order=True)
    versions = {name: said for runs in reversed(sweeps) for name, said in runs.versions.items()}
    units = {name: unit for runs in reversed(sweeps) for name, unit in runs.own_units.items()}
    return Runs(variants=variants, table=table, flows=flows, links=links, versions=versions, own_units=units)


def _expect_same(one: Variant, other: Variant) -> None:
    """Complains where values of the swept fields are the same and the rest of the scenario is not: runs of both would be averaged.

    Raises:
        ArgumentError: with the values.
    """
    mine, theirs = one.scenario, other.scenario
    # What is said in the same words is the same, which takes a tenth of the time.
    if mine is None or theirs is None or mine is theirs or mine.to_json() == theirs.to_json():
        return
    if _outcome(mine) == _outcome(theirs):
        return
    said = ", ".join(f"{name}={value!r}" for name, value in other.labels.items()) or "no swept field"
    raise ArgumentError(f"sweeps: two have different scenarios for {said}; expected {_ALLOWED}")


def _outcome(scenario: Scenario) -> str:
    """What is the same where runs with the same seed are: its own seed is only a default, and names decide nothing."""
    return _core.scenario_hash(scenario.replace(seed=0, name="", description="").to_json())


def _once(table: pl.DataFrame, keys: list[str], outcome: list[str]) -> pl.DataFrame:
    """Each run once.

    Raises:
        ArgumentError: where what should be one run came out in two ways.
    """
    # What only one of them has measured of a run is kept, whichever comes first.
    rest = pl.exclude(*keys, *outcome)
    whole = table.group_by([*keys, *outcome], maintain_order=True).agg(rest.drop_nulls().first())
    table = whole.select(table.columns)
    twice = table.filter(pl.struct(keys).is_duplicated())
    if twice.height:
        raise ArgumentError(f"sweeps: seed {twice['seed'][0]} came out differently in two of them; expected {_ALLOWED}")
    return table
