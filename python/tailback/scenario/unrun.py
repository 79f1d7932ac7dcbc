"""What to say to who asks a scenario for what only its result has: somebody who forgot ``run()``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tailback.errors import CallError

if TYPE_CHECKING:
    from tailback.scenario._models import Flow

_List: Any = list


def of_result(name: str) -> str:
    """What to expect where a result has something of this name; empty where it has not."""
    from tailback.results import Result

    known = {*vars(Result), *Result.__dataclass_fields__}
    return f".run().{name}, which is a result's" if name in known and not name.startswith("_") else ""


class Groups(_List):  # type: ignore[misc]  # Types are those of a plain list.
    """The groups of flows of a scenario: a list, which is not the table of flows that a result has."""

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, str):
            allowed = f"a group's number, or .run().flows[{place!r}], which is a result's"
            raise CallError(f"flows: {place!r} is not allowed; expected {allowed}")
        return super().__getitem__(place)

    if not TYPE_CHECKING:  # A checker of types is to tell names that there are none of.

        def __getattr__(self, name: str) -> NoReturn:
            """Says where a table of flows is."""
            said = f"a scenario's flows are a list of groups, without {name!r}"
            hint = "" if name.startswith("_") else f"; expected .run().flows, which is a result's table, for {name!r}"
            raise AttributeError(f"{said}{hint}", name=name, obj=self)


def grouped(flows: Sequence[Flow]) -> Sequence[Flow]:
    """The same groups, which say so to who takes them for a table."""
    made: Sequence[Flow] = Groups(flows)
    return made
