"""The ledger as data: which items there are, what they claim, and which have code. Judging is the items' own."""

from __future__ import annotations

import importlib
import importlib.util
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any, cast

from tailback.errors import TailbackError, nearest
from tailback.papers.item import Item


@dataclass(frozen=True)
class Paper:
    """One paper."""

    id: str
    title: str
    authors: str
    scheme: str


@dataclass(frozen=True)
class Claim:
    """One item of the ledger."""

    id: str
    title: str
    source: str
    setup: str
    measure: tuple[str, ...]
    holds: str
    published: Mapping[str, Any] = field(default_factory=dict)

    @property
    def paper(self) -> str:
        """The paper's id, the part before the slash."""
        return self.id.split("/", 1)[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys under "measured" without what they are keyed by: ``ratio`` for ``ratio[loss]``."""
        return tuple(dict.fromkeys(key.split("[", 1)[0] for key in self.measure))

    @property
    def module(self) -> str:
        """The module that rebuilds it."""
        return "tailback.papers." + self.id.replace("-", "_").replace("/", ".")

    @property
    def built(self) -> bool:
        """Whether that module exists."""
        try:
            return importlib.util.find_spec(self.module) is not None
        except ModuleNotFoundError:
            return False

    def item(self) -> Item:
        """The code.

        Raises:
            TailbackError: where there is none yet.
        """
        if not self.built:
            raise TailbackError(f"{self.id}: not yet built; `tailback reproduce --list` shows what is")
        return cast(Item, importlib.import_module(self.module))


@lru_cache(maxsize=1)
def _read() -> tuple[tuple[Paper, ...], tuple[Claim, ...]]:
    data = tomllib.loads(resources.files("tailback.papers").joinpath("ledger.toml").read_text(encoding="utf-8"))
    papers = tuple(Paper(**entry) for entry in data["paper"])
    return papers, tuple(Claim(**{**entry, "measure": tuple(entry["measure"])}) for entry in data["item"])


def papers() -> tuple[Paper, ...]:
    """All papers."""
    return _read()[0]


def claims() -> tuple[Claim, ...]:
    """All items, in the ledger's order."""
    return _read()[1]


def select(names: Iterable[str]) -> tuple[Claim, ...]:
    """The items that some names stand for: an id, a paper, or ``all`` for every item that is built.

    A paper stands for those of its items that are built; an id stands for its item, built or not.

    Raises:
        TailbackError: for a name that is none of these.
    """
    chosen: dict[str, Claim] = {}
    for name in names:
        if name == "all" or name in {paper.id for paper in papers()}:
            found = [claim for claim in claims() if claim.built and name in {"all", claim.paper}]
            if not found:
                raise TailbackError(f"{name}: none of its items is built yet; `tailback reproduce --list` shows them")
        else:
            found = [claim for claim in claims() if claim.id == name]
        if not found:
            known = ["all", *(paper.id for paper in papers()), *(claim.id for claim in claims())]
            hint = nearest(name, known)
            meant = f"; did you mean {hint}?" if hint else ""
            raise TailbackError(
                f"{name}: no such item{meant} `tailback reproduce --list` shows all"
                if meant
                else f"{name}: no such item; `tailback reproduce --list` shows all"
            )
        chosen.update({claim.id: claim for claim in found})
    return tuple(chosen.values())


def unbuilt(names: Iterable[str]) -> int:
    """How many items of the papers named, of all papers for ``all``, have no code yet."""
    asked = set(names)
    return sum(not claim.built for claim in claims() if asked & {"all", claim.paper})
