"""Changes to a scenario as a command line writes them: ``--set FIELD=VALUE``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tailback.commands.custom import scheme_of
from tailback.errors import Problem, ScenarioError

if TYPE_CHECKING:
    from tailback.scenario import Scenario


def changed(scenario: Scenario, texts: Sequence[str]) -> Scenario:
    """A scenario with the changes of a command line.

    Raises:
        ScenarioError: for text without a field, names that lead nowhere, and values that are not allowed.
    """
    if not texts:
        return scenario
    changes = changes_of(texts)
    try:
        return scenario.replace(**changes)
    except ScenarioError as error:
        raise ScenarioError(error.problems, "--set") from None


def changes_of(texts: Sequence[str]) -> dict[str, Any]:
    """The changes of a command line, by field.

    Raises:
        ScenarioError: for text without a field.
    """
    from tailback.scenario.fields import from_text

    changes = {}
    for text in texts:
        field, sign, value = text.partition("=")
        if not sign:
            raise ScenarioError([Problem("the change", repr(text), "FIELD=VALUE, as in buffer='25 packets'")], "--set")
        names_a_scheme = field.strip().split(".")[-1] == "scheme"
        changes[field.strip()] = (scheme_of if names_a_scheme else from_text)(value.strip())
    return changes
