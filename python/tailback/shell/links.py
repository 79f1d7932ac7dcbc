"""From the options of ``tailback shell`` to a scenario of one link between two hosts. Whether it makes sense is checked by the
core."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, ParamSpec, TypeVar

from tailback.errors import Problem, ScenarioError
from tailback.scenario.data import complete
from tailback.scenario.texts import from_text

P = ParamSpec("P")
R = TypeVar("R")
INSIDE: Final = "inside"
OUTSIDE: Final = "outside"
_PLACE: Final = re.compile(r"topology\.links\[0\](\.reverse)?(?:\.(.*))?")
_OPTIONS: Final = ("rate", "delay", "buffer", "queue", "loss", "trace", "schedule")
"""Fields of the link that have an option of their own; others come from ``--up`` and ``--down``."""
_DOWN: Final = " (down)"
_ANY_RATE: Final = "1 Gbit/s"
_WITHOUT_DELAY: Final = "100 packets"
"""The buffer of a link without a delay, which has no bandwidth-delay product."""


@dataclass(frozen=True)
class Link:
    """What the command line says of the link, as it was written; the two directions are alike except for ``up`` and ``down``."""

    rate: str | None = None
    delay: str = "0 ms"
    buffer: str | None = None
    queue: str = "drop-tail"
    loss: str | None = None
    trace: str | None = None
    schedule: str | None = None
    up: Sequence[str] = ()
    down: Sequence[str] = ()
    seed: int = 1
    record: Mapping[str, Any] = field(default_factory=dict)


def scenario_of(link: Link) -> str:
    """The scenario as JSON, complete: two hosts, the link in both directions, and flows in place of whatever programs will send.

    Raises:
        ScenarioError: everything that is wrong with the options, by their names.
    """
    told: list[Problem] = []
    both = {
        "rate": link.rate,
        "delay": link.delay,
        "buffer": link.buffer,
        "queue": from_text(link.queue),
        "loss": _loss(link.loss),
        "trace": _trace(link.trace) if link.trace else None,
        "schedule": _gathered(told, _schedule, link.schedule) if link.schedule else None,
    }
    common = {name: value for name, value in both.items() if value is not None}
    up, down = (
        common | (_gathered(told, _fields, texts, option) or {})
        for texts, option in ((link.up, "--up"), (link.down, "--down"))
    )
    if link.rate is not None and link.trace:
        told.append(
            Problem("--rate", repr(link.rate), "a rate or a --trace, not both: a trace says when the link delivers")
        )
    if any("rate" not in each and "trace" not in each for each in (up, down)):
        told.append(Problem("--rate", "", "the link's rate, for example '20 Mbit/s', or a --trace of deliveries"))
        # So that the others are told too.
        up, down = (each if "trace" in each else {"rate": _ANY_RATE, **each} for each in (up, down))
    if link.buffer is None:
        without = all(_is_nothing(each.get("delay")) for each in (up, down))
        for each in (up, down):
            each.setdefault("buffer", _WITHOUT_DELAY if without else "1 BDP")
    data = {
        "name": f"tailback shell, {link.rate or 'a trace'}, {link.delay}",
        "description": "What programs did behind an emulated link. Their flows stand here as endless transfers.",
        "duration": "24 h",
        "seed": link.seed,
        "topology": {"template": "graph", "links": [{"from": INSIDE, "to": OUTSIDE, **up, "reverse": down}]},
        # Programs may speak ECN, so queues may mark, both ways.
        "flows": [_flow("programs", INSIDE, OUTSIDE), _flow("answers", OUTSIDE, INSIDE)],
        "record": {"links": "all", **link.record},
    }
    try:
        made = complete(data)
    except ScenarioError as error:
        raise ScenarioError([*told, *_once(error.problems)], "tailback shell") from None
    if told:
        raise ScenarioError(told, "tailback shell")
    return made


def _gathered(told: list[Problem], read: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
    """What an option says; nothing where it says nothing that can be read, which is told with everything else."""
    try:
        return read(*args, **kwargs)
    except ScenarioError as error:
        told += error.problems
        return None


def _flow(name: str, start: str, end: str) -> dict[str, Any]:
    return {"name": name, "from": start, "to": end, "scheme": "cubic", "transport": {"ecn": "ect0"}}


def _is_nothing(delay: object) -> bool:
    return isinstance(delay, str) and re.match(r"\s*0*\.?0*\s*[a-z]", delay) is not None


def _loss(written: str | None) -> Any:
    """A probability, or a loss model by name or as a table."""
    if written is None:
        return None
    value = from_text(written)
    return {"name": "independent", "probability": value} if isinstance(value, int | float) else value


def _trace(file: str) -> Any:
    return {"file": file}


def _schedule(written: str) -> Any:
    """Steps as scenario files have them, or ``10 s: 5 Mbit/s, 20 s: 20 Mbit/s``."""
    value = from_text(written)
    if not isinstance(value, str):
        return value
    steps = []
    for part in written.split(","):
        at, colon, rate = part.partition(":")
        if not colon:
            allowed = "steps such as '10 s: 5 Mbit/s, 20 s: 20 Mbit/s'"
            raise ScenarioError([Problem("--schedule", repr(part.strip()), allowed)], "tailback shell")
        steps.append({"at": at.strip(), "rate": rate.strip()})
    return steps


def _fields(texts: Sequence[str], option: str) -> dict[str, Any]:
    """Fields of one direction, each as FIELD=VALUE."""
    found: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign:
            allowed = "FIELD=VALUE, as in rate='5 Mbit/s'"
            raise ScenarioError([Problem(option, repr(text), allowed)], "tailback shell")
        name, value = name.strip(), value.strip()
        if name in found:
            raise ScenarioError([Problem(f"{option} {name}", "a second value", "one value")], "tailback shell")
        made: Callable[[str], Any] = _SHORT.get(name, from_text)
        found[name] = made(value)
    return found


def _chance(written: str) -> Any:
    """A probability alone, or a table."""
    value = from_text(written)
    return {"probability": value} if isinstance(value, int | float) else value


_SHORT: Final[Mapping[str, Callable[[str], Any]]] = {
    "loss": _loss,
    "schedule": _schedule,
    "trace": _trace,
    "duplication": _chance,
    "corruption": _chance,
}
"""Fields that may be written shorter than in scenarios."""


def _once(problems: Sequence[Problem]) -> list[Problem]:
    """The complaints by their options; once what both directions have from one option."""
    named = [_by_option(problem) for problem in problems]
    said = {(problem.field, problem.value, problem.allowed) for problem in named}
    return [
        problem
        for problem in named
        if (problem.field.removesuffix(_DOWN), problem.value, problem.allowed) not in said
        or not problem.field.endswith(_DOWN)
    ]


def _by_option(problem: Problem) -> Problem:
    """A complaint that names the option which the scenario's field came from."""
    match = _PLACE.fullmatch(problem.field)
    if match is None:
        return problem
    option = f"--{match[2]}" if match[2] else "the link"
    if match[2] and re.split(r"[.\[]", match[2])[0] not in _OPTIONS:
        return Problem(f"{'--down' if match[1] else '--up'} {match[2]}", problem.value, problem.allowed)
    return Problem(f"{option}{_DOWN}" if match[1] else option, problem.value, problem.allowed)
