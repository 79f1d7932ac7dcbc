"""Complaints about scenarios, from the typed models and from the core, in one form."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

from tailback import _core
from tailback.errors import Problem, ScenarioError, nearest, one_of

if TYPE_CHECKING:
    from pydantic import ValidationError

_NAMES = re.compile(r"'([^']*)'")
_CLASS = re.compile(r"^\"?the class (\w+) itself")
_BY_FILE = "--custom FILE.py"
"""How the core says that the command line makes a custom part known."""
_METHOD = re.compile(r"^\"?the method ([\w.]+) itself")
_FILE_LOADED = f". A {{}} of your own has its name once its file is loaded: {_BY_FILE}"
"""How it says so where there is none."""
_NO_PART = "which extends neither tb.Controller nor tb.QueueDiscipline"
_BY_CLASS = "tb.register(YourClass)"
_OTHERS = {
    "queue": {
        "fifo": "drop-tail",
        "pfifo": "drop-tail",
        "taildrop": "drop-tail",
        "l4s": "dualpi2",
        "dualq": "dualpi2",
        "drr": "deficit-round-robin",
        "wfq": "weighted-fair-queueing",
        "fq": "fq-codel",
        "tbf": "token-bucket",
    },
    "scheme": {"l4s": "prague"},
}
"""What other tools and papers call queues and schemes of ours."""
_BOUNDS = {"greater_than_equal": ("of at least", "ge"), "less_than_equal": ("of at most", "le")}
"""What pydantic calls a bound, in words, and where it tells the bound."""


def from_core(data: Mapping[str, Any]) -> list[Problem]:
    """What the core complains about: everything, with the nearest names and the units that are meant."""
    return [with_way(Problem(**problem)) for problem in _core.check(json.dumps(_finite(data), default=_said))]


def with_way(problem: Problem) -> Problem:
    """The core's complaint about a part that it does not know, with what to do about it in Python, of which it knows nothing. At
    the command line, its own way is the right one."""
    allowed = problem.allowed
    if found := _CLASS.search(problem.value):
        way = "queue" if problem.field.rpartition(".")[2] == "queue" else "scheme"
        if _NO_PART in problem.value:
            base = "QueueDiscipline" if way == "queue" else "Controller"
            return dataclasses.replace(problem, allowed=f"a class that extends tb.{base}, by its .{way}()")
        return dataclasses.replace(problem, allowed=f"{found[1]}.{way}(), with the class's settings in the brackets")
    if found := _METHOD.search(problem.value):
        return dataclasses.replace(
            problem, allowed=f"what it gives: {found[1]}(), with the class's settings in the brackets"
        )
    kind = "queue" if problem.field.endswith(("queue", "queue.part", "queue.name")) else "scheme"
    way = _BY_FILE if _is_command() else f"YourClass.{kind}() in its place, or {_BY_CLASS} beforehand"
    if allowed.endswith(_BY_FILE):
        listed = allowed.removesuffix(_FILE_LOADED.format(kind))
        allowed = allowed if _is_command() else f"{listed}. A {kind} of your own: {way}"
    elif "registered part" in allowed:
        allowed += f"; {way} registers one"
    elif '"custom", "' in allowed:  # Some are known already.
        allowed += f"; {way} adds one"
    ours = _OTHERS[kind].get(problem.value.strip('"').lower()) if allowed.startswith("one of") else None
    allowed = f'"{ours}", as that is called here; {allowed}' if ours else allowed
    return dataclasses.replace(problem, allowed=allowed)


def _is_command() -> bool:
    """Whether this process is one of the command ``tailback``, of which a user loads classes by files."""
    started = Path(sys.argv[0]) if sys.argv else Path()
    return started.name == "tailback" or started.parts[-2:] == ("tailback", "__main__.py")


def understood(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """A scenario as the core reads it, complete, though it may have no flows yet; nothing where it has complaints."""
    flows = data.get("flows") or [{"scheme": "reno"}]
    try:
        read: dict[str, Any] = json.loads(_core.canonical(json.dumps(_finite({**data, "flows": flows}), default=_said)))
    except ScenarioError:
        return None
    return read if data.get("flows") else {**read, "flows": []}


def _finite(data: Any) -> Any:
    """Numbers that JSON does not have as texts, which the core refuses where a number belongs."""
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return data


def _said(value: object) -> object:
    """What cannot be told in JSON: NumPy's numbers as numbers, classes by their names, the rest as it is printed."""
    if hasattr(value, "__array__") and getattr(value, "ndim", 1) == 0:
        return _finite(value.item())  # type: ignore[attr-defined]  # NumPy's scalars have it.
    if isinstance(value, type):
        return f"the class {value.__name__} itself, {_unlike_a_part(value)}"
    if isinstance(value, MethodType):
        owner = value.__self__ if isinstance(value.__self__, type) else type(value.__self__)
        return f"the method {owner.__name__}.{value.__name__} itself, without ()"
    if hasattr(type(value), "scheme") or hasattr(type(value), "queue"):
        return _said(type(value))
    return str(value)


