"""Short ways to common scenarios: a dumbbell, a parking lot, a star, a home, any graph, and groups of flows."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tailback.custom.registry import by_plain_name
from tailback.errors import Problem, ScenarioError, nearest
from tailback.scenario import _models
from tailback.scenario._base import plain
from tailback.scenario.arguments import by_name
from tailback.scenario.problems import from_core, from_pydantic, understood
from tailback.scenario.scenario import Scenario

_OTHER_NAMES = {
    "bandwidth": "`rate`",
    "bw": "`rate`",
    "capacity": "`rate`",
    "download": "`rate`",
    "down": "`rate`",
    "up": "`upload` of tb.home, or `reverse`",
    "rtt": "`delay`, which is one way over the bottleneck",
    "latency": "`delay`",
    "qdisc": "`queue`",
    "aqm": "`queue`",
    "time": "`duration`",
    "warmup": "`warm_up`",
}
"""What other tools and papers call arguments of ours."""
_RUN = ("name", "description", "warm_up", "seed", "record", "flows", "aggregates")


@by_name('tb.dumbbell(rate="10 Mbit/s", delay="20 ms")')
def dumbbell(
    *,
    delay: str = "20 ms",
    rate: str | None = None,
    buffer: str = "1 BDP",
    duration: str = "60 s",
    queue: _models.QueueOrName | str | Mapping[str, Any] = "drop-tail",
    **fields: Any,
) -> Scenario:
    """Hosts on both sides of one bottleneck.

    Args:
        delay: one way over the bottleneck, ``"20 ms"`` where it is left out, as in files; access links add theirs.
        rate: of the bottleneck, ``"32 Mbit/s"``; not where a ``trace`` says when it delivers.
        buffer: waiting room at the bottleneck, ``"50 packets"``, ``"64 kB"`` or ``"1 BDP"``.
        duration: of the run, in simulated time.
        queue: discipline at the bottleneck.
        fields: further fields of the scenario (``seed``, ``warm_up``, ``record``, ``name``, ``flows``) or of the
            dumbbell (``access``, ``loss``, ``reverse``, …).

    Raises:
        ScenarioError: everything that is not allowed, at once.
    """
    traced = fields.get("trace") is not None
    if traced == (rate is not None):
        allowed = "a rate or a `trace`, not both" if traced else "a rate, or a `trace` in its place"
        others = [_by_other_name(name) for name in fields if name in _OTHER_NAMES]
        told = {"delay": delay, "buffer": buffer, "queue": queue, **fields}
        try:
            _scenario("dumbbell", duration, {key: value for key, value in told.items() if key not in _OTHER_NAMES})
        except ScenarioError as error:
            others += error.problems
        raise ScenarioError([Problem("rate", repr(rate) if traced else "", allowed), *others], "dumbbell")
    link = {"delay": delay, "buffer": buffer, "queue": queue, **({} if traced else {"rate": rate})}
    return _scenario("dumbbell", duration, {**link, **fields})


@by_name('tb.parking_lot(hops=3, rate="10 Mbit/s")')
def parking_lot(
    *, hops: int, rate: str, delay: str = "20 ms", buffer: str = "1 BDP", duration: str = "60 s", **fields: Any
) -> Scenario:
    """A chain of ``hops`` links between the routers ``r0``, ``r1``, …, each of this rate, delay and buffer.

    Flows say by ``from_`` and ``to`` which part of it they use. Else as :func:`dumbbell`.
    """
    link = {"hops": hops, "rate": rate, "delay": delay, "buffer": buffer}
    return _scenario("parking-lot", duration, {**link, **fields})


@by_name('tb.star(hosts=4, rate="10 Mbit/s")')
def star(
    *, hosts: int, rate: str, delay: str = "20 ms", buffer: str = "1 BDP", duration: str = "60 s", **fields: Any
) -> Scenario:
    """Hosts ``h0``, ``h1``, … around a hub, each on a link of its own. Else as :func:`dumbbell`."""
    return _scenario("star", duration, {"hosts": hosts, "rate": rate, "delay": delay, "buffer": buffer, **fields})


@by_name('tb.home(rate="100 Mbit/s", upload="20 Mbit/s")')
def home(
    *,
    rate: str | None = "100 Mbit/s",
    upload: str | None = "20 Mbit/s",
    delay: str = "5 ms",
    buffer: str = "1 BDP",
    duration: str = "60 s",
    queue: _models.QueueOrName | str | Mapping[str, Any] = "drop-tail",
    **fields: Any,
) -> Scenario:
    """A home behind an access line from ``isp`` to ``home``, with servers at several distances and devices.

    Flows run from a server to a device of their own; one with ``from_="home", to="isp"`` uploads. Else as
    :func:`dumbbell`.

    Args:
        rate: of the download; ``None`` where a ``trace`` says when it delivers.
        upload: its counterpart; ``None`` where ``reverse`` says all.
        delay: one way over the access line.
        buffer: waiting room at each end of the line.
        duration: of the run, in simulated time.
        queue: discipline at both ends of the line, unless ``reverse`` names another for the upload.
        fields: further fields of the scenario or of the template (``servers``, ``lan``, ``devices``, ``reverse``,
            ``schedule``, ``trace``, …).

    Raises:
        ScenarioError: everything that is not allowed, at once.
    """
    back = plain(fields.pop("reverse", None) or {})
    rates = {"rate": rate} if rate is not None else {}
    reverse = {**({"rate": upload} if upload is not None else {}), **back}
    line = {"delay": delay, "buffer": buffer, "queue": queue, **rates, **({"reverse": reverse} if reverse else {})}
    return _scenario("home", duration, {**line, **fields})


def graph(*links: _models.GraphLink | Mapping[str, Any], duration: str = "60 s", **fields: Any) -> Scenario:
    """Any nodes and links; nodes are the ends of the links."""
    return _scenario("graph", duration, {**fields, "links": [*links, *fields.get("links", ())]})


@by_name('tb.flows(2, "cubic")')
def flows(
    count: int,
    scheme: _models.SchemeOrName | str | Mapping[str, Any],
    source: _models.SourceOrName | str | Mapping[str, Any] = "bulk",
    **fields: Any,
) -> _models.Flow:
    """A group of flows that are alike.

    Args:
        count: how many.
        scheme: congestion control, by name or with parameters: ``"cubic"``, ``{"name": "cubic", "beta": 0.5}``.
        source: application, likewise; an endless transfer by default.
        fields: further fields: ``name`` (the scheme's by default), ``start``, ``stop``, ``from_``, ``to``, …

    Raises:
        ScenarioError: everything that is not allowed, at once.
    """
    if isinstance(count, bool | str):  # Types of Python's that pass for numbers where a model is made.
        meant = f" (did you mean tb.flows({scheme}, {count!r})?)" if isinstance(scheme, int) else ""
        raise ScenarioError([Problem("count", repr(count), f"a whole number from 1 up to 1000000{meant}")], "flows")
    scheme = by_plain_name(scheme)
    named = getattr(scheme, "name", scheme)
    if isinstance(scheme, Mapping):
        named = scheme.get("part") or scheme.get("name")
    # Paths of files are texts, as in traces of links.
    source = plain(source) if isinstance(source, Mapping) else source
    data = {"name": str(named), "count": count, "scheme": scheme, "source": source, **fields}
    try:
        return _models.Flow.model_validate(data)
    except ValidationError as error:
        # The core knows every name and unit; any network will do to ask it about one group.
        probe = {"duration": "1 h", "topology": {"template": "dumbbell"}, "flows": [_said(plain(data))]}
        found = [problem for problem in from_core(probe) if problem.field.startswith("flows[0].")]
        short = [dataclasses.replace(problem, field=problem.field.removeprefix("flows[0].")) for problem in found]
        raise ScenarioError(short or from_pydantic(error), "flows") from None


def _scenario(template: str, duration: str, fields: Mapping[str, Any]) -> Scenario:
    own = {key: value for key, value in fields.items() if key in _RUN}
    topology = {key: value for key, value in fields.items() if key not in _RUN}
    data = {"duration": duration, "flows": [], **own, "topology": {"template": template, **topology}}
    # Flows may still come: their absence is no complaint yet.
    found = [problem for problem in from_core(_said(plain(data))) if own.get("flows") or problem.field != "flows"]
    if found:
        raise ScenarioError([_with_arguments(problem, template) for problem in found], template)
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        # What the types do not know, the core does: custom parts by their plain names.
        complete = understood(_said(plain(data)))
        if complete is None:
            raise ScenarioError(from_pydantic(error), template) from None
        return Scenario.of_complete(complete)


def _by_other_name(name: str) -> Problem:
    """The complaint about an argument that others call otherwise than we."""
    return Problem(name, "an unknown argument", _OTHER_NAMES[name])


def _said(data: Any) -> dict[str, Any]:
    """Fields under the names that files have: ``from`` for ``from_``."""
    return {key.removesuffix("_"): value for key, value in data.items()}


def _with_arguments(problem: Problem, template: str) -> Problem:
    """The complaint about an unknown field of the topology, with the argument of ours that is most like it: fields of the
    scenario, and what we call otherwise, are none of the topology's."""
    if problem.field == "flows" and problem.value != "an empty list":
        return dataclasses.replace(problem, allowed='a list of groups of flows, as in flows=[tb.flows(2, "cubic")]')
    name = problem.field.removeprefix("topology.")
    if problem.value != f"the unknown field `{name}`" or "(the nearest name)" in problem.allowed:
        return problem
    if name in _OTHER_NAMES:
        return dataclasses.replace(problem, allowed=_by_other_name(name).allowed)
    near = nearest(name, ("duration", *_RUN, *(("upload",) if template == "home" else ())))
    return dataclasses.replace(problem, allowed=f"`{near}` (the nearest argument)") if near else problem
