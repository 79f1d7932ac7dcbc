"""What flows and groups of one result are called in figures: by their names, with the scheme where the name is another one's.
What the series of many runs are called is the business of ``series.py``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailback import _core
from tailback.plot.series import MOST

if TYPE_CHECKING:
    from tailback.results import Result

_NUMBERED = re.compile(r" [0-9]+$")
"""The second group of a scheme is "reno 2"."""


def of_flows(result: Result) -> dict[str, str]:
    """By flow: its name, as in "reno-0 (bbr1)" where its group is called like another scheme than its own, as in a sweep over
    schemes."""
    schemes = _schemes()
    rows = result.flows.select("flow", "group", "scheme").rows()
    return {str(flow): f"{flow}{_other(str(group), str(scheme), schemes)}" for flow, group, scheme in rows}


def of_groups(result: Result) -> dict[str, str]:
    """By group: its name, with the scheme of its first flow in the same cases."""
    schemes = _schemes()
    rows = result.flows.unique("group", keep="first", maintain_order=True).select("group", "scheme").rows()
    return {str(group): f"{group}{_other(str(group), str(scheme), schemes)}" for group, scheme in rows}


def drawn_groups(result: Result, groups: Sequence[str]) -> dict[str, str]:
    """By group, the name of the line that it is drawn in: its own, or that of all groups for whose names a legend has no room."""
    names, few = of_groups(result), groups if len(groups) <= MOST else groups[: MOST - 1]
    own = {group: names[group] for group in few}
    return own | dict.fromkeys(groups[len(few) :], f"and {len(groups) - len(few)} more")


def _schemes() -> set[str]:
    return {entry["name"] for entry in json.loads(_core.registry())["schemes"]}


def _other(group: str, scheme: str, schemes: set[str]) -> str:
    called = _NUMBERED.sub("", group)
    return f" ({scheme})" if called in schemes and called != scheme else ""
