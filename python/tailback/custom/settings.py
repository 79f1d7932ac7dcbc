"""Whether settings fit what a custom part's ``__init__`` says of them: their names, and the types of those that are annotated.
Entering parts is the business of ``registry.py``."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Mapping
from typing import Any

from tailback.errors import one_of
from tailback.units import meant_by_percentage

_KINDS = {float: "a number", int: "a whole number", bool: "True or False", str: "a text"}


def complaint(part: type[Any], settings: Mapping[str, Any]) -> str:
    """What is allowed instead of these settings; empty where they will do."""
    known = inspect.signature(part.__init__).parameters
    names = list(known)[2:]
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known.values()):
        for setting in settings:
            if setting not in names:
                if not names:
                    return f"no settings, because {part.__name__}.__init__ takes none; not settings.{setting}"
                return f"settings that {part.__name__} knows, not settings.{setting}: {one_of(setting, names)}"
        for name in names:
            if known[name].default is inspect.Parameter.empty and name not in settings:
                return f"settings.{name}, which {part.__name__} has no default for"
    return _of_wrong_type(part, settings)


def plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    return value.item() if hasattr(value, "__array__") and getattr(value, "ndim", 1) == 0 else value


def _of_wrong_type(part: type[Any], settings: Mapping[str, Any]) -> str:
    try:
        hints = typing.get_type_hints(part.__init__)
    except Exception:  # Whatever stands there is no annotation of ours; settings then say nothing of their types.
        return ""
    for name, value in settings.items():
        wanted = _plain_types(hints.get(name))
        if not isinstance(plain(value), bool | int | float | str):
            continue  # What no scenario can say is told by who writes the scenario.
        if wanted and not any(_fits(plain(value), kind) for kind in wanted):
            kinds = " or ".join(_KINDS[kind] for kind in wanted)
            hint = meant_by_percentage(value) if float in wanted else ""
            return f"{kinds} for settings.{name} of {part.__name__}, not {value!r}{hint}"
    return ""


def _plain_types(hint: Any) -> list[type]:
    """The plain types that an annotation allows; none where it says something else besides."""
    union = typing.get_origin(hint) in {typing.Union, types.UnionType}
    parts = [each for each in (typing.get_args(hint) if union else [hint]) if each is not type(None)]
    return parts if all(isinstance(each, type) and each in _KINDS for each in parts) else []


def _fits(value: Any, kind: type) -> bool:
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is int:  # Scenarios keep all numbers as those with a point.
        return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value) and value.is_integer())
    return isinstance(value, int | float) if kind is float else isinstance(value, str)
