"""Entering custom parts into the process's register, checked. How they reach other processes is the business of
``shipping.py``."""

from __future__ import annotations

import inspect
import json
import math
import re
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal, TypeAlias

from tailback import _core
from tailback.callers import is_ours
from tailback.calls import checked_call
from tailback.custom.parts import Controller, FeedbackPolicy, QueueDiscipline
from tailback.custom.reports import report_reader
from tailback.custom.settings import complaint, plain
from tailback.custom.slips import misspelt, misspelt_attribute
from tailback.errors import PartError, one_of

Part: TypeAlias = type[Controller] | type[QueueDiscipline]
Key: TypeAlias = tuple[Literal["queue", "scheme"], str]
"""What a scenario names a part by: where it stands, and the name. A queue and a scheme may have the same."""

_BASES: dict[type[Any], tuple[str, ...]] = {
    Controller: ("on_sent", "on_feedback", "on_timer", "next_timer", "directive"),
    FeedbackPolicy: ("on_arrival", "poll_report", "next_timer"),
    QueueDiscipline: ("enqueue", "dequeue", "next_ready", "next_timer", "on_timer"),
}
_REGISTERED: dict[Key, Part] = {}
_SHARED: set[Key] = set()
"""Names that more than one class has had, as where a cell of a notebook has run again."""
_TURNS = threading.RLock()
"""Whoever lets such names mean other classes for a while."""
_CALL = re.compile(r"(\w+)\.(\w+)\(\) (?:got an unexpected keyword argument '(\w+)'|takes|missing)")
"""What PyO3 says of a call with other arguments than there are."""


