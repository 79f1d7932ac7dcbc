"""How near runs come to what ``tailback tune tdqm`` is asked for, over many networks, by theory alone and corrected by runs.
``make tdqm`` runs it and writes the table; nothing is judged here."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from tailback import tuning, tuning_runs

if TYPE_CHECKING:
    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

PACKET = 1000
"""Bytes."""
USERS, RATES, TRIPS = (2, 5, 10, 25, 50), (5, 20, 100), (10, 50, 200)
"""Users with endless files, Mbit/s, and milliseconds."""
TARGETS = (0.8, 0.9, 0.95, 0.98)
SEEDS = 3
"""Runs of each network that correct, and as many others that measure."""
FAIR = 2.0
"""Packets: with smaller fair windows users cannot be held by marks, for a window is one packet at least."""
DEEP = 32
"""Packets: in buffers up to this, packets that meet by chance overflow before a link is busy for 0.95 of the time."""
CYCLES, LONGEST = 10.0, 1000.0
"""A run has so many times in which a window that was halved is back, within these seconds."""


class Case(NamedTuple):
    """A network, with a buffer of one product of rate and round trip, or of 20 packets."""

    users: int
    rate: int
    trip: int

    @property
    def product(self) -> float:
        """Packets."""
        return self.rate * 1e3 * self.trip / (8 * PACKET)

    @property
    def buffer(self) -> int:
        """Packets."""
        return max(round(self.product), 20)

    @property
    def fair(self) -> float:
        """Packets of a window with which the users share the link."""
        return self.product / self.users


class Came(NamedTuple):
    """Utilization of runs, by theory alone and corrected."""

    theory: float
    corrected: float


def scenario(case: Case) -> Scenario:
    """The network with its users."""
    from tailback.scenario import Scenario

    back = case.fair / 2 * case.trip / 1e3
    seconds = min(max(40.0, CYCLES * back, 200 * case.trip / 1e3), LONGEST)
    window = "10000 packets"
    return Scenario.of(
        {
            "duration": f"{seconds:.0f} s",
            "warm_up": f"{seconds / 4:.0f} s",
            "topology": {
                "template": "dumbbell",
                "rate": f"{case.rate} Mbit/s",
                "delay": f"{475 * case.trip} us",
                "buffer": f"{case.buffer} packets",
                "queue": {"name": "tdqm"},
                "access": {"rate": "1 Gbit/s", "delay": f"{12.5 * case.trip:.0f} us"},
            },
            "flows": [
                {
                    "count": case.users,
                    "scheme": "newark",
                    "start": {"from": "0 s", "to": "1 s"},
                    "transport": {"segment_size": f"{PACKET} B", "receive_window": window, "window_limit": window},
                }
            ],
        }
    )


def came(asked: tuple[Case, float]) -> Came:
    """What runs use of a network's link whose queue was tuned for a target."""
    case, target = asked
    network = scenario(case)
    first = tuning.tune_tdqm(network, network.run(), utilization=target)
    best = tuning_runs.corrected(first, range(SEEDS + 1, 2 * SEEDS + 1))[-1].tuned
    theory, corrected = (tuning_runs.measured(one, range(1, SEEDS + 1))["utilization"] for one in (first, best))
    return Came(theory, corrected)


def told(lab: Lab) -> Iterable[tuple[str, list[str], list[list[str]]]]:
    """The table: its mark on the page, its head, its lines."""
    cases = [Case(*one) for one in product(USERS, RATES, TRIPS)]
    asked = list(product(cases, TARGETS))
    found = dict(zip(asked, lab.map(came, asked), strict=True))
    kinds = {
        "fair windows below two packets": [case for case in cases if case.fair < FAIR],
        "others, buffers up to 32 packets": [case for case in cases if case.fair >= FAIR and case.buffer <= DEEP],
        "all others": [case for case in cases if case.fair >= FAIR and case.buffer > DEEP],
    }
    yield (
        "recommended",
        ["networks", "of", *(f"target {target}" for target in TARGETS)],
        [
            [name, str(len(kind)), *(_line([found[case, target] for case in kind], target) for target in TARGETS)]
            for name, kind in kinds.items()
        ],
    )


def _line(seen: list[Came], target: float) -> str:
    hits = [sum(abs(value - target) <= tuning_runs.TOLERANCE for value in values) for values in zip(*seen, strict=True)]
    low, high = min(one.corrected for one in seen), max(one.corrected for one in seen)
    return f"{hits[0]}, {hits[1]}; {low:.3f} to {high:.3f}"