def _unlike_a_part(value: type) -> str:
    """What a class lacks to be used as a part."""
    if hasattr(value, "scheme") or hasattr(value, "queue"):
        return "without .scheme() or .queue()"
    return _NO_PART


def from_pydantic(error: ValidationError, fields: Sequence[str] = ()) -> list[Problem]:
    """What the typed models complain about: wrong types, missing and unknown fields, unknown names.

    Args:
        error: their own complaint.
        fields: those that there are, where the model itself was made by name.
    """
    found: dict[tuple[str, str], Problem] = {}
    entries = error.errors(include_url=False)
    # Of a quantity that may be switched off.
    words = {_path(entry["loc"]): _NAMES.findall(entry["ctx"]["expected"]) for entry in entries if _is_word(entry)}
    for entry in entries:
        # A choice that may be a bare name or a table complains once for each; which one was meant is clear.
        if _is_word(entry):
            continue
        if entry["type"] in {"model_type", "dict_type", "model_attributes_type"} and isinstance(entry["input"], str):
            continue
        problem = _problem(entry)
        if entry["type"] == "quantity" and problem.field in words:
            listed = ", or ".join([problem.allowed, *(f'"{word}"' for word in words[problem.field])])
            problem = dataclasses.replace(problem, allowed=listed)
        if entry["type"] == "extra_forbidden" and len(entry["loc"]) == 1 and fields:
            near = nearest(problem.field, fields)
            hint = f"`{near}` (the nearest name); " if near else "a known one; "
            listed = f"{hint}the fields here are {', '.join(fields)}"
            problem = Problem(problem.field, f"the unknown field `{problem.field}`", listed)
        found.setdefault((problem.field, problem.allowed), problem)
    return list(found.values()) or [Problem("scenario", "what is given", str(error))]


def _is_word(entry: Any) -> bool:
    """Whether a complaint is that something is none of some words, of what is no text at all."""
    return entry["type"] == "literal_error" and not isinstance(entry["input"], str)


_ALWAYS: Final[Mapping[str, tuple[str, str]]] = {
    "missing": ("", "a value, since there is no default"),
    "extra_forbidden": ("an unknown field", "a field of this table"),
}


def _problem(entry: Any) -> Problem:
    field, value = _path(entry["loc"]), entry["input"]
    context = entry.get("ctx", {})
    if entry["type"] in _ALWAYS:
        return Problem(field, *_ALWAYS[entry["type"]])
    if entry["type"] == "literal_error":
        return Problem(field, f'"{value}"', one_of(value, _NAMES.findall(context["expected"])))
    if entry["type"] == "union_tag_invalid":
        known = _NAMES.findall(context["expected_tags"])
        return Problem(field, f'"{context["tag"]}"', one_of(str(context["tag"]), known))
    if entry["type"] in {"quantity", "kind"}:
        return Problem(field, repr(value), str(context["allowed"]))
    if entry["type"] in _BOUNDS:
        words, bound = _BOUNDS[entry["type"]]
        return Problem(field, repr(value), f"a number {words} {context[bound]}")
    message = entry["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return Problem(field, repr(value), message)


def _path(location: tuple[int | str, ...]) -> str:
    """``("flows", 0, "scheme")`` as ``flows[0].scheme``, without pydantic's remarks on unions."""
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        elif re.fullmatch(r"[a-z_]+", step):
            path += f".{step}" if path else step
    return path or "scenario"
