"""Why a figure of a row lies outside its tolerance, and who is right: written by people, after looking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch

from tailback.validation.reference import Row


@dataclass(frozen=True)
class Difference:
    """A known difference."""

    rows: str
    """A pattern of row names, as in a shell."""
    figures: tuple[str, ...]
    reason: str


KNOWN: tuple[Difference, ...] = (
    Difference(
        "dumbbell/vegas/red/64*",
        ("loss", "mean_queue"),
        "After a time-out ns-2 counts the packets of the round from where it went back to, finds one or fewer, and "
        "takes that round's time, standing queue included, for the propagation delay; flows then hold more in the "
        "queue. Brakmo and Peterson mean a round with one packet in the network; Tailback keeps the smallest round trip "
        "time. Made to forget it at time-outs, it has as many of them as ns-2 (284 and 295 without jitter), a loss of "
        "2.5 % and 84 packets of queue: that is half of the difference. A little of the rest is ns-2's window, which stays "
        "inflated where an episode had just three duplicates; what makes the remainder is not known.",
    ),
    Difference(
        "further/vegas/delayed-acks",
        ("mean_queue",),
        "Vegas means each flow to hold 1 to 3 packets in the queue, 8 to 24 in all: Tailback does, ns-2 holds more. "
        "Without delayed acknowledgements both hold 27 to 31, since flows that start into a standing queue take it for "
        "propagation. Why delayed acknowledgements cure that here and not in ns-2 is not known.",
    ),
    Difference(
        "further/loss-0.01/vegas",
        ("goodput",),
        "Tailback repairs as Brakmo and Peterson say, and comes to less; with selective acknowledgements instead "
        '(`retransmission = "sack"`) it comes to 14.3 Mbit/s, more than ns-2. Where in between ns-2\'s repair stands is '
        "not known; there is no RFC of Vegas.",
    ),
    Difference(
        "further/*cubic*",
        ("goodput", "loss", "throughput", "utilization", "mean_queue"),
        "ns-2's CUBIC is that of Linux 2.6 (β 0.8, C 0.41, which Tailback is given here). RFC 9438 differs from it: §4.3 "
        "raises the Reno-friendly estimate by a whole segment per round trip (α = 1) once it has reached the window before "
        "the last reduction, §4.2 limits the target to 1.5 windows, and §4.8 begins anew after a time-out. Small windows "
        "therefore grow faster here. By the RFC, Tailback is right.",
    ),
)


def reasons(row: Row) -> Mapping[str, str]:
    """The known differences of a row, by figure."""
    return {figure: known.reason for known in KNOWN if fnmatch(row.name, known.rows) for figure in known.figures}
