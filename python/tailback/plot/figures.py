"""What figures of one result and of many runs have in common: their names. What they show is the business of the other
files here."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NoReturn

from tailback.errors import ArgumentError, NoFigureError, one_of


class Figures:
    """Figures by their names, each a method."""

    _of: ClassVar[str]
    """What they are figures of, in words."""

    if not TYPE_CHECKING:  # Types know which figures there are; with this, any name would be one.

        def __getattr__(self, name: str) -> NoReturn:
            raise NoFigureError(f"{name}: no such figure of {self._of}; expected {one_of(name, names_of(self))}")

    def __repr__(self) -> str:
        """How to ask for one."""
        return f"<Figures of {self._of}: {', '.join(f'{name}()' for name in names_of(self))}>"

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Says how figures are asked for: elsewhere, ``plot`` is a function."""
        one, *others = names_of(self)
        raise ArgumentError(
            f"plot(): expected a figure by its name, plot.{one}() for example; others are {', '.join(others)}"
        )


def names_of(plots: Figures) -> list[str]:
    """The figures that there are."""
    return [name for name in dir(plots) if not name.startswith("_")]
