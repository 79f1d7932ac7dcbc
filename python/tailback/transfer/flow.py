"""The scenario that stands for a transfer in results: one flow between two hosts, and a link in place of the network between
them, of which nothing is known. Whether scheme and fields make sense is checked by the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tailback.scenario.texts import from_text

if TYPE_CHECKING:
    from tailback.scenario import Scenario

FLOW: Final = "transfer"
_PLACEHOLDER: Final = {"from": "sender", "to": "receiver", "rate": "1 Gbit/s", "delay": "10 ms", "buffer": "1 BDP"}


def scenario_of(name: str, scheme: str, changes: Sequence[str], seed: int) -> Scenario:
    """The scenario of a transfer of a file.

    Raises:
        ScenarioError: where scheme or changes make no sense.
    """
    from tailback.commands.changes import changed
    from tailback.scenario import Scenario

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
    return changed(Scenario.of(data), changes)
