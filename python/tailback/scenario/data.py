"""Scenarios that commands make from their options: plain data in, the core's JSON out. The types of scenarios are not needed for
it, and to import them takes longer than most commands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tailback import _core
from tailback.errors import ScenarioError
from tailback.scenario.problems import from_core


def complete(data: Mapping[str, Any], source: str = "scenario") -> str:
    """The scenario as JSON, checked and complete, with custom parts as tables.

    Raises:
        ScenarioError: everything that is wrong with it.
    """
    problems = from_core(data)
    if problems:
        raise ScenarioError(problems, source)
    return _core.canonical(json.dumps(data))