@checked_call
def register(part: Part) -> Part:
    """Makes a part known to scenarios in this process, under its name; also good as a decorator.

    Raises:
        PartError: where it lacks a method, or one has the wrong parameters, with the line where that is written.
    """
    base = _base_of(part)
    _check_class(part, base)
    name = name_of(part)
    if base is Controller:
        assert issubclass(part, Controller)
        policy, reader = _receiver(part)
        try:
            _core.register_scheme(
                name,
                {"make": _maker(part), "calls": _overridden(part, Controller), "report": reader},
                policy,
                wants(part),
                lambda settings: complaint(part, settings),
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise PartError(f"{part.__name__}.{error}") from None
    else:
        _core.register_queue(
            name, _maker(part), _overridden(part, QueueDiscipline), lambda settings: complaint(part, settings)
        )
    key = key_of(part)
    if _REGISTERED.get(key, part) is not part:
        _SHARED.add(key)
    _REGISTERED[key] = part
    return part


@contextmanager
def in_force(parts: Mapping[Key, Part]) -> Iterator[None]:
    """Lets names mean these classes meanwhile: those that a scenario was made with. Threads that need this take turns."""
    if _SHARED.isdisjoint(parts):
        yield
        return
    with _TURNS:
        others = {key: _REGISTERED[key] for key, part in parts.items() if _REGISTERED[key] is not part}
        for key in others:
            register(parts[key])
        try:
            yield
        finally:
            for part in others.values():
                register(part)


def wants(part: type[Controller]) -> _core.Needs:
    """What a controller wants from its endpoints."""
    return {
        "reliability": part.reliability,
        "ecn": part.ecn,
        "echo": part.echo,
        "marks": part.marks,
        "stamps": part.stamps,
        "acks": part.acks,
        "delivery": part.delivery,
        "lost_retransmissions": part.lost_retransmissions,
        "ack_requests": part.ack_requests,
    }


def _receiver(part: type[Controller]) -> tuple[Any, Any]:
    """The receiver's half as the core takes it, and what makes a report from its numbers."""
    policy = part.policy
    if policy is None or isinstance(policy, _core.ArrivalReports):
        return policy, None
    _check_policy(part, policy)
    report = policy.Report
    half = {"make": _maker(policy), "calls": _overridden(policy, FeedbackPolicy), "report": report}
    return half, report_reader(report) if report is not None else None


def has_parts() -> bool:
    """Whether there is any custom part in this process."""
    return bool(_REGISTERED)


def registered() -> dict[Key, Part]:
    """The parts of this process by what they are called."""
    return dict(_REGISTERED)


def part_of(key: Key) -> Part | None:
    """The part that is called so in this process, if there is one."""
    return _REGISTERED.get(key)


def scheme_of_name(name: str) -> type[Controller] | None:
    """The controller of this name in this process, if there is one."""
    part = part_of(("scheme", name))
    return part if part is not None and issubclass(part, Controller) else None


def key_of(part: Part) -> Key:
    """What scenarios name a part by."""
    return ("scheme" if issubclass(part, Controller) else "queue", name_of(part))


def name_of(part: Part) -> str:
    """What scenarios call a part."""
    return part.name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", part.__name__).lower()


def displaced(part: Part) -> Part | None:
    """The class whose name this one would take over; none where it is this class again, as when a cell of a notebook that
    defines it runs once more."""
    known = part_of(key_of(part)) if isinstance(part.name, str) else None  # Others are refused when it is registered.
    same = known is not None and (known.__module__, known.__qualname__) == (part.__module__, part.__qualname__)
    return None if same else known


def by_plain_name(scheme: Any) -> Any:
    """A custom scheme that is written as others are, by its name or as a table with it, as the table that says so."""
    if isinstance(scheme, PartTable):
        scheme.expect_current()
    is_table = isinstance(scheme, Mapping) and "part" not in scheme
    name = scheme.get("name") if is_table else scheme
    part = scheme_of_name(name) if isinstance(name, str) and name not in _own_schemes() else None
    if part is None:
        return scheme
    return table(part, {key: value for key, value in scheme.items() if key != "name"} if is_table else {})


@cache
def _own_schemes() -> frozenset[str]:
    return frozenset(entry["name"] for entry in json.loads(_core.registry())["schemes"])


def table(part: Part, settings: Mapping[str, bool | float | str]) -> dict[str, Any]:
    """A part with its settings as a scenario writes them.

    Raises:
        PartError: for a setting that the part does not know.
    """
    wrong = complaint(part, settings)
    if wrong:
        raise PartError(f"{part.__name__}: expected {wrong}")
    told = {name: _told(part, name, value) for name, value in settings.items()}
    return PartTable(part, {"name": "custom", "part": name_of(part), **({"settings": told} if told else {})})


class PartTable(dict[str, Any]):
    """A part as a scenario writes it, which remembers the class: the name may mean another by the time it is used."""

    def __init__(self, part: Part, said: Mapping[str, Any]) -> None:
        super().__init__(said)
        self.part = part

    def __reduce__(self) -> tuple[Any, ...]:
        return (dict, (dict(self),))

    def expect_current(self) -> None:
        """Complains where the name means another class by now.

        Raises:
            PartError: there, since a scenario would silently have that class.
        """
        key = key_of(self.part)
        if self.get("part") == key[1] and part_of(key) is not self.part:
            found = f"a table of an earlier class {self.part.__name__}, whose name another class has now,"
            way = f"{self.part.__name__}.{key[0]}() of the class as it is now, or another name in one of them"
            raise PartError(f'{key[1]}: {found} is not allowed; expected {way}, such as name = "{key[1]}-2"')


def _told(part: Part, name: str, value: Any) -> bool | float | str:
    """A setting as a scenario keeps it: NumPy's numbers as Python's.

    Raises:
        PartError: for what a scenario cannot say.
    """
    found = plain(value)
    if not isinstance(found, bool | int | float | str) or (isinstance(found, float) and not math.isfinite(found)):
        allowed = "a finite number, a truth value or a text"
        raise PartError(f"{part.__name__}: settings.{name}: {value!r} is not allowed; expected {allowed}")
    return found


def _maker(part: type[Any]) -> Callable[[Any, dict[str, Any]], Any]:
    def make(about: Any, settings: dict[str, Any]) -> Any:
        return part(about, **settings)

    return make


def _overridden(part: type[Any], base: type[Any]) -> set[str]:
    return {method for method in _BASES[base] if getattr(part, method) is not getattr(base, method)}


def _base_of(part: Any) -> type[Any]:
    for base in (Controller, QueueDiscipline):
        if isinstance(part, type) and issubclass(part, base) and part is not base:
            return base
    raise PartError(f"{part!r}: cannot be registered; expected a subclass of Controller or QueueDiscipline")


def _check_policy(part: type[Controller], policy: Any) -> None:
    if not (isinstance(policy, type) and issubclass(policy, FeedbackPolicy)):
        allowed = "a subclass of FeedbackPolicy, an instance of ArrivalReports, or None"
        raise PartError(f"{part.__name__}.policy: {policy!r} is not allowed; expected {allowed}")
    _check_class(policy, FeedbackPolicy)


def _check_class(part: type[Any], base: type[Any]) -> None:
    missing = sorted(getattr(part, "__abstractmethods__", ()))
    if missing:
        raise PartError(f"{part.__name__} ({_place(part)}): lacks {', '.join(missing)}")
    _check_name(part)
    slip = misspelt(part, base, _BASES[base])
    if slip is not None:
        stray, meant = slip
        said = f"{stray.__name__} is called by nobody"
        raise PartError(f"{part.__name__} ({_place(stray)}): {said}; expected {meant}, or a name less like it")
    attribute = misspelt_attribute(part, base)
    if attribute is not None:
        name, meant = attribute
        raise PartError(f"{part.__name__}.{name}: is read by nobody; expected {meant}, or a name less like it")
    for method in ("__init__", *_BASES[base]):
        mine, wanted = getattr(part, method), getattr(base, method)
        if mine is wanted:
            continue
        given = inspect.signature(wanted).parameters.values()
        names = [one.name for one in given if one.name != "self" and one.kind is not one.VAR_KEYWORD]
        signature = inspect.signature(mine)
        try:
            # Settings of a class's own may have no defaults; whether they are given is known later.
            (signature.bind_partial if method == "__init__" else signature.bind)("self", *names)
        except TypeError:
            found = f"{method}{inspect.signature(mine)}"
            allowed = f"{method}({', '.join(['self', *names])})"
            raise PartError(f"{part.__name__} ({_place(mine)}): {found} is not allowed; expected {allowed}") from None


def _check_name(part: type[Any]) -> None:
    name = getattr(part, "name", "")
    if name and not (isinstance(name, str) and name.isprintable() and name == name.strip()):
        allowed = "a text that can be printed, without spaces around it, or '' for the class's own name"
        raise PartError(f"{part.__name__}.name: {name!r} is not allowed; expected {allowed}")


def _place(thing: Any) -> str:
    try:
        return f"{inspect.getsourcefile(thing)}, line {inspect.getsourcelines(thing)[1]}"
    except (OSError, TypeError):
        return "its source is not at hand"


def explained(error: BaseException) -> str:
    """What a part raised, with the user's own line: the last one in the traceback outside this package."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}: SyntaxError: {error.msg}\n    {(error.text or '').strip()}"
    frames = [
        (line, frame.f_code.co_qualname.rpartition("<locals>.")[2])
        for (frame, _), line in zip(
            traceback.walk_tb(error.__traceback__), traceback.extract_tb(error.__traceback__), strict=True
        )
        if not is_ours(line.filename)
    ]
    head = "; ".join([f"{type(error).__name__}: {error}", *_allowed(error), *getattr(error, "__notes__", ())])
    if not frames:  # The core's own, about an answer: it says where.
        return str(error) if isinstance(error, TypeError | ValueError) else head
    last, name = frames[-1]
    return f"{last.filename}, line {last.lineno}, in {name}: {head}" + (f"\n    {last.line}" if last.line else "")


def _allowed(error: BaseException) -> list[str]:
    """What there is in place of a field, a method or an argument that one of our values does not have."""
    if isinstance(error, AttributeError) and error.name:
        return _fields(error.obj, error.name)
    call = _CALL.match(str(error)) if isinstance(error, TypeError) else None
    method = getattr(getattr(_core, call[1], None), call[2], None) if call else None
    if call is None or method is None:
        return []
    names = [name for name in inspect.signature(method).parameters if name != "self"]
    return [f"expected {one_of(call[3] or '', names) if names else 'no argument'}"]


def _fields(thing: Any, name: str) -> list[str]:
    """The fields and methods of one of our values, or what sets a field that a part lacks."""
    if isinstance(thing, tuple(_BASES)):
        setter = {"connection": "super().__init__(connection)", "link": "super().__init__(link)"}.get(name)
        return [f"expected {setter} in __init__"] if setter else []
    kind = type(thing)
    if getattr(_core, kind.__name__, None) is not kind:
        return []
    return [f"expected {one_of(name, [known for known in dir(kind) if not known.startswith('_')])}"]
