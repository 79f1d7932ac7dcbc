"""Which runs a sweep makes: the variants of a scenario and the seeds. Nothing is run here."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from tailback import _core
from tailback.errors import Problem, ScenarioError
from tailback.scenario import Flow, Scenario
from tailback.scenario._base import plain

if TYPE_CHECKING:
    from tailback.progress import Bar

Seeds: TypeAlias = int | Iterable[int]
"""How many seeds, counted from the scenario's own, or which."""


@dataclass(frozen=True)
class Variant:
    """One scenario of a sweep."""

    labels: Mapping[str, str | float | int | bool]
    """What tells it from the others, by axis: the values of the swept fields, for a reader."""
    scenario: Scenario | None
    """The scenario; ``None`` where these values make none."""
    error: str = ""
    """Why they make none."""
    digest: str = field(default="", repr=False, compare=False)
    """The hash of the scenario where it is known: to make it takes longer than the rest of what a sweep does for a variant."""


def grid(
    base: Scenario,
    axes: Mapping[str, Any],
    points: Sequence[Mapping[str, Any]] | None = None,
    in_place_of: str | None = None,
    bar: Bar | None = None,
) -> list[Variant]:
    """Every combination of the axes' values, the last axis changing fastest.

    Args:
        base: the scenario to vary.
        axes: values by field, named as in :meth:`Scenario.replace`. A list is an axis; a single value holds for all.
            The field ``flows`` takes groups of flows: ``flows=[[tb.flows(2, "reno")], [tb.flows(2, "cubic")]]``.
        points: combinations of fields that change together, crossed with the axes.
        in_place_of: the name of the scheme that values of ``scheme`` replace; flows of other schemes keep theirs. All flows
            by default.
        bar: is told of each combination.

    Raises:
        ScenarioError: where an axis is empty, a scheme or another name is unknown, two combinations make the same scenario,
            or not one makes any. A combination among others that makes none is kept with its error.
    """
    lists = {name: _listed(name, values) for name, values in axes.items()}
    points = _points(points, lists)
    combined = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
    chosen = [{**point, **fields} for point in (points or [{}]) for fields in combined]
    varying = {name for name, values in lists.items() if len(values) > 1 or many(axes[name])}
    varying |= {name for point in points for name in point}
    if "seed" in varying:  # All variants have the same seeds: they are told by run and not by variant.
        raise ScenarioError(
            [Problem("seed", "a swept field", "seeds=[1, 2, 3], or --seeds; all variants have the same")], "sweep"
        )
    variants, first = [], None
    unknown: dict[str, Problem] = {}
    if bar is not None:
        bar.expect(len(chosen))
    for fields in chosen:
        labels = {name: label(value) for name, value in fields.items() if name in varying}
        try:
            scenario = made(base, fields, in_place_of)
            variants.append(Variant(labels, scenario, digest=_core.scenario_hash(scenario.to_json())))
        except ScenarioError as error:
            first = first or error
            unknown |= {str(problem): problem for problem in error.problems if _is_unknown_name(problem)}
            variants.append(Variant(labels, None, str(error)))
        if bar is not None:
            bar.advance()
    if unknown:
        raise ScenarioError(list(unknown.values()), "sweep")
    if first is not None and all(variant.scenario is None for variant in variants):
        raise first
    _check_different(chosen, variants)
    return variants


def _check_different(chosen: Sequence[Mapping[str, Any]], variants: Sequence[Variant]) -> None:
    """Refuses what would count the same runs twice, which makes intervals too narrow: values that mean the same, also where
    they are written otherwise, and values that nothing tells apart in the tables.

    Raises:
        ScenarioError: with the field, and both of its values.
    """
    made: dict[str, int] = {}
    called: dict[str, int] = {}
    for place, variant in enumerate(variants):
        if variant.scenario is None:
            continue
        before = made.setdefault(variant.digest, place)
        if before != place:
            allowed = "values that differ; these are the same scenario, whose runs would count twice"
            raise _alike(chosen[before], chosen[place], variant, allowed)
        before = called.setdefault(repr(variant.labels), place)
        if before != place:
            allowed = "values that tables can tell apart; groups of flows can have names, tb.flows(2, name='early')"
            raise _alike(chosen[before], chosen[place], variant, allowed)


def _alike(one: Mapping[str, Any], other: Mapping[str, Any], variant: Variant, allowed: str) -> ScenarioError:
    """The complaint about two combinations: the fields that are written otherwise, or else all that were to vary."""
    fields = [name for name in variant.labels if one.get(name) != other.get(name)] or list(variant.labels)
    said = [Problem(name, f"{_written(one.get(name))} beside {_written(other.get(name))}", allowed) for name in fields]
    return ScenarioError(said, "sweep")


