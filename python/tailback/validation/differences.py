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
        "Three habits of ns-2's Vegas, each of which keeps windows larger after a loss. It takes what is outstanding after "
        "the acknowledgement that ends a repair, next to nothing, for the window of the round, sees no backlog and grows; "
        "Tailback does not judge such a round. The window inflated by duplicates stays so where an episode had three or "
        "fewer, against RFC 5681 (§3.2 step 6). And it cuts whole packets, `w - w/4` rounded: 7 becomes 6, where Brakmo and "
        "Peterson cut by a quarter. Made to do all three (and, of little weight, to count rounds from where a time-out went "
        "back to), Tailback comes to a loss of 3.8 % and 102 packets without jitter, 3.6 % and 100 with it: ns-2's figures.",
    ),
    Difference(
        "further/vegas/delayed-acks",
        ("mean_queue",),
        "ns-2 takes what is outstanding after an acknowledgement plus one packet for the window. An acknowledgement of two "
        "packets leaves one fewer than the window, so each flow believes one packet less of its own to be queued and keeps "
        "one more: eight flows, and what later ones build upon that. Made to do so, Tailback comes to 29.7 ± 4.6 packets, "
        "ns-2's figure. By equation 7 Tailback is right: each flow holds 1 to 3 packets, 8 to 24 in all.",
    ),
    Difference(
        "further/red-ecn/*",
        ("loss",),
        "ns-2 retransmits what was lost as ECN-capable, and RED marks it; RFC 3168 (§6.1.5) forbids that, and RED drops it. "
        "What is lost more here are early drops of retransmissions and nothing else: at windows of one packet 3 % of all, "
        "with 64 flows some seven packets of 400 000, after time-outs in the beginning.",
    ),
    Difference(
        "further/slow-way-back/sack/delayed-acks",
        ("mean_queue",),
        "Half of the acknowledgements are lost on the way back. ns-2's SACK takes one packet from its pipe for a duplicate "
        "and two for a partial acknowledgement, whatever they report, so that the pipe stays too full and the timer must "
        "help (36 times); RFC 6675 (§4, SetPipe) counts anew what is reported (21 times). Made to count as ns-2 does, "
        "Tailback comes to 47.5 packets and 34 time-outs. NewReno, which cannot know better, agrees.",
    ),
    Difference(
        "further/constant/sack/in-step",
        ("loss",),
        "A packet of the constant flow comes with every second one that the bottleneck sends: whenever the two fall in step, "
        "it arrives in the very instant in which another leaves. Here departures come first, and it finds room (0.1 % of its "
        "packets are lost); in ns-2 the rounding of its clock decides (0.4 to 0.5 %). No network has such ties. Half a percent "
        "slower (`constant/sack/out-of-step`) the flow is never in step, and all figures agree.",
    ),
    Difference(
        "further/red-bytes/newreno/packets-of-500-and-1500",
        ("loss", "mean_queue"),
        "A buffer of 20 kB. ns-2's RED lets any packet join while fewer bytes wait than that, and so keeps up to one packet "
        "more than the buffer holds; here a packet must fit, so that the last room is for small ones, of which more wait. Made "
        "to let in what begins within the buffer, Tailback comes to a loss of 7.9 % and 13.3 packets, ns-2's figures.",
    ),
    Difference(
        "further/loss-0.2/sack",
        ("goodput",),
        "At windows of one or two packets most is repaired after time-outs. There ns-2's SACK counts its window from the last "
        "cumulative acknowledgement: what later ones report lets nothing go, and its goodput falls below that of its own "
        "NewReno (0.70). RFC 6675 (§4, SetPipe) counts what is in the network, and by it Tailback is right. Made to count "
        "what is reported as outstanding after a time-out, Tailback comes to 0.60 ± 0.05, ns-2's figure within its deviation. "
        "At 10 % of loss both agree as they are.",
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


@dataclass(frozen=True)
class Beyond:
    """A configuration that is no row, in which the two differ: ``benches/ns2/oracle.tcl`` runs it with these options."""

    options: str
    ns2: str
    tailback: str
    reason: str


BEYOND: tuple[Beyond, ...] = (
    Beyond(
        "proto=newreno queue=droptail n=64 bw=10",
        "22 ± 13 time-outs, 10.0 Mbit/s, loss 8.9 %",
        "5714 time-outs, 9.5 Mbit/s, loss 9.4 %",
        "ns-2 sets the window after a loss to half of it, down to one packet; by RFC 5681 (equation 4) it is at least two. At "
        "windows of two to four packets a window loses two more often here. NewReno repairs two in two round trips of 126 ms, "
        "which is longer than the minimum of the time-out, 200 ms, and the timer is restarted by the first partial "
        "acknowledgement only. Made to halve as ns-2 does, Tailback has 17 ± 9 time-outs, 10.0 Mbit/s and a loss of 9.2 %; as it "
        "is, but with a minimum of 260 ms, 29. It is no matter of phases: round trips longer by parts of a packet's transmission "
        "change neither. With jitter ns-2 has 4058 time-outs, Tailback 4546, and 4277 made so. By the RFC, Tailback is right.",
    ),
    Beyond(
        "proto=sack queue=red n=64 bw=10 jitter=0.0008",
        "5634 time-outs",
        "6643 time-outs",
        "In a repair ns-2 fills every hole below what is reported, as soon as its pipe has room. RFC 6675 (§4, NextSeg) fills a "
        "hole when three packets above it are reported, and prefers new data until then; at windows of two to three packets "
        "three such packets may never come. Made to fill holes at once, Tailback has 5902 ± 54 time-outs, within 5 % of ns-2. "
        "Halving windows below two packets and timing packets through a repair, two other habits of ns-2, move it by 2 % at most.",
    ),
    Beyond(
        "proto=vegas queue=red n=64 bw=10 jitter=0.0008",
        "loss 11.1 %; drop-tail 10.0 %; drop-tail without jitter 5.3 %",
        "9.7 %; 11.1 %; 9.5 %",
        "At windows of two to three packets ns-2's three habits (dumbbell/vegas/red/64, above) are not enough: with them alone "
        "Tailback loses 16 %. Two more act against them. ns-2's Vegas doubles its time-out at each fast retransmission, too, until "
        "the next sample; and it takes a round that ends with one packet or fewer to be sent, as each does after a time-out, for "
        "one without a queue, and sets its propagation delay anew. A model of ns-2's Vegas written for the purpose, with these "
        "five, loses 11.4 %, 10.0 % and 4.3 %, with 4312, 3008 and 717 time-outs (ns-2: 3962, 3156 and 870). Without the doubling "
        "it loses 13.3 % and 12.4 %, without the propagation delay set anew 10.5 % and 8.1 %, without rounds judged in a repair "
        "10.0 % and 8.4 %. Without jitter, whole packets keep its flows in step: cut by fractions it loses 6.6 %. The paper "
        "of Brakmo and Peterson has neither of the two.",
    ),
)


def reasons(row: Row) -> Mapping[str, str]:
    """The known differences of a row, by figure."""
    return {figure: known.reason for known in KNOWN if fnmatch(row.name, known.rows) for figure in known.figures}
