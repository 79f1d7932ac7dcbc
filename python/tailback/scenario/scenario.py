"""A scenario as an object: made from parts or files, varied, checked and run. The parts are in ``_models.py``, short
ways to make common ones in ``build.py``."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr, ValidationError

from tailback.calls import checked_methods
from tailback.custom import shipping
from tailback.custom.registry import Key, Part, has_parts, in_force, part_of
from tailback.errors import Problem, ScenarioError
from tailback.results.files import path_of, write_file
from tailback.scenario import _models
from tailback.scenario._base import plain
from tailback.scenario.fields import with_fields
from tailback.scenario.file import read
from tailback.scenario.problems import from_core, from_pydantic, understood
from tailback.scenario.toml import ORDER, dumps
from tailback.scenario.unrun import grouped, of_result

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.results.predicted import Fairness, Prediction
    from tailback.sweeps import Runs

_ONE = (_models.Flow, str, Mapping)
"""What may be one group of flows, or was meant to be, though Python can go through its parts."""


@checked_methods
class Scenario(_models.Scenario):
    """A network, the flows on it, what to record, for how long, with which seed.

    Scenarios do not change: :meth:`replace` and :meth:`with_flows` give new ones. So does what their custom parts are: a
    scenario keeps the classes that it was made with, though others take over their names.
    """

    _parts: dict[Key, Part] = PrivateAttr(default_factory=dict)
    """The classes that its custom parts were made with, as far as they were registered then."""

    def model_post_init(self, context: Any, /) -> None:
        """Keeps the classes that its names mean now."""
        super().model_post_init(context)
        self.__dict__["flows"] = grouped(self.flows)
        if has_parts():
            found = {key: part_of(key) for key in shipping.keys_in(self.to_dict())}
            self._parts = {key: part for key, part in found.items() if part is not None}

    def __getstate__(self) -> dict[Any, Any]:
        """Without the classes, which another process has by their names."""
        return {**super().__getstate__(), "__pydantic_private__": {"_parts": {}}}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        """As it was, with the classes that its names mean here."""
        super().__setstate__(state)
        self.model_post_init(None)

    def parts_named(self) -> dict[Key, Part | None]:
        """The custom parts that it names, each with the class that it was made with; ``None`` where that is not known."""
        return {key: self._parts.get(key) for key in shipping.keys_in(self.to_dict())}

    def as_made(self) -> AbstractContextManager[None]:
        """Lets names mean the classes that it was made with meanwhile."""
        return in_force(self._parts)

    def _but_for(self, given: Any) -> AbstractContextManager[None]:
        """The same, except for names that are given anew, which mean what they mean now."""
        anew = set(_names_in(plain(given)))
        return in_force({key: part for key, part in self._parts.items() if key[1] not in anew})

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, however they say it: a default that is written out, 100 ms or 0.1 s."""
        if not isinstance(other, Scenario):
            return NotImplemented
        if self._parts != other._parts:
            return False
        if super().__eq__(other):
            return True
        mine = understood(self.to_dict())
        return mine is not None and mine == understood(other.to_dict())

    __hash__ = None  # type: ignore[assignment]  # Equal ones may differ field by field, and lists have none.

    if not TYPE_CHECKING:  # A checker of types is to tell names that there are none of.

        def __getattr__(self, name: str) -> Any:
            """Says of a field of the topology or of what is recorded where it is, and of what only a result has.

            Raises:
                AttributeError: always, but for what the models look for themselves.
            """
            if not name.startswith("_"):
                places = [
                    f".{part}.{name}"
                    for part in ("topology", "record")
                    if name in type(vars(self).get(part)).__dict__.get("__pydantic_fields__", ())
                ]
                if expected := ", or ".join(place for place in (*places, of_result(name)) if place):
                    message = f"'Scenario' object has no attribute {name!r}; expected {expected}"
                    raise AttributeError(message, name=name, obj=self)
            return super().__getattr__(name)

    def __str__(self) -> str:
        """As in a file."""
        return self.to_toml()

    def _repr_html_(self) -> str:
        """What a notebook shows: the scenario as in a file."""
        return f"<pre>{html.escape(self.to_toml())}</pre>"

    @classmethod
    def of(cls, data: Mapping[str, Any], source: str = "scenario", *, unfinished: bool = False) -> Scenario:
        """A scenario from plain data, as in JSON; one that is ``unfinished`` may lack flows.

        Raises:
            ScenarioError: everything that is wrong with it.
        """
        if not isinstance(data, Mapping):
            allowed = "a table of fields, as in JSON; Scenario.from_toml reads a file"
            raise ScenarioError([Problem("data", repr(data), allowed)], source)
        try:
            made = cls.model_validate(dict(data))
        except ValidationError as error:
            # The core's complaints name the nearest field and the unit that is meant; ours are the spare.
            problems = from_core(data)
            unfit = [each for each in problems if not unfinished or each.field != "flows"]
            complete = None if unfit else understood(data)
            if complete is None:
                raise ScenarioError(unfit or problems or from_pydantic(error), source) from None
            # What the types do not know, the core does: custom parts by their plain names.
            return cls.of_complete(complete)
        problems = [each for each in made.problems() if made.flows or not unfinished or each.field != "flows"]
        if problems:
            raise ScenarioError(problems, source)
        return made

    @classmethod
    def from_toml(cls, path: str | Path) -> Scenario:
        """A scenario from a TOML file; paths of traces in it are relative to the file.

        Raises:
            ScenarioError: everything that is wrong with it.
            StorageError: where the file cannot be read.
        """
        return cls.of_complete(json.loads(read(path)))

    @classmethod
    def of_complete(cls, data: Mapping[str, Any]) -> Scenario:
        """A scenario from checked data with all defaults written out, as results carry it; says only what differs
        from the defaults."""
        complete = cls.model_validate(dict(data))
        return cls.model_validate(complete.model_dump(mode="json", exclude_none=True, exclude_defaults=True))

    def check(self, source: str = "scenario") -> None:
        """Complains about everything that makes no sense.

        Raises:
            ScenarioError: all of it at once.
        """
        problems = self.problems()
        if problems:
            raise ScenarioError(problems, source)

    def problems(self) -> list[Problem]:
        """Everything that makes no sense."""
        with self.as_made():
            return from_core(self.to_dict())

    def to_dict(self, *, full: bool = False) -> dict[str, Any]:
        """Plain data: what was said, and with ``full`` all defaults too."""
        data = self.model_dump(mode="json", exclude_none=True, exclude_unset=not full)
        return {key: data[key] for key in sorted(data, key=ORDER.index)}

    def to_json(self) -> str:
        """What the core reads."""
        return self.model_dump_json(exclude_none=True, exclude_unset=True)

    def to_toml(self, path: str | Path | None = None, *, full: bool = False) -> str:
        """TOML that says the same, written to a file where one is named.

        Raises:
            StorageError: where the file cannot be written.
        """
        text = dumps(self.to_dict(full=full))
        if path is not None:
            write_file(path_of("path", path), lambda beside: beside.write_text(text, encoding="utf-8"))
        return text

    def replace(self, **fields: Any) -> Scenario:
        """The scenario with some fields changed.

        A field of the scenario, of its topology, of its flows or of what is recorded is named as it is
        (``buffer="25 packets"``); anything deeper by its path: ``replace(**{"flows[0].scheme.beta": 0.5})``.

            >>> import tailback as tb
            >>> base = tb.dumbbell(rate="1 Mbit/s", delay="10 ms", flows=[tb.flows(1, "cubic")])
            >>> base.replace(buffer="5 packets", **{"flows[0].scheme.beta": 0.5}).to_dict()["flows"][0]["scheme"]
            {'name': 'cubic', 'beta': 0.5}

        Raises:
            ScenarioError: for names that lead nowhere and values that are not allowed, all at once.
        """
        with self._but_for({name.rpartition(".")[2]: value for name, value in fields.items()}):
            return type(self).of(with_fields(self.to_dict(), fields), unfinished=not self.flows)

    def with_flows(self, *groups: _models.Flow | Sequence[_models.Flow]) -> Scenario:
        """The scenario with these groups of flows in place of its own; equal names are told apart by a number.

        Raises:
            ScenarioError: where one is no group of flows, or the scenario makes no sense with them.
        """
        listed: list[Any] = []
        for group in groups:
            listed += group if isinstance(group, Iterable) and not isinstance(group, _ONE) else [group]
        for place, flow in enumerate(listed):
            if not isinstance(flow, _models.Flow):
                allowed = 'a group of flows, as in tb.flows(2, "cubic")'
                raise ScenarioError([Problem(f"flows[{place}]", repr(flow), allowed)], "with_flows")
        groups_said = [
            flow.model_dump(mode="json", exclude_none=True, exclude_unset=True) for flow in _told_apart(listed)
        ]
        with self._but_for(groups_said):
            return type(self).of({**self.to_dict(), "flows": groups_said})

    def run(
        self,
        seed: int | None = None,
        progress: Callable[[float], object] | None = None,
        memory: str | int | None = None,
    ) -> Result:
        """Simulates the scenario.

        Args:
            seed: in place of the scenario's own.
            progress: called now and then with the part of the run that is done, 0 to 1.
            memory: what the run may take, ``"4 GB"``; half of what this process can have by default.

        Raises:
            ScenarioError: where it makes no sense, or needs more memory than it may take.
        """
        from tailback.run import run

        return run(self, seed=seed, progress=progress, memory=memory)

    def predicted(self, fairness: Fairness = "proportional", weights: Mapping[str, float] | None = None) -> Prediction:
        """What greedy flows would have at rest by theory, without a run; see :meth:`tailback.results.Result.predicted`.

        Raises:
            PredictionError: where there is nothing to predict.
        """
        from tailback.results.predicted import predict

        with self.as_made():
            return predict(self.to_json(), fairness, weights)

    def sweep(
        self,
        *,
        seeds: int | Sequence[int] = 1,
        points: Sequence[Mapping[str, Any]] | None = None,
        jobs: int | None = None,
        executor: Executor | None = None,
        cache: bool | str | Path = True,
        progress: bool | Callable[[int, int], object] = True,
        memory: str | int | None = None,
        **axes: Any,
    ) -> Runs:
        """Simulates every combination of values of some fields, with every seed, on all cores.

            base.sweep(buffer=["25 packets", "1 BDP"], scheme=["reno", "cubic"], seeds=10)

        Options as in :func:`tailback.sweep`.

        Raises:
            ScenarioError: where no combination makes a scenario.
        """
        from tailback.sweeps import sweep

        return sweep(
            self,
            seeds=seeds,
            points=points,
            jobs=jobs,
            executor=executor,
            cache=cache,
            progress=progress,
            memory=memory,
            **axes,
        )


def _names_in(data: Any, field: str = "") -> Iterator[str]:
    """The names in new values of fields that may be those of custom parts."""
    if isinstance(data, str):
        if field in {"scheme", "queue", "part", "name of a table"}:
            yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            inside = field and key == "name"
            yield from _names_in(value, "name of a table" if inside else str(key))
    elif isinstance(data, list | tuple):
        for value in data:
            yield from _names_in(value, field)


def _told_apart(flows: list[_models.Flow]) -> list[_models.Flow]:
    names = {flow.name for flow in flows}
    used: set[str] = set()
    numbers: dict[str, int] = {}
    told = []
    for flow in flows:
        if not flow.name:  # The core names it by its scheme.
            told.append(flow)
            continue
        name = flow.name
        if name in used:
            # What was taken stays taken, so that nobody counts from 2 for each of thousands of groups.
            number = numbers.get(flow.name, 2)
            while (name := f"{flow.name} {number}") in used or name in names:
                number += 1
            numbers[flow.name] = number + 1
        used.add(name)
        told.append(flow if name == flow.name else flow.model_copy(update={"name": name}))
    return told