def _written(value: Any) -> str:
    said = label(plain(value))
    return repr(said) if isinstance(said, str) else str(said)


def _is_unknown_name(problem: Problem) -> bool:
    """Whether a name is none of those that there are, or a class stands in its place without what makes a table of it: a slip,
    which no other run makes good."""
    return problem.value.startswith(('"the class ', '"the method ')) or (
        problem.value.startswith('"') and 'one of "' in problem.allowed
    )


def label(value: Any) -> str | float | int | bool:
    """A swept value for a table or an axis of a figure: texts and numbers as they are, tables and flows in short."""
    if isinstance(value, bool | int | float | str):
        return value
    if value is None:
        return "none"
    if isinstance(value, Flow):
        return f"{value.count} {value.name}"
    if isinstance(value, list | tuple):
        return " + ".join(str(label(entry)) for entry in value)
    data = plain(value)
    if isinstance(data, Mapping):
        said = ", ".join(f"{key} {label(entry)}" for key, entry in data.items() if key != "name")
        if data.get("name") == "custom":  # A custom part: its name and settings say all.
            data = {"name": data.get("part", ""), **data.get("settings", {})}
            said = ", ".join(f"{key} {label(entry)}" for key, entry in data.items() if key != "name")
        name = str(data.get("name", ""))
        return f"{name} ({said})" if name and said else name or said
    return str(value)


def _points(points: Any, axes: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The points that were given, checked."""
    if points is None:
        return ()
    if not many(points) or not all(isinstance(point, Mapping) for point in points) or not points:
        allowed = "a list of tables of fields that change together, as in [{'rate': '2 Mbit/s', 'delay': '5 ms'}]"
        raise ScenarioError([Problem("points", repr(points), allowed)], "sweep")
    both = sorted({name for point in points for name in point} & set(axes))
    if both:
        raise ScenarioError(
            [Problem(name, "a field of points", "an axis or a part of points, not both") for name in both]
        )
    found: Sequence[Mapping[str, Any]] = points
    return found


def many(values: Any) -> bool:
    """Whether values are those of an axis: a list, a range, an array or a column of a data frame."""
    return isinstance(values, list | tuple | range) or (hasattr(values, "__array__") and getattr(values, "ndim", 1) > 0)


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, Iterator | set | frozenset):
        allowed = "a list; sets have no order, and what yields its values once cannot be looked at twice"
        raise ScenarioError([Problem(name, f"a {type(values).__name__}", allowed)], "sweep")
    listed = [plain_number(value) for value in values] if many(values) else [values]
    if name == "flows" and all(isinstance(entry, Flow) for entry in listed):
        listed = [listed]  # The groups of one scenario, not an axis.
    if not listed:
        raise ScenarioError([Problem(name, "[]", "at least one value")])
    return listed


def plain_number(value: Any) -> Any:
    """NumPy's numbers as Python's, which is what scenarios are made of."""
    return value.item() if hasattr(value, "__array__") and getattr(value, "ndim", 1) == 0 else value


def made(base: Scenario, fields: Mapping[str, Any], in_place_of: str | None = None) -> Scenario:
    """The scenario with these values; ``in_place_of`` as in :func:`grid`.

    Raises:
        ScenarioError: where they make no sense, or no flow has the scheme ``in_place_of``.
    """
    others = dict(fields)
    if "flows" in others:
        groups = others.pop("flows")
        base = base.with_flows(*([groups] if isinstance(groups, Flow) else groups))
    if in_place_of is not None:
        if "scheme" not in others:
            allowed = 'it beside values of scheme, as in scheme=["nada", "gcc"]: these are what takes the place'
            raise ScenarioError([Problem("in_place_of", repr(in_place_of), allowed)], "sweep")
        scheme = others.pop("scheme")
        others |= {f"flows[{place}].scheme": scheme for place in _places(base, in_place_of)}
    return base.replace(**others)


def _places(base: Scenario, scheme: str) -> list[int]:
    """Which groups of flows have a scheme of this name."""
    names = [_name(flow["scheme"]) for flow in base.to_dict().get("flows", ())]
    if scheme not in names:
        there = ", ".join(dict.fromkeys(names)) or "none"
        raise ScenarioError(
            [Problem("in_place_of", repr(scheme), f"a scheme that a flow has: {there}")], base.name or "sweep"
        )
    return [place for place, name in enumerate(names) if name == scheme]


def _name(scheme: str | Mapping[str, Any]) -> str:
    return scheme if isinstance(scheme, str) else str(scheme.get("part") or scheme["name"])
