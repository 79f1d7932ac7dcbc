"""The scenario that stands for a transfer in results: one flow between two hosts, and a link in place of the network between
them, of which nothing is known. Whether scheme and fields make sense is checked by the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tailback.errors import ScenarioError
from tailback.scenario.data import complete
from tailback.scenario.texts import from_text

FLOW: Final = "transfer"
_PLACEHOLDER: Final = {"from": "sender", "to": "receiver", "rate": "1 Gbit/s", "delay": "10 ms", "buffer": "1 BDP"}


def scenario_of(name: str, scheme: str, changes: Sequence[str], seed: int) -> str:
    """The scenario of a transfer of a file, as JSON, complete.

    Raises:
        ScenarioError: where scheme or changes make no sense.
    """
    data = {
        "name": f"transfer of {name}",
        "duration": "1 h",
        "seed": seed,
        "topology": {"template": "graph", "links": [_PLACEHOLDER]},
        "flows": [
            {
                "name": FLOW,
                "from": "sender",
                "to": "receiver",
                "scheme": from_text(scheme),
                "reliable": True,  # Schemes of datagrams, too, must bring all of it there.
                "transport": {"receive_window": "64 MiB"},  # As much as the receiver takes.
                "receiver": {"ack_every": 2},  # Where the scheme lets them wait (RFC 5681 §4.2).
            }
        ],
        "record": {"links": "none", "bin": "100 ms"},
    }
    made = _checked(data)
    if not changes:
        return made
    from tailback.commands.changes import changed
    from tailback.scenario import Scenario

    return complete(changed(Scenario.of(data), changes).to_dict())


def _checked(data: Mapping[str, Any]) -> str:
    """The scenario as JSON, complete; of a wrong scheme is said which option it comes from."""
    try:
        return complete(data)
    except ScenarioError as error:
        problems = [replace(each, field=each.field.replace("flows[0].scheme", "--scheme")) for each in error.problems]
        raise ScenarioError(problems, "tailback send") from None
