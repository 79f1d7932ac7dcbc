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
        "Three habits of ns-2's Vegas each keep windows larger after a loss. First, after the acknowledgement that "
        "ends a repair, it takes the few outstanding packets for the window of the round; so it sees no backlog and "
        "grows. Tailback does not judge such a round. Second, after an episode with three or fewer duplicates, it "
        "keeps the window that the duplicates inflated, against RFC 5681 (§3.2 step 6). Third, it reduces by whole "
        "packets, `w - w/4` rounded: 7 becomes 6, where Brakmo and Peterson reduce by a quarter. If Tailback does "
        "all three (and, with little effect, counts rounds from where a time-out went back to), it has a loss of 3.8 "
        "% and 102 packets without jitter, and 3.6 % and 100 with it: ns-2's figures.",
    ),
    Difference(
        "further/vegas/delayed-acks",
        ("mean_queue",),
        "ns-2 takes the outstanding packets after an acknowledgement plus one packet for the window. After an "
        "acknowledgement of two packets this is one less than the window. So each flow believes that it has one "
        "packet less in the queue, and keeps one more: eight flows do this, and later ones build on it. If Tailback "
        "does the same, it has 29.7 ± 4.6 packets, ns-2's figure. By equation 7 Tailback is right: each flow holds 1 "
        "to 3 packets, 8 to 24 in all.",
    ),
    Difference(
        "further/red-ecn/*",
        ("loss",),
        "ns-2 sends retransmissions as ECN-capable, and RED marks them. RFC 3168 (§6.1.5) forbids this, so here RED "
        "drops them. The additional losses here are only such early drops of retransmissions: 3 % of all at windows "
        "of one packet, and with 64 flows some seven packets of 400 000, after time-outs at the beginning.",
    ),
    Difference(
        "further/slow-way-back/sack/delayed-acks",
        ("mean_queue",),
        "Half of the acknowledgements are lost on the way back. ns-2's SACK takes one packet from its pipe for a "
        "duplicate and two for a partial acknowledgement, whatever they report. So the pipe stays too full, and the "
        "timer must help (36 times). RFC 6675 (§4, SetPipe) counts anew from the report (21 times). If Tailback "
        "counts as ns-2 does, it has 47.5 packets and 34 time-outs. NewReno, which has no reports, agrees.",
    ),
    Difference(
        "further/constant/sack/in-step",
        ("loss",),
        "A packet of the constant flow comes with every second packet that the bottleneck sends. When the two are in "
        "step, it arrives at the very instant at which another leaves. Here departures come first, so the packet "
        "finds room (0.1 % of the flow's packets are lost). In ns-2 the rounding of its clock decides (0.4 to 0.5 "
        "%). No real network has such ties. If the flow is half a percent slower (`constant/sack/out-of-step`), it "
        "is never in step, and all figures agree.",
    ),
    Difference(
        "further/red-bytes/newreno/packets-of-500-and-1500",
        ("loss", "mean_queue"),
        "The buffer has 20 kB. ns-2's RED lets any packet join while fewer bytes wait than this, so it keeps up to "
        "one packet more than the buffer holds. Here a packet must fit, so only small packets get the last room, and "
        "more of them wait. If Tailback admits every packet that begins within the buffer, it has a loss of 7.9 % "
        "and 13.3 packets, ns-2's figures.",
    ),
    Difference(
        "further/loss-0.2/sack",
        ("goodput",),
        "At windows of one or two packets most losses are repaired after time-outs. There ns-2's SACK counts its "
        "window from the last cumulative acknowledgement: packets that are reported later let nothing leave, and its "
        "goodput falls below that of its own NewReno (0.70). RFC 6675 (§4, SetPipe) counts the packets in the "
        "network, and by it Tailback is right. If Tailback counts reported packets as outstanding after a time-out, "
        "it has 0.60 ± 0.05, ns-2's figure within its deviation. At 10 % of loss both agree as they are.",
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
        "ns-2 halves the window after a loss down to one packet; by RFC 5681 (equation 4) it is at least two. So at "
        "windows of two to four packets, a window loses two packets more often here. NewReno repairs two losses in "
        "two round trips of 126 ms. This is longer than the minimum of the time-out, 200 ms, and only the first "
        "partial acknowledgement restarts the timer. If Tailback halves as ns-2 does, it has 17 ± 9 time-outs, 10.0 "
        "Mbit/s and a loss of 9.2 %; with only the minimum changed to 260 ms, it has 29 time-outs. Phase is not the "
        "reason: round trips that are longer by parts of a packet's transmission change neither. With jitter ns-2 "
        "has 4058 time-outs and Tailback 4546, or 4277 if it halves as ns-2 does. By the RFC, Tailback is right.",
    ),
    Beyond(
        "proto=sack queue=red n=64 bw=10 jitter=0.0008",
        "5634 time-outs",
        "6643 time-outs",
        "In a repair ns-2 fills every hole below the reported packets as soon as its pipe has room. RFC 6675 (§4, "
        "NextSeg) fills a hole when three packets above it are reported, and sends new data until then; at windows "
        "of two to three packets three such packets may never come. If Tailback fills holes at once, it has 5902 ± "
        "54 time-outs, within 5 % of ns-2. Two other habits of ns-2, halving windows below two packets and timing "
        "packets through a repair, change this by 2 % at most.",
    ),
    Beyond(
        "proto=vegas queue=red n=64 bw=10 jitter=0.0008",
        "loss 11.1 %; drop-tail 10.0 %; drop-tail without jitter 5.3 %",
        "9.7 %; 11.1 %; 9.5 %",
        "At windows of two to three packets ns-2's three habits (dumbbell/vegas/red/64, above) do not explain "
        "everything: with them alone Tailback loses 16 %. Two more habits act against them. First, ns-2's Vegas also "
        "doubles its time-out at each fast retransmission, until the next sample. Second, if a round ends with one "
        "packet or less to be sent, as each round does after a time-out, ns-2's Vegas treats it as a round without a "
        "queue and sets its propagation delay anew. A model of ns-2's Vegas, written for this purpose, with all five "
        "habits loses 11.4 %, 10.0 % and 4.3 %, with 4312, 3008 and 717 time-outs (ns-2: 3962, 3156 and 870). "
        "Without the doubling it loses 13.3 % and 12.4 %; without the new propagation delay 10.5 % and 8.1 %; "
        "without rounds judged in a repair 10.0 % and 8.4 %. Without jitter, whole packets keep its flows in step; "
        "with fractions it loses 6.6 %. The paper of Brakmo and Peterson has neither of the two habits.",
    ),
)


def reasons(row: Row) -> Mapping[str, str]:
    """The known differences of a row, by figure."""
    return {figure: known.reason for known in KNOWN if fnmatch(row.name, known.rows) for figure in known.figures}
