"""The types of scenarios, generated from the core's schema by tools/generate_types.py: do not edit.

A quantity is text with its unit, as in ``"10 Mbit/s"``; what each accepts stands at its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from tailback.scenario._base import Number, Part, Quantity, Text, Truth, Whole

BitRate: TypeAlias = Annotated[
    str, Quantity('a rate with its unit (bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s), such as "10 Mbit/s"')
]
"""a rate with its unit (bit/s, kbit/s, Mbit/s, Gbit/s, B/s, kB/s, MB/s), such as "10 Mbit/s" """


Span: TypeAlias = Annotated[str, Quantity('a time with its unit (ns, µs or us, ms, s, min, h), such as "5 ms"')]
"""a time with its unit (ns, µs or us, ms, s, min, h), such as "5 ms" """


class SpanRange(Part):
    """The two ends of a range of times."""

    from_: Annotated[Span, Field(alias="from")]
    """The lower end, included."""

    to: Span
    """The upper end, included."""


Spread: TypeAlias = Span | Sequence[Span] | SpanRange
"""One delay for every host, a list that is dealt out in turn, or a range spread evenly over the hosts."""


Capacity: TypeAlias = Annotated[
    str,
    Quantity('a buffer in packets, bytes or bandwidth-delay products ("50 packets", "64 kB", "1 BDP") or "unlimited"'),
]
"""a buffer in packets, bytes or bandwidth-delay products ("50 packets", "64 kB", "1 BDP") or "unlimited" """


class DropTailQueue(Part):
    """First in, first out; what finds the buffer full is dropped."""

    TAG: ClassVar[str] = "name"
    name: Literal["drop-tail"] = "drop-tail"


class DropHeadQueue(Part):
    """First in, first out; an arrival at a full buffer pushes the oldest waiting packet out."""

    TAG: ClassVar[str] = "name"
    name: Literal["drop-head"] = "drop-head"


class RandomDropQueue(Part):
    """First in, first out; an arrival at a full buffer pushes any waiting packet out."""

    TAG: ClassVar[str] = "name"
    name: Literal["random-drop"] = "random-drop"


class Lane(Part):
    """One lane."""

    queue: Queue = DropTailQueue()
    """The lane's queue. Default drop-tail."""

    buffer: Capacity | None = None
    """The lane's buffer, in packets or bytes. Default: as large as the link's, and not shared with other lanes."""


NamedFlow: TypeAlias = Whole | Text
"""A flow by its number, or flows by name."""


class Class(Part):
    """A class of flows with a lane of their own."""

    flows: Sequence[NamedFlow] = ()
    """The flows, by the names of groups or flows, or by numbers counted from 0 over all groups in their order."""

    lane: Annotated[Whole, Field(ge=0, le=255)] = 0
    """The lane that their packets join, counted from 0."""


class PriorityQueue(Part):
    """Strict priority of lanes."""

    TAG: ClassVar[str] = "name"
    name: Literal["priority"] = "priority"
    lanes: Sequence[Lane] = Field(
        default_factory=lambda: (
            Lane(),
            Lane(),
        )
    )
    """The lanes, served first to last; a packet whose lane has a higher number joins the last. 2 to 8."""

    classes: Sequence[Class] = ()
    """Classes of flows whose packets join a lane whatever they are marked with."""


Victim: TypeAlias = Literal["longest", "longest-head", "arriving"]
"""Who loses a packet when the buffer is full.

- ``longest``: The newest packet of the flow that has most waiting (Demers, Keshav and Shenker 1989, §2): a flow
  below its share of the buffer loses nothing.
- ``longest-head``: The oldest packet of the flow that has most waiting (Suter, Lakshman, Stiliadis and Choudhury
  1998); ns-2's DRR does so. In self-clocked fair queueing and cell round robin, the flow's packets behind take
  over the place of the lost one. Not where tags belong to packets (weighted fair queueing and virtual clock):
  those behind would keep theirs, and the flow pay for what it lost.
- ``arriving``: The arriving packet.
"""


class Buffer(Part):
    """How the flows share the link's buffer."""

    victim: Victim = "longest"
    """Who loses a packet when the link's buffer is full: ``longest`` (the newest packet of the flow with most
    waiting, the default), ``longest-head`` (its oldest) or ``arriving``.
    """

    per_flow: Capacity | None = None
    """At most so much of each flow waits, in packets or bytes; beyond, its arrivals are dropped. Default: no limit
    but the link's buffer.
    """


class RoundRobinQueue(Part):
    """Round robin, packet by packet."""

    TAG: ClassVar[str] = "name"
    name: Literal["round-robin"] = "round-robin"
    buffer: Buffer = Buffer()
    """How the flows share the link's buffer."""


class Share(Part):
    """A weight for some flows."""

    flows: Sequence[NamedFlow] = ()
    """The flows, by the names of groups or flows, or by numbers counted from 0 over all groups in their order."""

    weight: Number = 1.0
    """Their weight: service is shared in proportion. From 0.000001 to 1000000; flows named nowhere have weight 1."""

    together: Truth = False
    """Whether these flows are one class that shares one queue and one weight; otherwise each has its own."""


class WeightedRoundRobinQueue(Part):
    """Weighted round robin, packet by packet."""

    TAG: ClassVar[str] = "name"
    name: Literal["weighted-round-robin"] = "weighted-round-robin"
    shares: Sequence[Share] = ()
    """Weights in packets per round, at least 0.01; fractions add up over rounds. Flows named nowhere have weight 1."""

    buffer: Buffer = Buffer()
    """How the flows share the link's buffer."""


class CellRoundRobinQueue(Part):
    """Round robin cell by cell over 53-byte ATM cells."""

    TAG: ClassVar[str] = "name"
    name: Literal["cell-round-robin"] = "cell-round-robin"
    shares: Sequence[Share] = ()
    """Weights, in cells per round; flows named nowhere have weight 1."""

    buffer: Buffer = Buffer()
    """How the flows share the link's buffer."""


class FramedRoundRobinQueue(Part):
    """Framed round robin, which leaves the line idle rather than exceed an allotment."""

    TAG: ClassVar[str] = "name"
    name: Literal["framed-round-robin"] = "framed-round-robin"
    frame: Span = "10 ms"
    """The length of a frame, from 10 µs to 1 s. Default 10 ms."""

    reserve: Number = 0.1
    """The part of the link's rate that is allotted to a flow of weight 1, above 0, at most 1. Default 0.1."""

    shares: Sequence[Share] = ()
    """Weights, as multiples of ``reserve``; flows named nowhere have weight 1."""

    buffer: Buffer = Buffer()
    """How the flows share the link's buffer."""


class Level(Part):
    """One level of a hierarchical server."""

    frame: Span = "10 ms"
    """The length of a frame, from 10 µs to 1 s. Default 10 ms."""

    part: Number = 0.5
    """The part of the link's rate that all flows of this level have together; those of all levels add up to at most
    1. Default 0.5.
    """

    flows: Sequence[NamedFlow] = ()
    """The flows that belong to this level, by the names of groups or flows, or by numbers counted from 0 over all
    groups in their order; a flow named nowhere belongs to the last.
    """


class HierarchicalRoundRobinQueue(Part):
    """Hierarchical round robin: framed round robin on several levels (Kalmanek, Kanakia and Keshav 1990)."""

    TAG: ClassVar[str] = "name"
    name: Literal["hierarchical-round-robin"] = "hierarchical-round-robin"
    levels: Sequence[Level] = Field(
        default_factory=lambda: (
            Level.model_construct(frame="1 ms"),
            Level(),
        )
    )
    """The levels, each with a longer frame than the one before. Default: 1 ms with half of the rate, and 10 ms with
    the other half.
    """

    reserve: Number = 0.1
    """The part of the link's rate that is allotted to a flow of weight 1, above 0, at most 1. Default 0.1."""

    shares: Sequence[Share] = ()
    """Weights, as multiples of ``reserve``; flows named nowhere have weight 1."""

    buffer: Buffer = Buffer()
    """How the flows share the link's buffer."""


Bytes: TypeAlias = Annotated[
    str, Quantity('an amount of data with its unit (B, kB, MB, GB, KiB, MiB), such as "1500 B"')
]
"""an amount of data with its unit (B, kB, MB, GB, KiB, MiB), such as "1500 B" """


class DeficitRoundRobinQueue(Part):
    """Deficit round robin (Shreedhar and Varghese 1995)."""

    TAG: ClassVar[str] = "name"
    name: Literal["deficit-round-robin"] = "deficit-round-robin"
    quantum: Bytes = "1500 B"
    """Bytes per round for a flow of weight 1. Best at least the largest packet (1995, §3); default 1500 B."""

    shares: Sequence[Share] = ()
    """Weights; quantum × weight must be at least 16 B. Flows named nowhere have weight 1."""

    buffer: Buffer = Buffer()
    """How the flows share the link's buffer."""


class SelfClockedFairQueueing(Part):
    """Self-clocked fair queueing (Golestani 1994)."""

    TAG: ClassVar[str] = "name"
    name: Literal["self-clocked-fair-queueing"] = "self-clocked-fair-queueing"
    shares: Sequence[Share] = ()
    """Weights; flows named nowhere have weight 1."""

    buffer: Buffer = Buffer()
    """How the flows share the link's buffer."""


class WeightedFairQueueing(Part):
    """Weighted fair queueing (Demers, Keshav and Shenker 1989; Parekh and Gallager 1993)."""

    TAG: ClassVar[str] = "name"
    name: Literal["weighted-fair-queueing"] = "weighted-fair-queueing"
    shares: Sequence[Share] = ()
    """Weights; flows named nowhere have weight 1."""

    buffer: Buffer = Buffer()
    """How the flows share the link's buffer."""


class VirtualClockQueue(Part):
    """Virtual clock (Zhang 1990)."""

    TAG: ClassVar[str] = "name"
    name: Literal["virtual-clock"] = "virtual-clock"
    reserve: Number = 0.1
    """The part of the link's rate that is reserved for a flow of weight 1, above 0, at most 1. Guarantees hold while
    the reservations of the flows present add up to at most 1. Default 0.1.
    """

    shares: Sequence[Share] = ()
    """Weights, as multiples of ``reserve``; flows named nowhere have weight 1."""

    buffer: Buffer = Buffer()
    """How the flows share the link's buffer."""


DataAmount: TypeAlias = Annotated[str, Quantity('an amount in packets or bytes, such as "10 packets" or "15 kB"')]
"""an amount in packets or bytes, such as "10 packets" or "15 kB" """


Measure: TypeAlias = Literal["packets", "bytes"]
"""What RED counts.

- ``packets``: Packets, whatever their size.
- ``bytes``: Bytes; a packet's chance then grows with its size (1993, §4).
"""


class RedQueue(Part):
    """Random early detection (Floyd and Jacobson 1993), with its gentle and adaptive forms."""

    TAG: ClassVar[str] = "name"
    name: Literal["red"] = "red"
    min: DataAmount = "5 packets"
    """Average queue below which nothing is dropped or marked. 1993, §4; default 5 packets."""

    max: DataAmount = "15 packets"
    """Average queue at which the probability reaches ``max_p``. 1993, §4; default 15 packets."""

    max_p: Number = 0.1
    """Largest probability of early drops between the thresholds, and the adaptive form's first value. A number above
    0, at most 1; default 0.1.
    """

    weight: Number | None = None
    """Weight of the newest sample in the average queue, above 0, at most 1; default 0.002 (1993, §6). Absent in the
    adaptive form, it becomes 1 - exp(-1/C) with C the link's rate in packets/s (2001, §4.3).
    """

    gentle: Truth = True
    """Between ``max`` and twice ``max``, raise the probability from ``max_p`` to 1 instead of dropping all (Floyd
    2000). Default true.
    """

    adaptive: Truth = False
    """Adapt ``max_p`` every half second so that the average queue stays in the middle between the thresholds (2001,
    Fig. 1). Default false.
    """

    wait: Truth = True
    """Let at least 1/p - 1 packets pass between two early drops (ns-2's ``wait_``); without it, two may follow each
    other at once. Default true.
    """

    measure: Measure = "packets"
    """Whether queue and thresholds are in packets or bytes. In packets, an acknowledgement counts like a full
    packet, also where ``min`` and ``max`` are written in bytes: they become packets of the mean size of the flows
    whose data crosses the link. Default packets.
    """

    ecn: Truth = False
    """Mark ECN-capable packets instead of dropping them early (RFC 3168 §5). Above the upper threshold (in the
    gentle form above twice the upper threshold), and at overflow, packets are dropped all the same (RFC 3168 §7).
    Default false.
    """


class RemQueue(Part):
    """Random exponential marking (Athuraliya, Li, Low and Yin 2001)."""

    TAG: ClassVar[str] = "name"
    name: Literal["rem"] = "rem"
    target: DataAmount = "20 packets"
    """The queue b* that the price aims at. Default 20 packets (2001, §III). The queue is counted in packets whatever
    their size, acknowledgements too; an amount in bytes becomes packets of the mean size of the flows whose data
    crosses the link.
    """

    gamma: Number = 0.001
    """Gain γ of the price, above 0. Default 0.001 (2001, §III)."""

    alpha: Number = 0.1
    """Weight α of the queue against the rates, above 0. Default 0.1 (2001, §III)."""

    phi: Number = 1.001
    """Base φ of the probability, above 1. Default 1.001 (2001, §III)."""

    period: Span = "2 ms"
    """The period of the price, at least 10 µs. Default 2 ms (ns-2's ``rem.cc``)."""

    ecn: Truth = False
    """Mark ECN-capable packets instead of dropping them (RFC 3168). Default false."""


class PiQueue(Part):
    """Proportional integral controller (Hollot, Misra, Towsley and Gong 2001)."""

    TAG: ClassVar[str] = "name"
    name: Literal["pi"] = "pi"
    target: DataAmount = "50 packets"
    """The queue q* to settle at. Default 50 packets (ns-2's ``pi.cc``). The queue is counted in packets whatever
    their size, acknowledgements too; an amount in bytes becomes packets of the mean size of the flows whose data
    crosses the link.
    """

    a: Number = 1.822e-05
    """Gain a of the newer sample, above ``b``. Default 1.822e-5 per packet (2001, §V, for 15 Mbit/s and 60 flows)."""

    b: Number = 1.816e-05
    """Gain b of the older sample, above 0. Default 1.816e-5 per packet (2001, §V)."""

    frequency: Number = 160.0
    """The sampling frequency in samples per second, above 0, at most 100 000. Default 160 (2001, §V)."""

    ecn: Truth = False
    """Mark ECN-capable packets instead of dropping them (RFC 3168). Default false."""


class PieQueue(Part):
    """PIE (RFC 8033)."""

    TAG: ClassVar[str] = "name"
    name: Literal["pie"] = "pie"
    target: Span = "15 ms"
    """The queueing delay to settle at (``QDELAY_REF``). Default 15 ms (RFC 8033 §4.2)."""

    period: Span = "15 ms"
    """The period of the probability (``T_UPDATE``). Default 15 ms (RFC 8033 §4.2)."""

    alpha: Number = 0.125
    """Gain of the delay's distance from the target, per second. Default 0.125 (RFC 8033 §4.2)."""

    beta: Number = 1.25
    """Gain of the delay's change, per second. Default 1.25 (RFC 8033 §4.2)."""

    burst: Span = "150 ms"
    """A burst of this length passes undropped after quiet (``MAX_BURST``). Default 150 ms (RFC 8033 §4.4)."""

    derandomize: Truth = True
    """Space drops more evenly than chance would: none until the probabilities since the last add up to 0.85, a
    certain one from 8.5 (RFC 8033 §5.4). Default true.
    """

    ecn: Truth = False
    """Mark ECN-capable packets instead of dropping them, as long as the probability is not above ``mark_limit`` (RFC
    8033 §5.1). Default false.
    """

    mark_limit: Number = 0.1
    """The probability above which ECN-capable packets are dropped too (``mark_ecnth``); 1 for never. Default 0.1
    (RFC 8033 §5.1).
    """


class CodelQueue(Part):
    """Controlled delay (RFC 8289)."""

    TAG: ClassVar[str] = "name"
    name: Literal["codel"] = "codel"
    target: Span = "5 ms"
    """The standing delay to tolerate. Default 5 ms (RFC 8289 §4.4)."""

    interval: Span = "100 ms"
    """The time over which a delay counts as standing: about the longest round trip. Default 100 ms (RFC 8289 §4.3)."""

    ecn: Truth = False
    """Mark ECN-capable packets instead of dropping them (RFC 8289 §5.6, as in RFC 8290 §4.2). Default false."""


class FqCodelQueue(Part):
    """FlowQueue-CoDel (RFC 8290)."""

    TAG: ClassVar[str] = "name"
    name: Literal["fq-codel"] = "fq-codel"
    target: Span = "5 ms"
    """The standing delay to tolerate. Default 5 ms (RFC 8290 §5.2.2)."""

    interval: Span = "100 ms"
    """The time over which a delay counts as standing. Default 100 ms (RFC 8290 §5.2.1)."""

    quantum: Bytes = "1514 B"
    """Bytes per round and queue. Default 1514 B (RFC 8290 §5.2.4)."""

    queues: Annotated[Whole, Field(ge=0)] = 1024
    """How many queues flows are hashed into, at least 1; two flows that meet in one share it. Which ones meet
    depends on the seed (RFC 8290 §4.1.1). Default 1024 (RFC 8290 §5.2.5).
    """

    ecn: Truth = True
    """Mark ECN-capable packets instead of dropping them early. Default true (RFC 8290 §5.2.6)."""


CakeIsolation: TypeAlias = Literal[
    "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"
]
"""Between whom CAKE shares the line. The hosts of a flow are the two nodes between which it runs.

- ``flowblind``: Nobody: one queue for each tin.
- ``srchost``: Hosts that send.
- ``dsthost``: Hosts that receive.
- ``hosts``: Pairs of hosts.
- ``flows``: Flows.
- ``dual-srchost``: Hosts that send, and the flows of each.
- ``dual-dsthost``: Hosts that receive, and the flows of each.
- ``triple-isolate``: Hosts on both sides, and the flows of each: a flow gets its part of the busier one of its
  two hosts.
"""


CakeTins: TypeAlias = Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"]
"""How many tins there are, and what for.

- ``besteffort``: One for all.
- ``diffserv3``: Three: bulk (CS1, LE), voice (EF, VA, CS6, CS7), and all others.
- ``diffserv4``: Four: bulk, best effort, video (AF21 to AF43, CS2, CS3), voice (EF, VA, CS4 to CS7).
- ``diffserv8``: Eight, from least effort to network control.
- ``precedence``: Eight, by the three bits that were IP precedence once (RFC 791), 7 before all others. Obsolete
  (tc-cake).
"""


Codepoint: TypeAlias = Literal[
    "LE",
    "CS1",
    "AF11",
    "AF12",
    "AF13",
    "CS2",
    "AF21",
    "AF22",
    "AF23",
    "CS3",
    "AF31",
    "AF32",
    "AF33",
    "CS4",
    "AF41",
    "AF42",
    "AF43",
    "CS5",
    "VA",
    "EF",
    "CS6",
    "CS7",
    "CS0",
]
"""A codepoint of the differentiated services field (RFC 2474, RFC 2597, RFC 3246, RFC 5865, RFC 8622).

- ``LE``: Lower effort.
- ``CS1``: Class selector 1, once for bulk.
- ``AF11``: Assured forwarding 1, low drop precedence.
- ``AF12``: Assured forwarding 1, medium drop precedence.
- ``AF13``: Assured forwarding 1, high drop precedence.
- ``CS2``: Class selector 2.
- ``AF21``: Assured forwarding 2, low drop precedence.
- ``AF22``: Assured forwarding 2, medium drop precedence.
- ``AF23``: Assured forwarding 2, high drop precedence.
- ``CS3``: Class selector 3.
- ``AF31``: Assured forwarding 3, low drop precedence.
- ``AF32``: Assured forwarding 3, medium drop precedence.
- ``AF33``: Assured forwarding 3, high drop precedence.
- ``CS4``: Class selector 4.
- ``AF41``: Assured forwarding 4, low drop precedence: video calls.
- ``AF42``: Assured forwarding 4, medium drop precedence.
- ``AF43``: Assured forwarding 4, high drop precedence.
- ``CS5``: Class selector 5.
- ``VA``: Voice admit.
- ``EF``: Expedited forwarding: voice.
- ``CS6``: Class selector 6: network control.
- ``CS7``: Class selector 7.
- ``CS0``: Best effort.
"""


class Codepoints(Part):
    """The codepoint of some flows."""

    flows: Sequence[NamedFlow] = ()
    """The flows, by the names of groups or flows, or by numbers counted from 0 over all groups in their order."""

    codepoint: Codepoint = "CS0"
    """The codepoint of their packets, ``"EF"`` or ``"CS1"``."""


CakeFraming: TypeAlias = Literal["none", "atm", "ptm"]
"""How the line carries packets.

- ``none``: As they are.
- ``atm``: In ATM cells of 53 bytes, each with 48 of the packet, the last one filled up (ADSL).
- ``ptm``: In PTM blocks: one byte more for each 64, or part of 64 (VDSL2).
"""


CakeAckFilter: TypeAlias = Literal["off", "on", "aggressive"]
"""Which acknowledgements go.

- ``off``: None.
- ``on``: The older of two that both say less than the newest.
- ``aggressive``: Also the only one, where the newest stands right behind it.
"""


class CakeQueue(Part):
    """CAKE (Høiland-Jørgensen, Täht and Morton 2018)."""

    TAG: ClassVar[str] = "name"
    name: Literal["cake"] = "cake"
    rate: BitRate | None = None
    """The rate to shape to, framing included: a little less than that of the line behind, so that packets wait here.
    None by default: the link's own rate is what they wait for.
    """

    rtt: Span = "100 ms"
    """The round trip to expect: COBALT's interval. Its target is a twentieth. Default 100 ms, for the Internet."""

    isolation: CakeIsolation = "triple-isolate"
    """Between whom the line is shared. Default ``"triple-isolate"``."""

    tins: CakeTins = "diffserv3"
    """How many tins there are. Default ``"diffserv3"``."""

    codepoints: Sequence[Codepoints] = ()
    """The codepoints of flows; those named nowhere send ``CS0``. What goes out of band, ahead of all others, counts
    as ``CS6``.
    """

    overhead: Bytes = "0 B"
    """Bytes that the line adds to each packet, at most 256. Default 0 B."""

    least_frame: Bytes = "0 B"
    """The smallest frame on the line with its overhead (``mpu``), at most 256 B. Default 0 B."""

    framing: CakeFraming = "none"
    """How the line carries frames. Default ``"none"``."""

    ingress: Truth = False
    """Whether packets that are dropped count for the shaper as if they had left (``ingress``): for a queue behind
    the bottleneck, which can only drop what has crossed the line already. At least two thirds of the rate leave
    in any case. Default false.
    """

    autorate_ingress: Truth = False
    """Whether the shaper follows an estimate of the rate that arrives (``autorate-ingress``), at 15/16 of it;
    ``rate`` is then the first estimate, without which nothing is shaped until there is one. Default false.
    """

    ack_filter: CakeAckFilter = "off"
    """Whether an acknowledgement that waits goes when a later one says all that it says; one that says more than a
    number, as ranges do, stays. Default ``"off"``.
    """


class Dualpi2Queue(Part):
    """DualPI2 (RFC 9332)."""

    TAG: ClassVar[str] = "name"
    name: Literal["dualpi2"] = "dualpi2"
    target: Span = "15 ms"
    """The classic queue's delay to settle at. Default 15 ms (RFC 9332 §A.1)."""

    period: Span = "15 ms"
    """The period of the base probability. Default 15 ms: the lesser of the target and a third of the longest round
    trip, 100 ms (RFC 9332 §A.1). The Linux version rounds to 16 ms, and its gains to 0.16 and 3.2.
    """

    alpha: Number = 0.15
    """Gain of the delay's distance from the target, per second, above 0. Default 0.15: a tenth of the period over
    the square of the longest round trip (RFC 9332 §A.1).
    """

    beta: Number = 3.0
    """Gain of the delay's change, per second, above 0. Default 3: 0.3 over the longest round trip (RFC 9332 §A.1)."""

    coupling: Number = 2.0
    """The coupling factor k, at least 1. Default 2 (RFC 9332 §2.1)."""

    ramp_min: Span = "800 µs"
    """The L4S queue's delay from which its own marking sets in. Default 0.8 ms (RFC 9332 §A.1)."""

    ramp_max: Span = "1200 µs"
    """The L4S queue's delay from which its own marking marks all. Default 1.2 ms (RFC 9332 §A.1)."""

    classic_share: Number = 0.0625
    """The part of the rate that the classic queue gets at least, above 0, below 1. Default 1/16 (RFC 9332 §4.2.2)."""


class AvqQueue(Part):
    """Adaptive virtual queue (Kunniyur and Srikant 2001)."""

    TAG: ClassVar[str] = "name"
    name: Literal["avq"] = "avq"
    target: Number = 0.98
    """The target utilization γ, above 0, at most 1. Default 0.98 (2001, §4)."""

    gain: Number = 0.15
    """The gain α of the virtual capacity, above 0. Default 0.15 (2001, §4); larger adapts faster, and oscillates
    where round trips are long.
    """

    virtual_buffer: DataAmount | None = None
    """The virtual buffer B. Default: as large as the link's, or 100 packets where that is unlimited."""

    ecn: Truth = False
    """Mark ECN-capable packets instead of dropping them (RFC 3168). Default false."""


class AvdQueue(Part):
    """Adaptive virtual delay (Xia et al., §IV-D)."""

    TAG: ClassVar[str] = "name"
    name: Literal["avd"] = "avd"
    target: Number = 0.98
    """The target utilization γ, above 0, at most 1. Default 0.98 (§V-A)."""

    gain: Number = 0.15
    """The gain α of the virtual capacity, above 0. Default 0.15 (Kunniyur and Srikant 2001, §4)."""


class StepQueue(Part):
    """Step marking (RFC 8257 §3.1)."""

    TAG: ClassVar[str] = "name"
    name: Literal["step"] = "step"
    threshold: DataAmount = "20 packets"
    """K: a packet is marked where so much or more waits before it, in packets or bytes. Packets count whatever their
    size: where acknowledgements of flows the other way wait too, an amount in bytes (``"97.5 kB"`` for 65 packets
    of 1500 B) keeps them from counting like full ones. Above 0; default 20 packets (Alizadeh et al. 2010, §3.1,
    for 1 Gbit/s; 65 for 10 Gbit/s).
    """

    drop_others: Truth = False
    """Drop what is not ECN-capable at the threshold, as RED's switches do. Default false: it waits until the buffer
    is full.
    """


Load: TypeAlias = Literal["busy", "offered"]
"""What the utilization factor ρ is measured by.

- ``busy``: The part of the time in which the server is busy: at most 1.
- ``offered``: The service of what arrives, dropped or not, over the time: λ/μ, which is above 1 in overload.
"""


class Rho(Part):
    """Marks for utilization ρ."""

    min: Number = 0.9
    """Average below which nothing is marked, 0 to 1, or to 1000 with ``load = "offered"``. Default 0.9."""

    max: Number = 1.0
    """Average above which every packet is marked, ``min`` to 1, or to 1000 with ``load = "offered"``; with both at
    the largest value nothing is ever marked. Default 1.0.
    """

    max_p: Number = 0.02
    """Probability of a mark at ``max``, above 0, at most 1. Default 0.02 (Floyd and Jacobson 1993, §10)."""

    weight: Number = 0.25
    """Weight of a window in the average, above 0, at most 1. Default 0.25."""

    load: Load = "busy"
    """What ρ is measured by: ``busy``, the part of the time that the link transmits, or ``offered``, all that
    arrives. Default ``busy``.
    """


Delay: TypeAlias = Literal["waiting", "work"]
"""What the queueing delay V(t) of η counts.

- ``waiting``: The service of what waits, without the packet in transmission.
- ``work``: All unfinished work, what is left of the packet in transmission included.
"""


class Eta(Part):
    """Marks for burstiness η."""

    min: Number = 0.1
    """Average below which nothing is marked, 0 to 1. Default 0.1."""

    max: Number = 0.2
    """Average above which every packet is marked, ``min`` to 1; with both at 1 nothing is ever marked. Default 0.2."""

    max_p: Number = 0.02
    """Probability of a mark at ``max``, above 0, at most 1. Default 0.02 (Floyd and Jacobson 1993, §10)."""

    weight: Number = 0.01
    """Weight of a busy period in the average, above 0, at most 1. Default 0.01."""

    delay: Delay = "waiting"
    """What the queueing delay counts: ``waiting``, packets that wait, or ``work``, also the packet in transmission.
    Default ``waiting``.
    """


MarkForm: TypeAlias = Literal["two-bits", "codepoints", "one-bit"]
"""How packets bear marks for utilization and for burstiness.

- ``two-bits``: In two bits of their own, which every packet has.
- ``codepoints``: In the ECN field of ECN-capable packets: congestion experienced for utilization, which replaces
  all, and ECT(1) in place of ECT(0) for burstiness (the encoding of RFC 6660 §3, whose two marks these are).
- ``one-bit``: As congestion experienced, for either, on ECN-capable packets (RFC 3168).
"""


class TdqmQueue(Part):
    """Two-dimensional queue management (Li and Mills, §II)."""

    TAG: ClassVar[str] = "name"
    name: Literal["tdqm"] = "tdqm"
    window: Span | None = None
    """The window w over which utilization is measured. Default: half the time in which a full buffer drains (§II-A,
    §IV-B), or 10 ms where the buffer is unlimited.
    """

    shortest_busy_period: Span | None = None
    """The length b beyond which a busy period gives a sample of burstiness by itself. Default: 0.025 w (§IV-B)."""

    rho: Rho = Rho()
    """Marks for utilization. Default: thresholds 0.9 and 1.0 (§IV-B)."""

    eta: Eta = Eta()
    """Marks for burstiness. Default: thresholds 0.1 and 0.2 (§IV-B)."""

    marks: MarkForm = "two-bits"
    """How packets bear the marks: ``two-bits``, ``codepoints`` or ``one-bit``. Default ``two-bits``."""


class BucketClass(Part):
    """A class of flows with a token bucket of its own."""

    flows: Sequence[NamedFlow] = ()
    """The flows, by the names of groups or flows, or by numbers counted from 0 over all groups in their order."""

    rate: BitRate = "1 Mbit/s"
    """The rate of tokens. Default 1 Mbit/s."""

    burst: Bytes = "15 kB"
    """The bucket's depth. Default 15 kB."""

    queue: Queue = DropTailQueue()
    """The queue of waiting packets. Default drop-tail."""


class TokenBucketQueue(Part):
    """Token bucket shaper, alone or over classes with buckets of their own."""

    TAG: ClassVar[str] = "name"
    name: Literal["token-bucket"] = "token-bucket"
    rate: BitRate | None = None
    """The rate of tokens, at most the link's to have an effect. Default: the link's rate."""

    burst: Bytes = "15 kB"
    """The bucket's depth: how much may pass at the link's rate. A larger packet passes when the bucket is full.
    Default 15 kB.
    """

    queue: Queue = DropTailQueue()
    """The queue of waiting packets; one more waits at its head. Default drop-tail."""

    classes: Sequence[BucketClass] = ()
    """Classes with a bucket of their own under the common one. Flows named nowhere need only the common bucket."""


class PolicerQueue(Part):
    """Policer: drops what exceeds a token bucket."""

    TAG: ClassVar[str] = "name"
    name: Literal["policer"] = "policer"
    rate: BitRate = "1 Mbit/s"
    """The rate of tokens. Default 1 Mbit/s."""

    burst: Bytes = "15 kB"
    """The bucket's depth. A larger packet passes when the bucket is full, and leaves a debt. Default 15 kB."""


Setting: TypeAlias = Truth | Number | Text
"""A value that a scenario hands to a custom part."""


class CustomQueue(Part):
    """A custom discipline, registered in the process that runs the scenario."""

    TAG: ClassVar[str] = "name"
    name: Literal["custom"] = "custom"
    part: Text = ""
    """The name under which the discipline was registered in the process that runs the scenario."""

    settings: Mapping[str, Setting] = Field(default_factory=dict)
    """What it is told, by the names that it knows."""


Queue: TypeAlias = Annotated[
    DropTailQueue
    | DropHeadQueue
    | RandomDropQueue
    | PriorityQueue
    | RoundRobinQueue
    | WeightedRoundRobinQueue
    | CellRoundRobinQueue
    | FramedRoundRobinQueue
    | HierarchicalRoundRobinQueue
    | DeficitRoundRobinQueue
    | SelfClockedFairQueueing
    | WeightedFairQueueing
    | VirtualClockQueue
    | RedQueue
    | RemQueue
    | PiQueue
    | PieQueue
    | CodelQueue
    | FqCodelQueue
    | CakeQueue
    | Dualpi2Queue
    | AvqQueue
    | AvdQueue
    | StepQueue
    | TdqmQueue
    | TokenBucketQueue
    | PolicerQueue
    | CustomQueue,
    Field(discriminator="name"),
]
"""A queue discipline with its parameters, as scenarios name it."""


QueueOrName: TypeAlias = (
    Literal[
        "drop-tail",
        "drop-head",
        "random-drop",
        "priority",
        "round-robin",
        "weighted-round-robin",
        "cell-round-robin",
        "framed-round-robin",
        "hierarchical-round-robin",
        "deficit-round-robin",
        "self-clocked-fair-queueing",
        "weighted-fair-queueing",
        "virtual-clock",
        "red",
        "rem",
        "pi",
        "pie",
        "codel",
        "fq-codel",
        "cake",
        "dualpi2",
        "avq",
        "avd",
        "step",
        "tdqm",
        "token-bucket",
        "policer",
        "custom",
    ]
    | Queue
)
"""The bare name stands for the table with this name and every parameter at its default."""


class ConstantSpanDistribution(Part):
    """Always the same."""

    TAG: ClassVar[str] = "name"
    name: Literal["constant"] = "constant"
    value: Span
    """The value."""


class ExponentialSpanDistribution(Part):
    """Exponential."""

    TAG: ClassVar[str] = "name"
    name: Literal["exponential"] = "exponential"
    mean: Span
    """The mean."""


class ParetoSpanDistribution(Part):
    """Pareto: ``P(X > x) = (min/x)^shape`` for x above ``min``. Give either ``mean`` (with a shape above 1) or
    ``min``.
    """

    TAG: ClassVar[str] = "name"
    name: Literal["pareto"] = "pareto"
    shape: Number
    """The tail's exponent; below 2 the variance is infinite."""

    mean: Span | None = None
    """The mean, ``min · shape / (shape - 1)``."""

    min: Span | None = None
    """The smallest value."""


class UniformSpanDistribution(Part):
    """Uniform between two ends."""

    TAG: ClassVar[str] = "name"
    name: Literal["uniform"] = "uniform"
    from_: Annotated[Span, Field(alias="from")]
    """The lower end."""

    to: Span
    """The upper end."""


class WeibullSpanDistribution(Part):
    """Weibull: ``P(X > x) = exp(-(x/scale)^shape)``, with the scale that gives the mean."""

    TAG: ClassVar[str] = "name"
    name: Literal["weibull"] = "weibull"
    mean: Span
    """The mean."""

    shape: Number
    """The exponent; below 1 the tail is heavier than exponential."""


class LognormalSpanDistribution(Part):
    """Log-normal."""

    TAG: ClassVar[str] = "name"
    name: Literal["lognormal"] = "lognormal"
    mean: Span
    """The mean of the values (not of their logarithms)."""

    sigma: Number
    """The standard deviation of the values' natural logarithms."""


class EmpiricalSpanDistribution(Part):
    """One of a list of measured values, each as likely as the others; or a measured distribution function, as
    published sizes of flows are given.
    """

    TAG: ClassVar[str] = "name"
    name: Literal["empirical"] = "empirical"
    values: Sequence[Span]
    """The values; repeat one to make it more likely. With ``cumulative`` in rising order."""

    cumulative: Sequence[Number] | None = None
    """The probability that a draw is at most each of the values, up to 1. Between two values draws are spread
    evenly; the first value itself is drawn with the first probability, and a value that stands there twice with
    the difference of its two. Absent, values are drawn as they are, each as likely as the others.
    """


SpanDistribution: TypeAlias = Annotated[
    ConstantSpanDistribution
    | ExponentialSpanDistribution
    | ParetoSpanDistribution
    | UniformSpanDistribution
    | WeibullSpanDistribution
    | LognormalSpanDistribution
    | EmpiricalSpanDistribution,
    Field(discriminator="name"),
]
"""A distribution of times or of amounts of data."""


SpanOrDistribution: TypeAlias = Span | SpanDistribution
"""A value alone is always drawn, as by the distribution ``constant``."""


class Coalescing(Part):
    """The far end takes packets in batches, as a network card that coalesces interrupts or a host whose program must
    first wake up: the first packet of a batch waits for a time, and all that arrive meanwhile are taken with it,
    in their order. This is ``rx-usecs`` of ``ethtool`` without a greatest number of packets (``rx-frames``). A
    packet that waits counts as being on the wire: it arrives, for what is recorded too, when it is taken. What is
    lost on the wire begins no batch, and what ``reordering`` holds back joins a batch when it arrives at last.
    """

    time: SpanOrDistribution
    """How long a batch waits from its first packet on, drawn for each: a time, or a distribution of times."""


HostCoalescing: TypeAlias = Coalescing | Sequence[Coalescing]
"""How hosts of their own take packets: all alike, or each in turn as a list says."""


class Access(Part):
    """The links between hosts and their router in a template, the same in both directions."""

    rate: BitRate | None = None
    """The rate; ten times that of the links between routers where absent, and at least 100 Mbit/s, so that hosts are
    not what limits flows.
    """

    delay: Spread = "5 ms"
    """The one-way propagation delay: one for all hosts, a list dealt out in turn (``["1 ms", "2 ms"]``), or ``{
    from, to }`` spread evenly over the hosts.
    """

    buffer: Capacity = "unlimited"
    """How much may wait."""

    queue: QueueOrName = DropTailQueue()
    """The queue discipline."""

    coalescing: HostCoalescing | None = None
    """Hosts take packets in batches, all alike or each in turn as a list says; one by one where absent."""


AckDetail: TypeAlias = Literal["off", "trigger"]
"""What acknowledgements say beyond RFC 2018.

- ``off``: Nothing.
- ``trigger``: The number of the segment that caused them: with the cumulative number it gives packet-pair's
  offset (Keshav 1994, appendix).
"""


class Adaptive(Part):
    """How a sender finds g."""

    most: Number = 64.0
    """The largest g: how much slower than a packet per round trip a flow may become. 1 to 1000; default 64."""

    least: Number = 0.125
    """The smallest g: how much faster than a window per round trip. 0.01 to 1; default 0.125."""

    patience: Annotated[Whole, Field(ge=0)] = 4
    """So many round trips without an echo or a loss are enough to be bold. 1 to 1000; default 4."""


Counting: TypeAlias = Literal["per-ack", "bytes"]
"""What one acknowledgement counts for when a window grows.

- ``per-ack``: For one segment, however much it acknowledges (RFC 5681 §3.1; ns-2): delayed acknowledgements slow
  growth.
- ``bytes``: For the bytes that it acknowledges (appropriate byte counting, RFC 3465).
"""


Halve: TypeAlias = Literal["flight", "window"]
"""What a window is reduced from when congestion shows.

- ``flight``: From the data in flight (RFC 5681 equation 4).
- ``window``: From the congestion window itself, as ns-2 does.
"""


class RenoFields(Part):
    """What Reno, Newreno and Sack have in common."""

    counting: Counting = "per-ack"
    """What an acknowledgement counts for: ``per-ack`` (RFC 5681, ns-2) or ``bytes`` (RFC 3465)."""

    slow_start_limit: Number = 2.0
    """L of RFC 3465 §2.2: with ``counting = "bytes"``, at most so many segments of growth per acknowledgement in
    slow start. In segments, at least 1; default 2.
    """

    halve: Halve = "flight"
    """What the threshold is half of: ``flight``, the data in flight (RFC 5681 equation 4), or ``window`` (ns-2)."""

    grow_on_exit: Truth = False
    """Whether the acknowledgement that ends fast recovery also grows the window, as in ns-2's Reno and NewReno;
    default false: RFC 5681 §3.2 step 6 and RFC 6582 §3.2 step 3 set the window to the threshold and no more.
    """


class Reno(RenoFields):
    """TCP Reno (RFC 5681)."""

    TAG: ClassVar[str] = "name"
    name: Literal["reno"] = "reno"


class Newreno(RenoFields):
    """TCP NewReno (RFC 6582)."""

    TAG: ClassVar[str] = "name"
    name: Literal["newreno"] = "newreno"


class Sack(RenoFields):
    """TCP with selective acknowledgements (RFC 6675) and Reno's window law."""

    TAG: ClassVar[str] = "name"
    name: Literal["sack"] = "sack"


class Cubic(Part):
    """CUBIC (RFC 9438)."""

    TAG: ClassVar[str] = "name"
    name: Literal["cubic"] = "cubic"
    beta: Number = 0.7
    """β: the window is multiplied by this at congestion. Default 0.7 (RFC 9438 §4.6)."""

    c: Number = 0.4
    """C: how steep the cubic is, in segments per second cubed. Default 0.4 (RFC 9438 §4.1, §5)."""

    fast_convergence: Truth = True
    """Whether a flow that lost at a smaller window than before gives up more (RFC 9438 §4.7). Default true."""

    reno_friendly: Truth = True
    """Whether the window is never below what Reno would have (RFC 9438 §4.3). Default true."""

    reno_slope: Truth = True
    """Whether Reno's window in that comparison grows by a segment per round trip, as Reno's own does, once it is
    where the last congestion was (RFC 9438 §4.3, at the end). Otherwise it goes on by α, as in RFC 8312 §4.2.
    Default true.
    """

    hystart: Truth = False
    """Whether the initial slow start ends when round trip times rise (RFC 9406). Default false."""

    counting: Counting = "per-ack"
    """What an acknowledgement counts for: ``per-ack`` (the RFC's text) or ``bytes`` (RFC 3465)."""

    slow_start_limit: Number = 2.0
    """With ``counting = "bytes"``, at most so many segments of growth per acknowledgement in slow start (L of RFC
    3465 §2.2). At least 1; default 2.
    """

    halve: Halve = "flight"
    """What the window is reduced from: ``flight``, the data in flight (RFC 9438 §4.6), or ``window``."""

    whole_segments: Truth = False
    """Whether windows are whole segments and grow as in Linux: looked at once in 31 ms while they stay, and beside
    Reno by α whatever ``reno_slope`` says. Default false.
    """


class Bbr1(Part):
    """BBR, version 1 (Cardwell et al. 2016, as in Linux)."""

    TAG: ClassVar[str] = "name"
    name: Literal["bbr1"] = "bbr1"
    policer: Truth = True
    """Whether it looks for a policer, as Linux does: two intervals that lose 50/256 of what they deliver at about
    one rate. It takes random loss of 13 % and more for one. Without, it bears almost 20 %, as in Cardwell et al.
    2016. Default true.
    """

    whole_packets: Truth = False
    """Whether acknowledgements that bunch are counted in whole packets, as in Linux: those expected by now are
    rounded down, and the window has room for one packet more. Default false.
    """


class Bbr3(Part):
    """BBR, version 3 (draft-ietf-ccwg-bbr-06)."""

    TAG: ClassVar[str] = "name"
    name: Literal["bbr3"] = "bbr3"
    ack_frequency: Truth = False
    """Whether the receiver is asked how often to acknowledge, by what BBR is about (§4.1.3.3 of the draft): after 1
    or 2 packets where it measures, after up to a quarter of the window or half a round trip time where it sends
    at the rate. Default false: it acknowledges as it is configured.
    """


class Copa(Part):
    """Copa (Arun and Balakrishnan, NSDI 2018)."""

    TAG: ClassVar[str] = "name"
    name: Literal["copa"] = "copa"
    delta: Number = 0.5
    """δ of the default mode: the flow keeps about 1.25/δ packets queued. Above 0, at most 10; default 0.5."""

    competitive: Truth = True
    """Whether it competes with flows that fill buffers. Default true."""


class Vivace(Part):
    """PCC Vivace (Dong et al., NSDI 2018): performance-oriented congestion control."""

    TAG: ClassVar[str] = "name"
    name: Literal["vivace"] = "vivace"
    exponent: Number = 0.9
    """t: the power of the rate, in Mbit/s. Above 0, below 1; default 0.9."""

    latency: Number = 900.0
    """b: what a second of round trip time more per second costs. 0 to 1000000; default 900; 0 is the variant for
    loss alone.
    """

    loss: Number = 11.35
    """c: what loss costs. 0 to 1000000; default 11.35."""


class Prague(Part):
    """TCP Prague (draft-briscoe-iccrg-prague-congestion-control-04)."""

    TAG: ClassVar[str] = "name"
    name: Literal["prague"] = "prague"
    reference_rtt: Span = "25 ms"
    """The round trip time that shorter ones behave like; ``0 s`` for no such independence. At most 1 s; default 25
    ms.
    """


EcnEcho: TypeAlias = Literal["latched", "per-packet", "state-change", "counted", "codepoints", "hidden"]
"""How a receiver echoes congestion marks.

- ``latched``: On all acknowledgements from a mark until the sender says that it reduced its window (RFC 3168
  §6.1.3).
- ``per-packet``: On the acknowledgement of the marked packets only.
- ``state-change``: On every acknowledgement, as the newest packet in order was or was not marked. Where that
  changes, what waits to be acknowledged is so at once, with the old value: so that a sender can tell marked bytes
  from others though acknowledgements are delayed (DCTCP, RFC 8257 §3.2).
- ``counted``: Not at all as such: acknowledgements count the marked packets so far, so that none is missed where
  acknowledgements are delayed, merged or lost, as in accurate ECN feedback (RFC 9768 §3.2). The marks of
  utilization and burstiness are counted likewise. A packet with congestion experienced is acknowledged at once.
- ``codepoints``: Counted, where two marks share the ECN field: ECT(0) was sent, ECT(1) is a mark of burstiness,
  and congestion experienced one of utilization. Packets lose the former where they get the latter.
- ``hidden``: Not at all: a receiver that hides marks to get more than its share. No scheme can ask for another
  echo.
"""


class Dctcp(Part):
    """Data Center TCP (RFC 8257)."""

    TAG: ClassVar[str] = "name"
    name: Literal["dctcp"] = "dctcp"
    g: Number = 0.0625
    """g: the weight of the newest window's marks in α. Above 0, at most 1; default 1/16 (RFC 8257 §4.2)."""

    initial_alpha: Number = 1.0
    """α before the first window, 0 to 1. Default 1, the cautious choice (RFC 8257 §4.2)."""

    echo: EcnEcho = "state-change"
    """How the receiver echoes marks: ``state-change`` (RFC 8257 §3.2), ``counted`` (the exact number, as in RFC
    9768), or, to see why DCTCP needs a receiver of its own, ``latched`` (RFC 3168) or ``per-packet``. Default
    ``state-change``.
    """


class Highspeed(Part):
    """HighSpeed TCP (RFC 3649)."""

    TAG: ClassVar[str] = "name"
    name: Literal["highspeed"] = "highspeed"
    low_window: Number = 38.0
    """``Low_Window``: up to this window it is Reno, in segments. At least 1; default 38 (RFC 3649 §5)."""

    high_window: Number = 83000.0
    """``High_Window``: where the loss rate is ``high_loss``, in segments. Above ``low_window``; default 83000."""

    high_loss: Number = 1e-07
    """``High_P``: the loss rate at ``high_window``. Above 0, below 0.001; default 10⁻⁷."""

    high_decrease: Number = 0.1
    """``High_Decrease``: the part given up at ``high_window``. Above 0, at most 0.5; default 0.1."""


class WestwoodPlus(Part):
    """TCP Westwood+ (Grieco and Mascolo 2004)."""

    TAG: ClassVar[str] = "name"
    name: Literal["westwood-plus"] = "westwood-plus"


class Illinois(Part):
    """TCP Illinois (Liu, Başar and Srikant 2008)."""

    TAG: ClassVar[str] = "name"
    name: Literal["illinois"] = "illinois"


class Compound(Part):
    """Compound TCP (Tan, Song, Zhang and Sridharan 2006)."""

    TAG: ClassVar[str] = "name"
    name: Literal["compound"] = "compound"
    gamma: Number = 30.0
    """γ: with fewer segments queued the delay window grows. Above 0, at most 1000000; default 30."""


class Ledbat(Part):
    """LEDBAT (RFC 6817)."""

    TAG: ClassVar[str] = "name"
    name: Literal["ledbat"] = "ledbat"
    target: Span = "100 ms"
    """TARGET: the queueing delay to settle at. Above 0 s; default 100 ms, which is also the most that RFC 6817 §2.5
    allows.
    """

    gain: Number = 1.0
    """GAIN: segments per round trip that the window grows by without queue. Above 0, at most 1 (RFC 6817 §2.5);
    default 1.
    """

    allowed_increase: Number = 1.0
    """``ALLOWED_INCREASE``: segments that the window may exceed what was outstanding. Above 0, at most 1000; default
    1.
    """

    clock_drift: Number = 0.0
    """By how many parts in a million the receiver's clock runs fast (or, below 0, slow), -1000 to 1000. Default 0.
    Fast, it adds to what LEDBAT takes for queueing, until the base delay forgets (RFC 6817 §2.4.2:
    ``BASE_HISTORY``, ten minutes).
    """


class LedbatPlusPlus(Part):
    """LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06)."""

    TAG: ClassVar[str] = "name"
    name: Literal["ledbat-plus-plus"] = "ledbat-plus-plus"
    target: Span = "60 ms"
    """T: the queueing delay to settle at. Above 0 s, at most 10 s; default 60 ms."""

    slowdowns: Truth = True
    """Whether the queue is emptied from time to time. Default true; without, a late flow takes a standing queue for
    the path.
    """


Retransmission: TypeAlias = Literal["fine-grained", "sack"]
"""How TCP Vegas repairs losses.

- ``fine-grained``: As published: by duplicate acknowledgements, and a timer of fine grain that need not wait for
  three of them (Brakmo and Peterson 1995).
- ``sack``: By selective acknowledgements (RFC 6675).
"""


class VegasFields(Part):
    """What Vegas and VegasK have in common."""

    alpha: Number = 1.0
    """α (ε1 of equation 9): with a backlog below this the window grows, in packets. Default 1."""

    beta: Number = 3.0
    """β (ε2 of equation 9): with a backlog above this the window shrinks, in packets, at least α. Default 3."""

    gamma: Number = 1.0
    """γ: with a backlog above this slow start ends, in packets. Default 1."""

    retransmission: Retransmission = "fine-grained"
    """How losses are repaired. Default fine-grained, as published."""


class Vegas(VegasFields):
    """TCP Vegas (Brakmo and Peterson 1995)."""

    TAG: ClassVar[str] = "name"
    name: Literal["vegas"] = "vegas"


class VegasK(VegasFields):
    """TCP Vegas with a bounded memory of round trip times (Mo et al. 1999; Xia et al., §IV-A)."""

    ORDER: ClassVar[tuple[str, ...]] = ("alpha", "beta", "gamma", "history", "retransmission")
    TAG: ClassVar[str] = "name"
    name: Literal["vegas-k"] = "vegas-k"
    history: Annotated[Whole, Field(ge=0)] = 10
    """k: the propagation delay is the smallest round trip time of so many rounds, at least 1 (Mo et al. 1999).
    Default 10: neither paper gives one.
    """


Estimator: TypeAlias = Literal["monaco", "vegas", "vegas-k"]
"""How accumulation is measured.

- ``monaco``: By the receiver, with a pair of control packets per round trip (§IV-B.1); wants a priority lane.
- ``vegas``: By the sender, from round trip times above the smallest of all (§IV-A).
- ``vegas-k``: By the sender, from round trip times above the smallest of the last ``history`` rounds (§IV-A).
"""


class AccumulationFields(Part):
    """What AccumulationAiad, AccumulationMw, AccumulationP and Monaco have in common."""

    target: DataAmount = "3 packets"
    """a*: how much of the flow is to be queued in the network, and its weight in the fair shares. Default 3 packets
    (Table I).
    """

    kappa: Number | None = None
    """κ, the law's gain per round trip: 0.5 for the proportional law and 0.5 packets for AIAD (Table I), 100 packets
    per second for MW. Unset: the law's.
    """

    estimator: Estimator = "monaco"
    """How accumulation is measured. Default monaco."""

    history: Annotated[Whole, Field(ge=0)] = 10
    """Rounds that the estimator ``vegas-k`` remembers, at least 1. Default 10."""

    egress_gain: Number = 0.5
    """Gain of the average of the egress rate, one sample per round trip, in (0, 1]; for the estimator ``monaco``.
    Default 0.5: the paper gives none.
    """

    gamma: DataAmount | Literal["none"] = "1 packet"
    """γ: slow start, in which the window doubles every other round trip, ends when more than this is queued;
    ``"none"`` for no slow start. Default 1 packet (Brakmo and Peterson 1995; the paper is silent).
    """

    decrease: Number = 0.5
    """What loss multiplies the window by, in (0, 1). Default 0.5 (§IV-B.2)."""

    pace: Truth = True
    """Whether packets leave one by one at ``cwnd / rtt`` (§IV-B.2) rather than as acknowledgements release them.
    Default true.
    """

    min_timeout: Span = "200 ms"
    """The shortest time-out of control packets. Default 200 ms."""

    early_pairs: Truth = True
    """Whether a pair of control packets is given up, and the next one sent, as soon as data that left well after it
    is acknowledged. Default true; the paper has the time-out alone.
    """

    clock: Span = "0 s"
    """The granularity of both ends' clocks, in multiples of which the estimators measure; ``"0 s"``, the default,
    for exact ones.
    """


class AccumulationAiad(AccumulationFields):
    """Additive increase and decrease towards a target accumulation (Xia et al., equation 3)."""

    TAG: ClassVar[str] = "name"
    name: Literal["accumulation-aiad"] = "accumulation-aiad"


class AccumulationMw(AccumulationFields):
    """Mo and Walrand's law towards a target accumulation (Xia et al., equation 5)."""

    TAG: ClassVar[str] = "name"
    name: Literal["accumulation-mw"] = "accumulation-mw"


class AccumulationP(AccumulationFields):
    """Proportional control towards a target accumulation (Xia et al., equation 6)."""

    TAG: ClassVar[str] = "name"
    name: Literal["accumulation-p"] = "accumulation-p"


class Monaco(AccumulationFields):
    """Monaco (Xia et al., §IV-B): proportional control of an accumulation measured at the receiver."""

    TAG: ClassVar[str] = "name"
    name: Literal["monaco"] = "monaco"


PacketPairControlledAt: TypeAlias = Literal["sender", "receiver"]
"""Which end measures pairs and runs the law.

- ``sender``: The sender, from the spacing of acknowledgements.
- ``receiver``: The receiver, from the spacing of the data itself; it tells the sender its rate (Keshav 1994,
  §10.4).
"""


class FixedPacketPairSetpoint(Part):
    """To a fixed number of packets: for the risk-averse (Keshav 1994, §7)."""

    TAG: ClassVar[str] = "name"
    name: Literal["fixed"] = "fixed"
    packets: Number
    """The setpoint in packets."""


SetpointCut: TypeAlias = Literal["round-trip", "packet"]
"""How often losses lower a setpoint.

- ``round-trip``: Once per round trip of losses.
- ``packet``: For each lost packet.
"""


class ProbedPacketPairSetpoint(Part):
    """To the largest that causes no loss, found by probing: for the risk-taking (§7)."""

    TAG: ClassVar[str] = "name"
    name: Literal["probed"] = "probed"
    initial: Number = 5.0
    """The setpoint to begin with, and after a time-out, in packets. Default 5 (Keshav 1994, Table 2, ``B_INITIAL``)."""

    least: Number = 2.0
    """The smallest setpoint, in packets. Default 2 (Table 2, ``B_MIN``)."""

    increase: Number = 2.0
    """What is added, in packets. Default 2 (Table 2, ``B_ADD_INC_FACTOR``)."""

    every: Annotated[Whole, Field(ge=0)] = 2
    """Every so many round trips. Default 2 (Table 2, ``B_COUNT``)."""

    decrease: Number = 0.75
    """What it is multiplied by at a loss. Default 0.75 (Table 2, ``B_DEC_FACTOR``)."""

    cut: SetpointCut = "round-trip"
    """What counts as one loss: ``round-trip`` (the default), all that is lost of what left before the sender knew of
    the last loss; or ``packet``, each lost packet.
    """


class Table2PacketPairSetpoint(Part):
    """Probed with the parameters of Table 2: 5 at first, +2 every 2 round trips, x 0.75 at a loss."""

    TAG: ClassVar[str] = "name"
    name: Literal["table-2"] = "table-2"


class Section7PacketPairSetpoint(Part):
    """Probed with the gentler parameters of §7: 5 at first, +0.1 every 4 round trips, x 0.6 at a loss."""

    TAG: ClassVar[str] = "name"
    name: Literal["section-7"] = "section-7"


PacketPairSetpoint: TypeAlias = Annotated[
    FixedPacketPairSetpoint | ProbedPacketPairSetpoint | Table2PacketPairSetpoint | Section7PacketPairSetpoint,
    Field(discriminator="name"),
]
"""Where the bottleneck's queue is steered to."""


class ContinuousPacketPairLaw(Part):
    """Eq. 14, at every pair."""

    TAG: ClassVar[str] = "name"
    name: Literal["continuous"] = "continuous"
    attack_up: Number = 1.5
    """J in round trip times while the queue is at or below the setpoint. Published 1.5 (Table 2, ``ATTACK_UP``)."""

    attack_down: Number = 0.8
    """J in round trip times while it is above. Published 0.8 (Table 2, ``ATTACK_DOWN``)."""


class DiscretePacketPairLaw(Part):
    """Eq. 9 with pole placement, once per round trip."""

    TAG: ClassVar[str] = "name"
    name: Literal["discrete"] = "discrete"
    alpha: Number = 0.9
    """α, above 0; below 1 for stability. Published 0.9 (§4.2.1)."""


PacketPairLaw: TypeAlias = Annotated[ContinuousPacketPairLaw | DiscretePacketPairLaw, Field(discriminator="name")]
"""The law that sets the rate."""


ErrorBase: TypeAlias = Literal["observation", "estimate"]
"""What an error is relative to.

- ``observation``: The observation (Keshav 1994, §4.5.2).
- ``estimate``: The estimate (Keshav 1994, appendix).
"""


Overlap: TypeAlias = Literal["exact", "crossed"]
"""How the part that "low" and "medium" have in common is taken from their union.

- ``exact``: As geometry has it.
- ``crossed``: As the published program has it: crossed where "low" applies less than "medium".
"""


class FuzzyServiceEstimator(Part):
    """Fuzzy exponential averaging (Keshav 1994, §4.5)."""

    TAG: ClassVar[str] = "name"
    name: Literal["fuzzy"] = "fuzzy"
    middle_error: Number = 0.7
    """The error at which "medium" applies fully, between 0 and 1. Default 0.7 (Keshav 1994, appendix, ``MP_E``)."""

    middle_weight: Number = 0.5
    """The α at which "medium" peaks, between 0 and 1. Default 0.5 (Keshav 1994, appendix, ``MP_A``)."""

    initial_error: Number = 0.5
    """The smoothed error before any observation, from 0 to 1. Default 0.5 (Keshav 1994, appendix)."""

    relative_to: ErrorBase = "observation"
    """What an error is relative to: ``observation`` (the text) or ``estimate`` (the program)."""

    carry_error: Truth = True
    """Whether the smoothed error is carried from one observation to the next, as the text says; the program forgets
    it. Default true.
    """

    overlap: Overlap = "exact"
    """The union of "low" and "medium": ``exact``, or ``crossed`` as in the program."""

    limit_change: Truth = True
    """Whether a change in error counts as 1 at most, where its fuzzy sets end; the program has no such limit.
    Default true.
    """

    first_ratio: Number | None = None
    """In the first comparison the estimate counts as so many times the observation: 1.5 in the program (Keshav 1994,
    appendix). None, the default, for the estimate itself.
    """


class KalmanServiceEstimator(Part):
    """The Kalman filter of Keshav 1994, §4.4, with given noise."""

    TAG: ClassVar[str] = "name"
    name: Literal["kalman"] = "kalman"
    system_deviation: Number = 0.05
    """The standard deviation of the service rate's change from one observation to the next, as a part of the first
    rate observed. Default 0.05; to be supplied by who knows the network (Keshav 1994, §4.4.2).
    """

    observation_deviation: Number = 0.1
    """The standard deviation of the observation noise, as a part of the first rate observed. Default 0.1; likewise."""


class EwmaServiceEstimator(Part):
    """Exponential averaging with a fixed constant."""

    TAG: ClassVar[str] = "name"
    name: Literal["ewma"] = "ewma"
    history: Number = 0.9
    """α: the weight of history, from 0 (the last observation alone) to below 1. Default 0.9."""


ServiceEstimator: TypeAlias = Annotated[
    FuzzyServiceEstimator | KalmanServiceEstimator | EwmaServiceEstimator, Field(discriminator="name")
]
"""An estimator with its parameters, as scenarios name it."""


PacketPairPropagation: TypeAlias = Literal["first", "least"]
"""What is taken for the round trip time without queueing, R.

- ``first``: The first probe's round trip time (Keshav 1994, §4.3).
- ``least``: The smallest round trip time of any probe: repairs an R that was taken behind a queue.
"""


PacketPairRateChange: TypeAlias = Literal["within-round-trip", "at-tick", "at-once"]
"""When a new rate counts.

- ``within-round-trip``: When the timer of the pair before has expired (Keshav 1994, §8), but no later than a
  round trip after that pair left, as long as one is expected to take by now: a rate of next to nothing would be
  kept for minutes else, with nothing sent to hear of a better one.
- ``at-tick``: When the timer of the pair before has expired, however long that takes: the memorandum's own rule.
- ``at-once``: At once, also for the pair that is waiting.
"""


class PacketPair(Part):
    """Packet-pair flow control (Keshav 1994)."""

    TAG: ClassVar[str] = "name"
    name: Literal["packet-pair"] = "packet-pair"
    controlled_at: PacketPairControlledAt = "sender"
    """Which end measures pairs and runs the law: the ``sender`` (the default), or the ``receiver`` (§10.4), where
    the bottleneck's noise on the way back does not matter.
    """

    setpoint: PacketPairSetpoint = Table2PacketPairSetpoint()
    """Where the bottleneck's queue is steered to: ``fixed``, ``probed``, or one of the paper's two sets, ``table-2``
    (the default) and ``section-7``.
    """

    law: PacketPairLaw = ContinuousPacketPairLaw()
    """The law: ``continuous`` (the default) or ``discrete``."""

    estimator: ServiceEstimator = FuzzyServiceEstimator()
    """The estimator of the service time: ``fuzzy`` (the default), ``kalman`` or ``ewma``."""

    propagation: PacketPairPropagation = "first"
    """R: the ``first`` probe's round trip time, or the ``least`` seen."""

    increase_factor: Number = 0.2
    """The part of the way to its target that the rate takes at a pair while the queue is nearly empty. Default 0.2
    (Table 2, ``INC_FACTOR``); 1 for no caution.
    """

    rate_smoothing: Number = 0.75
    """The weight of history in the smoothed sending rate. Default 0.75 (Table 2, ``MS_ALPHA``)."""

    timeout_multiplier: Number = 1.5
    """The time-out in expected round trip times. Default 1.5 (Table 2, ``TIMEOUT_MULTIPLIER``)."""

    singleton_timeout: Span = "100 ms"
    """How long a lone packet waits for its partner; ``"0 s"`` sends it at once. Default 100 ms (§8)."""

    nominal_rate: BitRate | None = None
    """A rate that the network guarantees to every new conversation, sent at before the first measurement (§5). None
    by default: one pair, then silence for a round trip.
    """

    idle_restart: Truth = True
    """Whether the rate rises from rest after an idle time of a time-out (§5). Default true."""

    rate_change: PacketPairRateChange = "within-round-trip"
    """When a new rate counts: ``at-tick``, when the timer of the pair before has expired (§8); ``within-round-trip``
    (the default), likewise but at most a round trip later; or ``at-once``.
    """

    clock: Span = "0 s"
    """The granularity of the sender's clock; ``"0 s"``, the default, for an exact one."""


class LossIntervals(Part):
    """Parameters of the average loss interval."""

    intervals: Annotated[Whole, Field(ge=0)] = 8
    """n: how many closed intervals are kept; an even number. Default 8."""

    discounting: Truth = True
    """Whether old intervals lose weight while no loss occurs (RFC 5348 §5.5). Default true."""


AssumedTimeout: TypeAlias = Literal["four-round-trips", "at-least-one-second", "measured"]
"""The retransmission time-out that the equation assumes of TCP (RFC 5348 §3.1).

- ``four-round-trips``: Four round trip times, as RFC 5348 recommends.
- ``at-least-one-second``: Four round trip times and at least a second, the least that RFC 6298 recommends of TCP.
- ``measured``: That of RFC 6298: the smoothed round trip time and four times its variation, as the sender
  measures them.
"""


class Tfrc(Part):
    """TCP-friendly rate control (RFC 5348), and its variant for small packets (RFC 4828)."""

    TAG: ClassVar[str] = "name"
    name: Literal["tfrc"] = "tfrc"
    loss_intervals: LossIntervals = LossIntervals()
    """How loss intervals are averaged (RFC 5348 §5.4, §5.5)."""

    rtt_history: Number = 0.9
    """q: the weight of history in the smoothed round trip time, from 0 to below 1 (RFC 5348 §4.3). Default 0.9."""

    damping: Truth = True
    """Whether the rate falls when round trips grow, against oscillation (RFC 5348 §4.5). Default true."""

    gradual_increase: Truth = False
    """Whether, after slow start, the rate rises by at most a packet per round trip, as a TCP's does and as in ns-2;
    RFC 5348 lets it follow the equation at once. Default false.
    """

    assumed_timeout: AssumedTimeout = "four-round-trips"
    """The time-out of the TCP that the throughput equation imitates (RFC 5348 §3.1): ``four-round-trips``, ``at-
    least-one-second``, or ``measured``, the smoothed round trip and four deviations, in ticks of
    ``timeout_tick``. Default ``four-round-trips``.
    """

    timeout_tick: Span = "100 ms"
    """With ``measured``: the granularity of that TCP's clock, 0 for exact. Default 100 ms."""

    gap_jitter: Number = 0.0
    """Whether gaps between packets vary at random, by up to this fraction, from 0 to below 1: against
    synchronisation with other flows. Default 0.
    """

    small_packets: Truth = False
    """The variant for applications that send small packets (TFRC-SP, RFC 4828): the rate of large packets in bytes,
    headers counted, at most one packet in 10 ms, and short loss intervals counted by their losses. Default false.
    """


FriendlyRate: TypeAlias = Literal["equation", "normalised", "tear"]
"""How TCP's rate under the same conditions is estimated (R4 of the paper).

- ``equation``: By equation (1) from the flow's own loss events, as in the paper.
- ``normalised``: By equation (1) from the loss events that a flow of TCP's rate would have seen: the bias of §5.5
  taken out.
- ``tear``: By a TCP emulated at the receiver (TEAR).
"""


class MeasuredApplicationRate(Part):
    """As the receiver measures it, averaged exponentially."""

    TAG: ClassVar[str] = "name"
    name: Literal["measured"] = "measured"
    memory: Span = "5 s"
    """The average's memory. Default 5 s."""


class StatedApplicationRate(Part):
    """As the application states it in its packets, on average over its life; measured where it does not."""

    TAG: ClassVar[str] = "name"
    name: Literal["stated"] = "stated"


class FixedApplicationRate(Part):
    """As stated here, on the wire."""

    TAG: ClassVar[str] = "name"
    name: Literal["fixed"] = "fixed"
    rate: BitRate
    """The rate, headers included."""


ApplicationRate: TypeAlias = Annotated[
    MeasuredApplicationRate | StatedApplicationRate | FixedApplicationRate, Field(discriminator="name")
]
"""What the application sends on average, ``r_NA`` (R3 of the paper)."""


class Probes(Part):
    """Probes while the flow is off or not yet on (§3.7)."""

    interval: Span = "100 ms"
    """How long from probe to probe while off. Default 100 ms."""

    while_off: Truth = False
    """Whether a flow that is off is turned on again at once when probes show that it would not have been turned off
    (§3.7.3). Default false.
    """

    threshold: Number = 0.25
    """With ``while_off``: by how much TCP's rate must exceed what that takes, as a fraction (§3.7.4). Default 0.25."""

    before_on: Truth = False
    """Whether probes at an increasing rate, and an experiment, come before any data (§3.7.4). The application's rate
    must be fixed or stated, since there is nothing to measure. Default false.
    """


class Monitor(Part):
    """Loss rate monitoring (§3.7.1)."""

    window: Span = "30 s"
    """How much of the time on after each switch is compared with the time off before it. Default 30 s."""

    factor: Number = 1.1
    """By which factor the loss rate must rise with the flow for it to be too large for its network. Default 1.1."""

    switches: Annotated[Whole, Field(ge=0)] = 8
    """After how many times that it was switched on, at the earliest. Default 8."""


class Probabilistic(Part):
    """Probabilistic congestion control (Widmer, Mauve and Damm 2002)."""

    TAG: ClassVar[str] = "name"
    name: Literal["probabilistic"] = "probabilistic"
    period: Span = "60 s"
    """T: for how long an experiment holds, and how long a flow is off. Default 60 s."""

    jitter: Number = 0.1
    """By up to which fraction T varies at random from cycle to cycle, from 0 to below 1 (§3.4). Default 0.1."""

    friendly_rate: FriendlyRate = "equation"
    """How TCP's rate is estimated: ``equation``, ``normalised`` or ``tear``. Default ``equation``."""

    application_rate: ApplicationRate = MeasuredApplicationRate()
    """What the application sends: ``{ name = "measured", memory }``, ``{ name = "stated" }`` or ``{ name = "fixed",
    rate }``. Default measured.
    """

    loss_intervals: LossIntervals = LossIntervals()
    """How loss intervals are averaged. Default as in TFRC, 8 of them. An experiment holds for T, so that the
    smallest of the estimates within T decides; with more intervals it lies less far below their mean.
    """

    small_packets: Truth = False
    """Whether equation (1) takes packets of 1500 bytes in place of the flow's own smaller ones, as TFRC-SP does (RFC
    4828 §4.1): else a flow of small packets is held to what a TCP with packets as small would get. As there,
    short loss intervals count by their losses; where many packets leave together, take ``friendly_rate =
    "normalised"`` too. Default false.
    """

    protected_limit: Span = "10 s"
    """The protected time T' lasts at most so long, whatever is known then. Default 10 s."""

    report_interval: Span = "50 ms"
    """The least time between two control packets; else they leave once per round trip. Default 50 ms."""

    evaluation_interval: Span = "0 s"
    """How often p is computed anew and an experiment follows where it is due (§3.5: “periodically”); zero for with
    every control packet, once per round trip. Default zero.
    """

    silence: Span = "1 s"
    """A sender that has sent for so long, and for four round trips, without hearing anything stops. Default 1 s."""

    fixed_on_time: Truth = False
    """Whether the flow is on for T and then off for as long as that costs (§3.7.2). Default false."""

    probes: Probes | None = None
    """Probes, where there are any."""

    loss_monitoring: Monitor | None = None
    """Loss rate monitoring, where it is wanted; it needs ``probes``."""

    guard: Truth = True
    """Whether the sender checks what the receiver lets it do, and stops by itself (RFC 8083). Default true."""


LossEstimator: TypeAlias = Literal["bwe-v2", "draft-02"]
"""What GCC makes of loss.

- ``bwe-v2``: The rate and the inherent loss that explain the last observations best, as in libwebrtc's
  ``LossBasedBweV2``.
- ``draft-02``: A cap that falls by half of the loss above 10 %, as in draft-ietf-rmcat-gcc-02 §6.
"""


class Gcc(Part):
    """Google congestion control (libwebrtc), for media."""

    TAG: ClassVar[str] = "name"
    name: Literal["gcc"] = "gcc"
    min_rate: BitRate = "30 kbit/s"
    """The least rate. Default 30 kbit/s."""

    start_rate: BitRate = "300 kbit/s"
    """The rate at first. Default 300 kbit/s."""

    max_rate: BitRate = "2500 kbit/s"
    """The largest rate. Default 2.5 Mbit/s."""

    probes: Truth = True
    """Whether clusters of packets probe for a higher rate: at start, after a drop, and where the application sends
    too little. Default true.
    """

    loss_estimator: LossEstimator = "bwe-v2"
    """What is made of loss: ``bwe-v2``, the default, or ``draft-02``."""

    report_interval: Span = "100 ms"
    """The time between two reports, 10 ms to 1 s. Default 100 ms."""

    report_overlap: Annotated[Whole, Field(ge=0)] = 0
    """How many packets of the last report each report tells of again. Default 0."""

    clock_drift: Number = 0.0
    """By how many parts in a million the receiver's clock runs fast (or, below 0, slow), -1000 to 1000. Default 0."""


class Nada(Part):
    """NADA (RFC 8698), for media."""

    TAG: ClassVar[str] = "name"
    name: Literal["nada"] = "nada"
    priority: Number = 1.0
    """PRIO: the flow's weight among others. Above 0, at most 100; default 1."""

    reference_delay: Span = "10 ms"
    """XREF: the queueing delay at rest when the rate is ``max_rate``. Above 0 s, at most 1 s; default 10 ms."""

    min_rate: BitRate = "150 kbit/s"
    """RMIN: the least rate, and the first. Default 150 kbit/s."""

    max_rate: BitRate = "1500 kbit/s"
    """RMAX: the largest rate. Default 1.5 Mbit/s."""

    report_interval: Span = "100 ms"
    """DELTA: the time between two reports, 10 ms to 1 s. Default 100 ms."""

    report_overlap: Annotated[Whole, Field(ge=0)] = 0
    """How many packets of the last report each report tells of again. Default 0."""

    clock_drift: Number = 0.0
    """By how many parts in a million the receiver's clock runs fast (or, below 0, slow), -1000 to 1000. Default 0."""


EcnMode: TypeAlias = Literal["off", "ect0", "ect1"]
"""Whether data leaves ECN-capable.

- ``off``: Not ECN-capable.
- ``ect0``: ECT(0) on first transmissions of data (RFC 3168 §6.1).
- ``ect1``: ECT(1) on first transmissions of data (RFC 9331).
"""


class Scream2(Part):
    """SCReAM, version 2 (draft-johansson-ccwg-rfc8298bis-screamv2), for media."""

    TAG: ClassVar[str] = "name"
    name: Literal["scream2"] = "scream2"
    min_rate: BitRate = "150 kbit/s"
    """The least media rate. The draft names none; default 150 kbit/s."""

    max_rate: BitRate = "2500 kbit/s"
    """The largest media rate. The draft names none; default 2.5 Mbit/s."""

    ecn: EcnMode = "off"
    """``ect1`` for L4S, whose marks are answered in proportion; with ``ect0``, or where the flow's ``ecn`` is, a
    mark is answered as a classic one. Default ``off``, as in the draft.
    """

    competitive: Truth = True
    """Whether the target of the queueing delay, 60 ms, rises up to 400 ms where others fill the buffer. Default
    true.
    """

    report_interval: Span = "40 ms"
    """The longest time between two reports, 10 ms to 1 s. Default 40 ms."""

    report_after: Annotated[Whole, Field(ge=0)] = 16
    """A report leaves at once after so many packets, 1 to 1000, and after the last of a frame. Default 16."""

    report_overlap: Annotated[Whole, Field(ge=0)] = 32
    """How many packets of the last report each report tells of again. Default 32, as in the authors' code."""

    clock_drift: Number = 0.0
    """By how many parts in a million the receiver's clock runs fast (or, below 0, slow), -1000 to 1000. Default 0."""


BurstGrowth: TypeAlias = Literal["acknowledgement", "round-trip"]
"""What the limit on tokens rises with.

- ``acknowledgement``: With each acknowledgement that echoes no η mark.
- ``round-trip``: With each round trip: an acknowledgement counts for its part of a window.
"""


BurstReaction: TypeAlias = Literal["round-trip", "each-mark"]
"""How often η echoes reduce the limit on tokens.

- ``round-trip``: At most once per round trip, as the window.
- ``each-mark``: Each mark that was echoed counts.
"""


Signals: TypeAlias = Literal["two-bits", "codepoints", "one-bit"]
"""How the network tells its two metrics.

- ``two-bits``: With a bit for each, as in the paper. Congestion experienced, of other routers, counts as
  utilization.
- ``codepoints``: In the ECN field: congestion experienced for utilization, ECT(1) in place of the ECT(0) that was
  sent for burstiness, as RFC 6660 §3 tells two kinds of congestion.
- ``one-bit``: By congestion experienced alone: every mark counts as both.
"""


class Newark(Part):
    """TCP Newark (Li and Mills §III)."""

    TAG: ClassVar[str] = "name"
    name: Literal["newark"] = "newark"
    g: Number = 1.0
    """g: tokens come at the rate ``W_p`` / (g RTT), so that above 1 the sender is slower than TCP. 0.01 to 1000;
    default 1 (§III-C).
    """

    adaptive: Adaptive | None = None
    """Finds g in place of the number, which is then where it begins; not in the paper. A table with ``most``,
    ``least`` and ``patience``, or ``{}`` for their defaults; not used by default.
    """

    max_burst: DataAmount = "240 packets"
    """``T_max``: so many tokens are kept at most. At least 1 packet; default 240 packets (§IV-A)."""

    burst_decrease: Number = 0.5
    """What an η echo multiplies the limit on tokens by, between 0 and 1. Default 0.5."""

    burst_increase: Number = 1.0
    """So many packets more tokens may be kept after each acknowledgement, or round trip, without an η echo. Default
    1.
    """

    burst_growth: BurstGrowth = "acknowledgement"
    """What the limit on tokens rises with: ``acknowledgement``, each without an η echo, or ``round-trip``. Default
    ``acknowledgement``.
    """

    burst_reaction: BurstReaction = "round-trip"
    """How often η echoes reduce the limit: at most once per ``round-trip``, or for ``each-mark``. Default ``round-
    trip``.
    """

    counting: Counting = "per-ack"
    """What an acknowledgement counts for: ``per-ack`` (RFC 5681) or ``bytes`` (RFC 3465)."""

    slow_start_limit: Number = 2.0
    """With ``counting = "bytes"``, at most so many packets of growth per acknowledgement in slow start (L of RFC
    3465 §2.2). At least 1; default 2.
    """

    signals: Signals = "two-bits"
    """How the network tells its two metrics: ``two-bits``, ``codepoints`` or ``one-bit``; the queue's ``marks`` must
    be the same. Default ``two-bits``.
    """

    grow_unused: Truth = False
    """Whether ``W_p`` also grows while the application, not tokens, limits the sender. Default false."""


class FixedWindow(Part):
    """A window that never changes."""

    TAG: ClassVar[str] = "name"
    name: Literal["fixed-window"] = "fixed-window"
    window: DataAmount = "10 packets"
    """The window, in packets or bytes on the wire. Default 10 packets. Never less than one packet and never more
    than the receiver's window.
    """


class DifferenceSign(Part):
    """Of the last two reports: negative where packets were lost and throughput and load went opposite ways."""

    TAG: ClassVar[str] = "name"
    name: Literal["difference"] = "difference"


class RegressionSign(Part):
    """Of the least squares line through the last reports, where one of them tells of loss."""

    TAG: ClassVar[str] = "name"
    name: Literal["regression"] = "regression"
    reports: Annotated[Whole, Field(ge=0)] = 8
    """How many reports, from 3 to 1000. Default 8."""


class LossSign(Part):
    """By a measure of congestion in its place (§3.1.1): negative where more than this part of the packets was lost."""

    TAG: ClassVar[str] = "name"
    name: Literal["loss"] = "loss"
    above: Number = 0.0
    """The part that is borne, from 0 to below 1. Default 0: any loss."""


Sign: TypeAlias = Annotated[DifferenceSign | RegressionSign | LossSign, Field(discriminator="name")]
"""How the sign of dγ/dλ is estimated."""


SignOrName: TypeAlias = Literal["difference", "regression", "loss"] | Sign
"""The bare name stands for the table with this name and every parameter at its default."""


class Lied(Part):
    """Linear increase and exponential decrease of a datagram rate (Tuan and Park 1999, §3.1)."""

    TAG: ClassVar[str] = "name"
    name: Literal["lied"] = "lied"
    increase: BitRate = "100 kbit/s"
    """δ: how much the rate grows per second while more load brings more throughput. Default 100 kbit/s."""

    decrease: Number = 1.0
    """a: the rate's exponential decrease, per second, while it does not. Default 1."""

    severity: Number = 2.0
    """k of ``γ_k = (1 - c)^k ν`` (eq. 4): how severely loss counts against throughput. Default 2."""

    sign: SignOrName = DifferenceSign()
    """How the sign of dγ/dλ is estimated. Default ``difference``."""

    report_interval: Span = "50 ms"
    """How often the receiver reports. Default 50 ms."""

    initial_rate: BitRate = "100 kbit/s"
    """The rate to begin with. Default 100 kbit/s."""

    min_rate: BitRate = "16 kbit/s"
    """The rate never falls below this. Default 16 kbit/s: two packets of 1000 B per second."""

    max_rate: BitRate = "100 Gbit/s"
    """The rate never exceeds this. Default 100 Gbit/s."""


Quantiser: TypeAlias = Literal["sigma-bands", "equal-probability"]
"""How amounts of traffic become levels.

- ``sigma-bands``: By distance from the running mean, in running standard deviations: with eight levels,
  boundaries at μ-3σ, …, μ+3σ (Tuan and Park 1999, appendix A.1).
- ``equal-probability``: By rank: all levels equally likely (the alternative that appendix A.1 calls "more
  universally effective").
"""


Reading: TypeAlias = Literal["contention", "throughput"]
"""What the level of a connection's own throughput says.

- ``contention``: How much others leave over: much throughput of one's own is little contention, so level ℓ of it
  is level m + 1 - ℓ of contention.
- ``throughput``: Itself, as the letter of §3.2.2 has it: ``ℓ = L1(S_t)``.
"""


class InverseSchedule(Part):
    """``ε(x) = 1/x + shift``: the practical schedule of §4.3.2."""

    TAG: ClassVar[str] = "name"
    name: Literal["inverse"] = "inverse"
    shift: Number = 0.0
    """Added at every level (Fig. 11). Default 0."""


class ThresholdSchedule(Part):
    """``factor`` where the expected level is at most ``theta``, else 0; plus ``shift``."""

    TAG: ClassVar[str] = "name"
    name: Literal["threshold"] = "threshold"
    theta: Number
    """θ: the highest expected level that is met with aggressiveness, from 1 on; at the number of levels, always."""

    factor: Number = 1.0
    """θ*: the aggressiveness up to there. Default 1."""

    shift: Number = 0.0
    """Added at every level (Fig. 11). Default 0."""


class TableSchedule(Part):
    """One value for each level, from level 1 on, with straight lines between."""

    TAG: ClassVar[str] = "name"
    name: Literal["table"] = "table"
    values: Sequence[Number]
    """The values."""


Schedule: TypeAlias = Annotated[InverseSchedule | ThresholdSchedule | TableSchedule, Field(discriminator="name")]
"""How aggressive to be at an expected level of contention, in the increases of the scheme beneath."""


ScheduleOrName: TypeAlias = Literal["inverse", "threshold", "table"] | Schedule
"""The bare name stands for the table with this name and every parameter at its default."""


class OnlinePredictor(Part):
    """A table that the connection learns itself, from its own throughput."""

    TAG: ClassVar[str] = "name"
    name: Literal["online"] = "online"
    freeze_after: Span | None = None
    """When to stop learning, from the first report on; never by default."""


class TablePredictor(Part):
    """A table that is known beforehand: a warm start, which short connections need (§4.3.4)."""

    TAG: ClassVar[str] = "name"
    name: Literal["table"] = "table"
    counts: Sequence[Sequence[Number]]
    """Counts or relative frequencies of L2, one list for each L1."""

    learns: Truth = False
    """Whether the connection goes on learning. Default false."""


class RandomPredictor(Part):
    """A table of random densities, drawn from the connection's own random stream (§4.3.4)."""

    TAG: ClassVar[str] = "name"
    name: Literal["random"] = "random"


class PerfectPredictor(Part):
    """Perfect knowledge of the aggregate's future (§4.3.2)."""

    TAG: ClassVar[str] = "name"
    name: Literal["perfect"] = "perfect"
    every: Span
    """The length of one entry of ``loads``."""

    loads: Sequence[Number]
    """How much traffic the aggregate brings in each interval from the run's begin on, in any unit."""


class FractionalForecast(Part):
    """The best linear prediction of fractionally integrated noise, ARIMA(0, d, 0), with d estimated on line (Hosking
    1981).
    """

    TAG: ClassVar[str] = "name"
    name: Literal["fractional"] = "fractional"
    memory: Annotated[Whole, Field(ge=0)] = 32
    """How many past periods it rests on. Default 32."""


class WaveletForecast(Part):
    """A linear prediction from Haar wavelet coefficients of the past, by recursive least squares."""

    TAG: ClassVar[str] = "name"
    name: Literal["wavelet"] = "wavelet"
    scales: Annotated[Whole, Field(ge=0)] = 4
    """How many dyadic scales, from one period up. Default 4: the past 16 periods."""


class PerceptronForecast(Part):
    """A perceptron with one hidden layer, trained on line by stochastic gradients."""

    TAG: ClassVar[str] = "name"
    name: Literal["perceptron"] = "perceptron"
    inputs: Annotated[Whole, Field(ge=0)] = 8
    """How many past periods are its inputs. Default 8."""

    hidden: Annotated[Whole, Field(ge=0)] = 8
    """How many hidden units. Default 8."""

    step: Number = 0.02
    """The step of a gradient. Default 0.02."""


Forecast: TypeAlias = Annotated[FractionalForecast | WaveletForecast | PerceptronForecast, Field(discriminator="name")]
"""How the next period is predicted from those before it."""


ForecastOrName: TypeAlias = Literal["fractional", "wavelet", "perceptron"] | Forecast
"""The bare name stands for the table with this name and every parameter at its default."""


class ForecastPredictor(Part):
    """Another method than conditional expectation, from several periods of the connection's own throughput."""

    TAG: ClassVar[str] = "name"
    name: Literal["forecast"] = "forecast"
    method: ForecastOrName
    """The method, by name or as a table with its parameters."""


Predictor: TypeAlias = Annotated[
    OnlinePredictor | TablePredictor | RandomPredictor | PerfectPredictor | ForecastPredictor,
    Field(discriminator="name"),
]
"""Where a prediction comes from."""


PredictorOrName: TypeAlias = Literal["online", "table", "random", "perfect", "forecast"] | Predictor
"""The bare name stands for the table with this name and every parameter at its default."""


class Slower(Part):
    """A further, slower level of prediction."""

    history: Span = "20 s"
    """T1 of this level. Default 20 s."""

    horizon: Span = "20 s"
    """T2 of this level. Default 20 s."""

    schedule: ScheduleOrName = InverseSchedule()
    """ε of this level. Default ``inverse``."""


class Sac(Part):
    """Selective aggressiveness over any scheme that increases (Tuan and Park 1999, §3.2)."""

    TAG: ClassVar[str] = "name"
    name: Literal["sac"] = "sac"
    over: SchemeOrName = Lied()
    """The scheme whose increases are scaled, by name or as a table with its parameters. Default ``lied``."""

    history: Span = "2 s"
    """T1: the recent past that is judged. Default 2 s."""

    horizon: Span = "2 s"
    """T2: the near future that is predicted. Default 2 s."""

    levels: Annotated[Whole, Field(ge=0)] = 8
    """m: how many levels of traffic there are. Default 8."""

    quantiser: Quantiser = "sigma-bands"
    """How amounts of traffic become levels. Default ``sigma-bands``."""

    reading: Reading = "contention"
    """What the level of one's own throughput says. Default ``contention``."""

    unit: Number = 1.0
    """How many of the scheme's own increases an aggressiveness of 1 adds to each. Default 1."""

    schedule: ScheduleOrName = InverseSchedule()
    """ε: how aggressive to be at an expected level. Default ``inverse``."""

    predictor: PredictorOrName = OnlinePredictor()
    """Where the expectation comes from. Default ``online``."""

    slower: Sequence[Slower] = ()
    """Further, slower levels, at most seven. Default none."""


Tokens: TypeAlias = Literal["constant", "poisson"]
"""How tokens arrive in the bucket that meters ``Directive::rate``.

- ``constant``: Evenly: paced sending.
- ``poisson``: One packet's worth at a time, as a Poisson process (Li and Mills, §III-C).
"""


class FixedRate(Part):
    """A rate that never changes."""

    TAG: ClassVar[str] = "name"
    name: Literal["fixed-rate"] = "fixed-rate"
    rate: BitRate = "1 Mbit/s"
    """The rate on the wire, headers included. Default 1 Mbit/s."""

    burst: DataAmount = "1 packet"
    """How much may leave back to back after a pause: the depth of the token bucket. Default 1 packet."""

    tokens: Tokens = "constant"
    """How tokens arrive: ``constant``, evenly, or ``poisson``, one packet's worth at a time. Default constant."""

    reliable: Truth = False
    """Whether lost data is repaired (by selective acknowledgements). Default false: datagrams."""


class Custom(Part):
    """A custom scheme, registered in the process that runs the scenario."""

    TAG: ClassVar[str] = "name"
    name: Literal["custom"] = "custom"
    part: Text = ""
    """The name under which the scheme was registered in the process that runs the scenario."""

    settings: Mapping[str, Setting] = Field(default_factory=dict)
    """What it is told, by the names that it knows."""


Scheme: TypeAlias = Annotated[
    Reno
    | Newreno
    | Sack
    | Cubic
    | Bbr1
    | Bbr3
    | Copa
    | Vivace
    | Prague
    | Dctcp
    | Highspeed
    | WestwoodPlus
    | Illinois
    | Compound
    | Ledbat
    | LedbatPlusPlus
    | Vegas
    | VegasK
    | AccumulationAiad
    | AccumulationMw
    | AccumulationP
    | Monaco
    | PacketPair
    | Tfrc
    | Probabilistic
    | Gcc
    | Nada
    | Scream2
    | Newark
    | FixedWindow
    | Lied
    | Sac
    | FixedRate
    | Custom,
    Field(discriminator="name"),
]
"""A scheme by name, with its parameters."""


SchemeOrName: TypeAlias = (
    Literal[
        "reno",
        "newreno",
        "sack",
        "cubic",
        "bbr1",
        "bbr3",
        "copa",
        "vivace",
        "prague",
        "dctcp",
        "highspeed",
        "westwood-plus",
        "illinois",
        "compound",
        "ledbat",
        "ledbat-plus-plus",
        "vegas",
        "vegas-k",
        "accumulation-aiad",
        "accumulation-mw",
        "accumulation-p",
        "monaco",
        "packet-pair",
        "tfrc",
        "probabilistic",
        "gcc",
        "nada",
        "scream2",
        "newark",
        "fixed-window",
        "lied",
        "sac",
        "fixed-rate",
        "custom",
    ]
    | Scheme
)
"""The bare name stands for the table with this name and every parameter at its default."""


class Aggregate(Part):
    """One control loop from one edge router to another, for every flow whose data or acknowledgements go this way
    (Xia et al., §III-A, note 2, and §III-C). Packets wait in a queue at the near edge until the scheme lets them
    enter; they leave unchanged and go on to their own ends. Nothing is repaired on the way.
    """

    name: Text
    """The aggregate's name in results. Its queue is the link ``from->name``."""

    from_: Annotated[Text, Field(alias="from")]
    """The node where packets enter."""

    to: Text
    """The node where they leave."""

    scheme: SchemeOrName
    """The scheme, by name or as a table with its parameters: one that hears nothing but reports (``monaco`` and the
    ``accumulation-…`` schemes with its estimator, ``fixed-rate``, custom schemes of datagrams).
    """

    route: Sequence[Text] | None = None
    """The nodes between the two, in order, where it is not the shortest way. Only flows that pass exactly these
    belong to the aggregate.
    """

    return_route: Sequence[Text] | None = None
    """The nodes that reports pass on their way back, in order; by default those of ``route`` backwards where they
    are linked that way, the shortest way otherwise.
    """

    buffer: Capacity = "1000 packets"
    """How much may wait to enter: packets, bytes, or ``"unlimited"``. Default 1000 packets."""

    queue: QueueOrName = DropTailQueue()
    """The queue discipline where packets wait to enter, by name or as a table with its parameters."""

    segment_size: Bytes = "1 kB"
    """The largest packet on the wire, in which the scheme counts. Default 1000 B."""

    header: Bytes = "40 B"
    """A control packet on the wire. Default 40 B."""

    initial_window: DataAmount = "10 packets"
    """The window before any feedback. Default 10 packets."""

    ack_every: Annotated[Whole, Field(ge=0)] = 1
    """The far edge tells the near one of every so many packets that have left, in packets as large as ``header``,
    where the scheme keeps a window. Default 1.
    """

    window_limit: DataAmount | None = None
    """The scheme's window never exceeds this; without limit by default."""


Arrivals: TypeAlias = Literal["constant", "jittered", "poisson"]
"""When datagrams come.

- ``constant``: At even intervals.
- ``jittered``: At intervals that are uniform within half of the mean around it, as those of ns-2's constant bit
  rate with ``random_``: an application whose timer is not in step with anything.
- ``poisson``: At exponential intervals: a Poisson process.
"""


class ConstantBytesDistribution(Part):
    """Always the same."""

    TAG: ClassVar[str] = "name"
    name: Literal["constant"] = "constant"
    value: Bytes
    """The value."""


class ExponentialBytesDistribution(Part):
    """Exponential."""

    TAG: ClassVar[str] = "name"
    name: Literal["exponential"] = "exponential"
    mean: Bytes
    """The mean."""


class ParetoBytesDistribution(Part):
    """Pareto: ``P(X > x) = (min/x)^shape`` for x above ``min``. Give either ``mean`` (with a shape above 1) or
    ``min``.
    """

    TAG: ClassVar[str] = "name"
    name: Literal["pareto"] = "pareto"
    shape: Number
    """The tail's exponent; below 2 the variance is infinite."""

    mean: Bytes | None = None
    """The mean, ``min · shape / (shape - 1)``."""

    min: Bytes | None = None
    """The smallest value."""


class UniformBytesDistribution(Part):
    """Uniform between two ends."""

    TAG: ClassVar[str] = "name"
    name: Literal["uniform"] = "uniform"
    from_: Annotated[Bytes, Field(alias="from")]
    """The lower end."""

    to: Bytes
    """The upper end."""


class WeibullBytesDistribution(Part):
    """Weibull: ``P(X > x) = exp(-(x/scale)^shape)``, with the scale that gives the mean."""

    TAG: ClassVar[str] = "name"
    name: Literal["weibull"] = "weibull"
    mean: Bytes
    """The mean."""

    shape: Number
    """The exponent; below 1 the tail is heavier than exponential."""


class LognormalBytesDistribution(Part):
    """Log-normal."""

    TAG: ClassVar[str] = "name"
    name: Literal["lognormal"] = "lognormal"
    mean: Bytes
    """The mean of the values (not of their logarithms)."""

    sigma: Number
    """The standard deviation of the values' natural logarithms."""


class EmpiricalBytesDistribution(Part):
    """One of a list of measured values, each as likely as the others; or a measured distribution function, as
    published sizes of flows are given.
    """

    TAG: ClassVar[str] = "name"
    name: Literal["empirical"] = "empirical"
    values: Sequence[Bytes]
    """The values; repeat one to make it more likely. With ``cumulative`` in rising order."""

    cumulative: Sequence[Number] | None = None
    """The probability that a draw is at most each of the values, up to 1. Between two values draws are spread
    evenly; the first value itself is drawn with the first probability, and a value that stands there twice with
    the difference of its two. Absent, values are drawn as they are, each as likely as the others.
    """


BytesDistribution: TypeAlias = Annotated[
    ConstantBytesDistribution
    | ExponentialBytesDistribution
    | ParetoBytesDistribution
    | UniformBytesDistribution
    | WeibullBytesDistribution
    | LognormalBytesDistribution
    | EmpiricalBytesDistribution,
    Field(discriminator="name"),
]
"""A distribution of times or of amounts of data."""


BytesOrDistribution: TypeAlias = Bytes | BytesDistribution
"""A value alone is always drawn, as by the distribution ``constant``."""


Connection: TypeAlias = Literal["per-file", "kept"]
"""What carries the files of a session.

- ``per-file``: A new connection for every file: each begins in slow start.
- ``kept``: One connection that is kept.
"""


class Corruption(Part):
    """Packets are damaged on the wire: they use buffer and capacity, arrive, and the receiver discards them."""

    probability: Number = 0.001
    """Probability that a packet is damaged, 0 to 1."""


class Rto(Part):
    """The retransmission timer (RFC 6298)."""

    alpha: Number = 0.125
    """Gain of the smoothed round trip time, in (0, 1]; default 1/8 (RFC 6298 §2.3)."""

    beta: Number = 0.25
    """Gain of the round trip time's variation, in (0, 1]; default 1/4 (RFC 6298 §2.3)."""

    k: Number = 4.0
    """How many variations the timer adds to the smoothed round trip time; default 4 (RFC 6298 §2.3)."""

    srtt_factor: Number = 1.0
    """What the smoothed round trip time is multiplied by; default 1 (RFC 6298 §2.3). Packet-pair takes 1.5 with ``k
    = 0`` (Keshav 1994, §6).
    """

    min: Span = "200 ms"
    """The shortest time-out; default 200 ms as in common practice, while RFC 6298 §2.4 says 1 s."""

    margin_min: Span = "0 s"
    """The time-out exceeds the smoothed round trip time by this at least; ``"0 s"``, the default, for ``k``
    variations alone (RFC 6298 §2.3, where the clock's granularity stands in its place). Linux has 200 ms here and
    no ``min``: its ``tcp_rto_min`` bounds the margin, and not the time-out as a whole. At most ``max``.
    """

    max: Span = "60 s"
    """The longest time-out, back-off included; default 60 s (RFC 6298 §2.5)."""

    initial: Span = "1 s"
    """The time-out before any sample; default 1 s (RFC 6298 §2.1)."""

    backoff: Number = 2.0
    """What each expiry multiplies the time-out by, at least 1; default 2 (RFC 6298 §5.5)."""

    tick: Span = "0 s"
    """The clock's granularity G (RFC 6298 §2); ``"0 s"``, the default, for an exact clock. Otherwise samples are
    rounded onto ticks and the estimator runs in whole ticks, as BSD and ns-2 (``tcpTick_``) do.
    """


class Datagram(Part):
    """A datagram flow: its sender, and what its receiver must have in common with it."""

    segment_size: Bytes = "1 kB"
    """The largest datagram on the wire, header included; larger offers of the application are split. Default 1000 B."""

    header: Bytes = "40 B"
    """Header bytes of every datagram; acknowledgements and control packets are a header alone. Default 40 B, as of
    streams, so that full packets of both are alike; IPv4 and UDP have 28 B. Without ``acks`` it may be 0 B.
    """

    buffer: Capacity = "1000 packets"
    """How many datagrams, or bytes, wait at the source while the rate or the window holds them back; what is offered
    beyond is discarded. Default 1000 packets.
    """

    acks: Truth = False
    """Whether the receiver acknowledges every datagram; default false. Without acknowledgements the sender knows
    nothing but reports, and a window in a controller's directive has no meaning and is not obeyed.
    """

    dup_threshold: Annotated[Whole, Field(ge=0)] = 3
    """With ``acks``: datagrams acknowledged above that mean loss; default 3."""

    rto: Rto = Rto()
    """With ``acks``: the timer after which everything unacknowledged counts as lost. Its estimator of round trip
    times also serves reports that echo send times.
    """

    initial_window: DataAmount = "10 packets"
    """The window before any feedback; default 10 packets."""

    window_limit: DataAmount | None = None
    """The window never exceeds this; without limit by default."""

    ecn: EcnMode = "off"
    """Whether datagrams leave ECN-capable."""

    ecn_echo: EcnEcho = "per-packet"
    """With ``acks``: how congestion marks are echoed. Default ``per-packet``, on the acknowledgement of the marked
    datagram; ``counted`` misses none where acknowledgements are lost; there is no ``latched``, since nothing is
    acknowledged cumulatively.
    """

    stamps: Truth = False
    """Whether every datagram carries its send time for the receiver's policy; default false."""

    circuit_breaker: Span | None = None
    """Puts the flow under the circuit breaker of RFC 8083, which looks so often: a flow that sends ten times what
    TCP would, or of which nothing arrives, or that nobody tells anything, ceases for good after three such looks.
    Receivers of schemes without reports send one per look. Default none: load of an experiment stays as it is;
    probabilistic control has a breaker in its ``guard``. For flows on a network that others use, take ``1 s``.
    """


Direction: TypeAlias = Literal["server", "client"]
"""Which way.

- ``server``: From the server to one player.
- ``client``: From a player to the server.
"""


Draw: TypeAlias = Span | SpanRange
"""One time for all, or a range from which each draws its own, uniformly, from its own random stream."""


class Duplication(Part):
    """Packets arrive twice: the copy right behind the original."""

    probability: Number = 0.001
    """Probability that a packet is duplicated, 0 to 1."""


class BulkSource(Part):
    """One transfer, finite or without end."""

    TAG: ClassVar[str] = "name"
    name: Literal["bulk"] = "bulk"
    size: Bytes | None = None
    """How much, headers not counted; without end where absent."""


class OnOffSource(Part):
    """Bursts and pauses."""

    TAG: ClassVar[str] = "name"
    name: Literal["on-off"] = "on-off"
    on: SpanOrDistribution = ExponentialSpanDistribution.model_construct(mean="500 ms")
    """How long bursts last. Default exponential with mean 500 ms."""

    off: SpanOrDistribution = ExponentialSpanDistribution.model_construct(mean="500 ms")
    """How long pauses last. Default exponential with mean 500 ms."""

    rate: BitRate = "1 Mbit/s"
    """Application data per time while on, headers not counted. Default 1 Mbit/s."""

    chunk: Bytes = "960 B"
    """How much is offered at a time while on, headers not counted; what remains of a burst is carried over to the
    next. Default 960 B, which fills packets of 1000 B.
    """

    at_once: Truth = False
    """Whether a burst's whole amount, ``rate`` times its length, is offered at its beginning. Default false."""

    closed: Truth = False
    """Whether a pause begins only when the burst before it was completely acknowledged (closed loop) instead of at
    the burst's own end (open loop). Default false.
    """

    pause_first: Truth = False
    """Whether the source begins with a pause, so that many of them do not begin in step. Default false."""

    total: Bytes | None = None
    """The source ends after so much data; by default never."""


class FilesSource(Part):
    """Files one after another, with pauses between them."""

    TAG: ClassVar[str] = "name"
    name: Literal["files"] = "files"
    size: BytesOrDistribution = ParetoBytesDistribution.model_construct(mean="12 kB", shape=1.2)
    """How large files are, headers not counted. Default Pareto with mean 12 kB and shape 1.2."""

    pause: SpanOrDistribution = ExponentialSpanDistribution.model_construct(mean="1 s")
    """How long pauses are. Default exponential with mean 1 s."""

    connection: Connection = "per-file"
    """What carries the files: ``per-file``, a new connection for each, or ``kept``, one for all. Default per-file."""

    count: Annotated[Whole | None, Field(ge=0)] = None
    """The session ends after so many files; by default never."""

    pause_first: Truth = False
    """Whether the session begins with a pause, so that many of them do not begin in step. Default false."""


class DatagramsSource(Part):
    """Datagrams at even or Poisson intervals."""

    TAG: ClassVar[str] = "name"
    name: Literal["datagrams"] = "datagrams"
    arrivals: Arrivals = "constant"
    """When datagrams come: ``constant``, ``jittered`` or ``poisson``. Default constant."""

    rate: BitRate = "1 Mbit/s"
    """Mean application data per time; the mean interval is the mean size over this. Default 1 Mbit/s."""

    size: BytesOrDistribution = ConstantBytesDistribution.model_construct(value="960 B")
    """How large datagrams are, without the header that the endpoint adds. Default constant, 960 B."""

    count: Annotated[Whole | None, Field(ge=0)] = None
    """The source ends after so many datagrams; by default never."""


class GameSource(Part):
    """Small packets of a networked game, from a server or a player."""

    TAG: ClassVar[str] = "name"
    name: Literal["game"] = "game"
    direction: Direction = "server"
    """``server``, to one player, or ``client``. Default server."""

    players: Annotated[Whole, Field(ge=0)] = 1
    """How many players' packets leave together, each to the same end: a server that sends the state of so many, or
    players behind one address. Default 1.
    """

    header: Bytes = "28 B"
    """Header bytes within the sizes of the model. Default 28 B, IPv4 and UDP."""


class ReplayEntry(Part):
    """One entry of a trace."""

    at: Span
    """When, from the source's start on."""

    size: Bytes
    """How much, headers not counted."""


class ReplaySource(Part):
    """A recorded trace."""

    TAG: ClassVar[str] = "name"
    name: Literal["replay"] = "replay"
    file: Text | None = None
    """A text file of entries, relative to the scenario's file: a time and an amount per line, separated by a comma,
    with units (``125 ms, 1500 B``); or bare numbers below a heading that names their units, such as
    ``seconds,bytes``. Empty lines and lines that begin with ``#`` do not count.
    """

    entries: Sequence[ReplayEntry] = ()
    """Entries written out, in place of a file. Times must not go back."""

    repeat_every: Span | None = None
    """Begin again after so much time, counted from the beginning; by default the trace is played once. At least the
    last entry's time.
    """


class RequestsSurgeSizes(Part):
    """Files as they are asked for: Pareto, cut at the largest file."""

    TAG: ClassVar[str] = "name"
    name: Literal["requests"] = "requests"
    min: Bytes = "1 kB"
    """The smallest file. Published 1000 B."""

    shape: Number = 1.0
    """The tail's exponent. Published 1.0."""

    max: Bytes = "12 MB"
    """The largest file. Default 12 MB, the likely largest of the 140 tail files among 2000 (inferred)."""


class FilesSurgeSizes(Part):
    """Files as they lie on a server, each as likely as the others: a log-normal body below a Pareto tail."""

    TAG: ClassVar[str] = "name"
    name: Literal["files"] = "files"
    mu: Number = 9.357
    """Mean of the natural logarithm of the body's bytes. Published 9.357."""

    sigma: Number = 1.318
    """Standard deviation of the natural logarithm of the body's bytes. Published 1.318."""

    tail: Bytes = "133 kB"
    """Where the tail begins. Published 133 kB."""

    tail_shape: Number = 1.1
    """The tail's exponent. Published 1.1."""

    tail_part: Number = 0.07
    """The part of files in the tail. Default 0.07."""

    max: Bytes = "12 MB"
    """The largest file. Default 12 MB, the likely largest of the 140 tail files among 2000 (inferred)."""


SurgeSizes: TypeAlias = Annotated[RequestsSurgeSizes | FilesSurgeSizes, Field(discriminator="name")]
"""Which files are fetched."""


SurgeConnection: TypeAlias = Literal["per-file", "per-page", "kept"]
"""What carries the files of a user.

- ``per-file``: A new connection for every file, as HTTP/1.0 has it.
- ``per-page``: A new connection for every page, as HTTP/1.1 has it.
- ``kept``: One connection that is kept.
"""


class SurgeSource(Part):
    """A user of the web: pages of files with heavy-tailed sizes, short pauses within pages and long ones between
    them (SURGE; Barford and Crovella 1998).
    """

    TAG: ClassVar[str] = "name"
    name: Literal["surge"] = "surge"
    sizes: SurgeSizes = RequestsSurgeSizes()
    """How large files are, headers not counted: ``{ name = "requests" }``, the default, or ``{ name = "files" }``."""

    page_shape: Number = 2.43
    """The exponent of the Pareto distribution, from 1 on, of a page's number of files. Default 2.43."""

    active_scale: Span = "1460 ms"
    """The scale of the Weibull distribution of pauses within a page (active OFF). Default 1.46 s."""

    active_shape: Number = 0.382
    """Its exponent. Default 0.382."""

    active_max: Span = "1 s"
    """No pause within a page is longer; what would be is drawn again. Default 1 s (inferred)."""

    inactive_min: Span = "1 s"
    """The shortest pause between pages (inactive OFF). Default 1 s."""

    inactive_shape: Number = 1.5
    """The exponent of the Pareto distribution of pauses between pages. Default 1.5."""

    connection: SurgeConnection = "per-file"
    """What carries the files: ``per-file``, ``per-page`` or ``kept``. Default per-file, as HTTP/1.0 has it."""

    pages: Annotated[Whole | None, Field(ge=0)] = None
    """The user leaves after so many pages; by default never."""

    pause_first: Truth = True
    """Whether the user begins with a pause, so that many of them do not begin in step. Default true."""


class VideoPause(Part):
    """A time in which the camera is off."""

    from_: Annotated[Span, Field(alias="from")]
    """When it goes off, from the source's start on."""

    to: Span
    """When it is on again, from the source's start on."""


class SyntheticVideoSource(Part):
    """The synthetic video coder of RFC 8593 §5, which follows the directed rate: frames fluctuate, and an abrupt
    change begins with a burst.
    """

    TAG: ClassVar[str] = "name"
    name: Literal["synthetic-video"] = "synthetic-video"
    frame_rate: Number = 30.0
    """Frames per second, 0.1 to 1000 (``FPS``; ``t0`` is one over it). Default 30."""

    min_rate: BitRate = "150 kbit/s"
    """The least rate of the coder, and the one before any is directed (``R_min``). Default 150 kbit/s."""

    max_rate: BitRate = "1500 kbit/s"
    """The largest rate of the coder (``R_max``). Default 1.5 Mbit/s."""

    reaction: Span = "200 ms"
    """For how long no further change of the rate is followed after one was, up to 10 s (``tau_v``). Default 200 ms."""

    interval_spread: Number = 0.15
    """Scale of the Laplacian deviation of intervals between frames, relative to the mean one, 0 to 1 (``SCALE_t``);
    the standard deviation is √2 times that. Default 0.15.
    """

    size_spread: Number = 0.15
    """Scale of the Laplacian deviation of frames' sizes, relative to the mean size, 0 to 1 (``SCALE_B``). Default
    0.15.
    """

    burst_frames: Annotated[Whole, Field(ge=0)] = 8
    """Frames of the burst after an abrupt change of the rate, 0 for none, at most 1000 (``K_d``). Default 8."""

    burst_size: Bytes = "13500 B"
    """Size of the first frame of a burst (``K_B``). Default 13.5 kB."""

    abrupt: Number = 0.5
    """A change of the rate by more than this part of it is abrupt, 0 to 100. The RFC names none. Default 0.5, as in
    its authors' code.
    """

    pauses: Sequence[VideoPause] = ()
    """Times without frames, in order. Default none."""


class RateVideoControl(Part):
    """The rate that the flow's congestion control directs; before it has directed any, frames are coded at 31."""

    TAG: ClassVar[str] = "name"
    name: Literal["rate"] = "rate"
    share: Number = 0.95
    """The part of that rate that is filled, above 0, at most 1; default 0.95."""


class FixedVideoControl(Part):
    """Nothing: the quantiser is fixed, and the rate is what the film asks for."""

    TAG: ClassVar[str] = "name"
    name: Literal["fixed"] = "fixed"
    quantiser: Number
    """The quantiser, 1 to 31."""


VideoControl: TypeAlias = Annotated[RateVideoControl | FixedVideoControl, Field(discriminator="name")]
"""What sets the quantiser."""


class VideoSource(Part):
    """A video coder, whose quantiser may follow the directed rate."""

    TAG: ClassVar[str] = "name"
    name: Literal["video"] = "video"
    pattern: Text = "IBBPBBPBBPBB"
    """The kinds of the frames of a group, ``I``, ``P`` and ``B``, an ``I`` first. Default ``IBBPBBPBBPBB``."""

    frame_rate: Number = 24.0
    """Frames per second. Default 24."""

    rate: BitRate = "1500 kbit/s"
    """The film's mean rate at ``reference``. Default 1.5 Mbit/s."""

    reference: Number = 8.0
    """The quantiser at which the film has that rate, 1 to 31. Default 8."""

    i_weight: Number = 5.0
    """Bits of an ``I`` frame relative to a ``B`` frame at one quantiser. Default 5."""

    p_weight: Number = 2.0
    """Bits of a ``P`` frame relative to a ``B`` frame at one quantiser. Default 2."""

    jitter: Number = 0.25
    """Standard deviation of the logarithm of frames' complexity around their scene's. Default 0.25."""

    scene_chance: Number = 0.08
    """The chance that a group begins a new scene. Default 0.08."""

    scene_spread: Number = 0.35
    """Standard deviation of the logarithm of scenes' complexity. Default 0.35."""

    control: VideoControl = RateVideoControl()
    """What sets the quantiser. Default the directed rate."""

    pauses: Sequence[VideoPause] = ()
    """Times without frames, in order; the film goes on meanwhile. Default none."""


class VoiceSource(Part):
    """A voice call of fixed quality."""

    TAG: ClassVar[str] = "name"
    name: Literal["voice"] = "voice"
    rate: BitRate = "64 kbit/s"
    """The codec's rate, headers not counted. Default 64 kbit/s, G.711."""

    frame: Span = "20 ms"
    """How much speech is in a packet. Default 20 ms."""

    suppress_silence: Truth = False
    """Whether nothing is sent in pauses. Default false."""


Source: TypeAlias = Annotated[
    BulkSource
    | OnOffSource
    | FilesSource
    | DatagramsSource
    | GameSource
    | ReplaySource
    | SurgeSource
    | SyntheticVideoSource
    | VideoSource
    | VoiceSource,
    Field(discriminator="name"),
]
"""An application that sends."""


SourceOrName: TypeAlias = (
    Literal["bulk", "on-off", "files", "datagrams", "game", "replay", "surge", "synthetic-video", "video", "voice"]
    | Source
)
"""The bare name stands for the table with this name and every parameter at its default."""


class DupAcksLossDetection(Part):
    """As the scheme's kind of recovery has it: by ``dup_threshold`` duplicate acknowledgements (RFC 5681, RFC 6582),
    or as many segments selectively acknowledged above (RFC 6675).
    """

    TAG: ClassVar[str] = "name"
    name: Literal["dup-acks"] = "dup-acks"


class RackLossDetection(Part):
    """By time: what was sent later has arrived, and it has not after a round trip and a reordering window; a probe
    asks after the tail (RACK-TLP, RFC 8985).
    """

    TAG: ClassVar[str] = "name"
    name: Literal["rack"] = "rack"
    reordering_window: Number = 0.25
    """The least reordering window, and what each round trip with news of a needless retransmission adds to it, as a
    part of the least round trip time, in (0, 1]; default 0.25 (RFC 8985 §6.2 step 4). It never exceeds the
    smoothed round trip time.
    """

    persist: Annotated[Whole, Field(ge=1, le=1000)] = 16
    """For so many recoveries a reordering window that has grown is kept, 1 to 1000; default 16 (RFC 8985 §6.2 step
    4).
    """

    min_rtt_window: Span = "300 s"
    """The least round trip time is that of the last so long; default 5 min, as Linux has it (RFC 8985 §6.2 step 1:
    "windowed").
    """

    tail_loss_probe: Truth = True
    """Whether a segment probes for losses at the tail when acknowledgements are overdue (RFC 8985 §7); default true."""

    max_ack_delay: Span = "200 ms"
    """How much longer a probe waits where one segment alone is outstanding, whose acknowledgement a receiver may
    delay; default 200 ms, as Linux has it (RFC 8985 §7.2 leaves it open). A probe leaves no later than the
    retransmission timer expires.
    """


LossDetection: TypeAlias = Annotated[DupAcksLossDetection | RackLossDetection, Field(discriminator="name")]
"""How lost segments are found."""


LossDetectionOrName: TypeAlias = Literal["dup-acks", "rack"] | LossDetection
"""The bare name stands for the table with this name and every parameter at its default."""


SpuriousDetection: TypeAlias = Literal["off", "f-rto", "eifel"]
"""How a reduction of the window that was for nothing is found out.

- ``off``: Not at all.
- ``f-rto``: Time-outs, by what is acknowledged after the first retransmission (F-RTO, RFC 5682).
- ``eifel``: Time-outs and losses, by the send times that acknowledgements echo (Eifel detection, RFC 3522).
"""


class Pacing(Part):
    """Pacing of a window."""

    factor: Number = 1.25
    """The rate is this times window / smoothed round trip time (N of RFC 9002 §7.7). At least 1, else the window is
    never used; default 1.25.
    """

    burst: DataAmount = "1 packet"
    """How much may leave back to back after a pause. At least a packet; default 1 packet."""


RttSampling: TypeAlias = Literal["every-ack", "per-round-trip", "timestamps"]
"""How round trip times are sampled for the retransmission timer.

- ``every-ack``: Every acknowledgement of segments sent once gives a sample (Karn's rule).
- ``per-round-trip``: One segment per round trip is timed, none while something is retransmitted, and what is only
  reported beyond a hole gives no sample (RFC 6298 §3 and §4; BSD, and ns-2 without timestamps).
- ``timestamps``: Segments carry their send time, which the receiver echoes (RFC 7323): retransmissions give
  samples too.
"""


class Stream(Part):
    """A reliable byte stream's sender."""

    segment_size: Bytes = "1 kB"
    """A full segment's bytes on the wire, header included; default 1000 B."""

    header: Bytes = "40 B"
    """Header bytes of every segment; a connection request and a control packet are a header alone. Default 40 B
    (IPv4 and TCP without options).
    """

    initial_window: DataAmount = "10 packets"
    """The window before any feedback, at most 1048576 packets; default 10 packets (RFC 6928)."""

    initial_ssthresh: DataAmount | None = None
    """The slow start threshold before any loss; without limit by default (RFC 5681 §3.1)."""

    window_limit: DataAmount | None = None
    """The congestion window never exceeds this; without limit by default. ns-2's ``window_``."""

    receive_window: DataAmount | None = None
    """The receiver's buffer: nothing is sent further than this beyond the last cumulative acknowledgement (RFC 9293
    §3.8.6); without limit by default.
    """

    dup_threshold: Annotated[Whole, Field(ge=0)] = 3
    """Duplicate acknowledgements, or segments selectively acknowledged above, that mean loss; default 3 (RFC 5681
    §3.2, RFC 6675 ``DupThresh``). Recovery by offsets takes 1, whatever stands here.
    """

    limited_transmit: Truth = True
    """Whether the first duplicate acknowledgements release new segments (RFC 3042); default true."""

    one_recovery_per_window: Truth = True
    """Whether a recovery episode must be over, every segment sent before its begin acknowledged, before the next may
    begin (RFC 6582 §3.2 step 1; ns-2's ``bugFix_``); default true. Concerns plain Reno only, where RFC 5681 does
    not ask for it: NewReno and SACK always do so.
    """

    careful: Truth | None = None
    """Whether the next episode may begin only when a segment sent after the last one's begin is acknowledged
    ("careful", RFC 6582 §3.2 step 1: the acknowledgement "covers more than recover"), or already when all
    segments sent before it are. By default what the RFCs say: true for NewReno and Reno, false for SACK (RFC 6675
    §5).
    """

    impatient: Truth = True
    """NewReno's "impatient" variant: in an episode only the first partial acknowledgement restarts the
    retransmission timer (RFC 6582 §3.2 step 3); default true. Otherwise all do ("slow but steady").
    """

    keep_scoreboard: Truth = True
    """Whether selective acknowledgements outlive a time-out (RFC 6675 §5.1 "SHOULD"); default true. ns-2 forgets
    them.
    """

    rescue: Truth = True
    """Whether SACK recovery may send one rescue retransmission per episode (RFC 6675 §4 rule 4); default true."""

    proportional_rate_reduction: Truth = False
    """Whether fast recovery brings what is in the network down to the threshold over a round trip, in proportion to
    what arrives (RFC 9937, as Linux does); default false: by half a round trip of silence (RFC 6675). Only where
    losses are found by selective acknowledgements, and for windows that a loss lowers once, as Reno's and
    CUBIC's.
    """

    loss_detection: LossDetectionOrName = DupAcksLossDetection()
    """How losses are found: ``dup-acks`` by default, or ``rack``, by time (RACK-TLP, RFC 8985, as Linux does), which
    also finds lost retransmissions and losses at the tail without the retransmission timer. The latter only where
    losses are found by selective acknowledgements; ``rescue`` then does nothing.
    """

    counted_repair: Truth = True
    """Whether what the counts of a receiver's reports prove lost is retransmitted at once (Monaco's reports, with
    selective acknowledgements); default true. Otherwise it waits for duplicate acknowledgements and the timer.
    """

    restart_after_idle: Truth = True
    """Whether a window begins anew at the initial window, by slow start, when nothing was sent for longer than the
    retransmission time-out (RFC 5681 §4.1 "SHOULD"); default true. Otherwise it stays as large as it was. A
    window that is not used up does not grow in any case; it does not shrink either (RFC 7661 and its forerunner
    RFC 2861, both experimental, would have it so).
    """

    spurious: SpuriousDetection = "off"
    """Whether and how losses and time-outs that were none are found out, so that the controller can take its
    reduction back; ``off`` by default. ``eifel`` stamps every segment.
    """

    pacing: Pacing | None = None
    """Paces what a window lets go, where a scheme directs no rate of its own: a table with ``factor`` and ``burst``,
    or ``{}`` for their defaults; not paced by default.
    """

    rto: Rto = Rto()
    """The retransmission timer."""

    user_timeout: Span = "300 s"
    """A sender stops, with an error where there is a real application, when its retransmission timer expires and
    nothing new was acknowledged for this long since it first did (RFC 9293 §3.8.3 and RFC 5482); default 5 min,
    the "global default" of RFC 9293 §3.9.1.1. Time for which a gate or a rate keeps the segment from leaving
    again does not count. It must be at least 100 s (RFC 1122 §4.2.3.5).
    """

    rtt_sampling: RttSampling = "every-ack"
    """How round trip times are sampled."""

    ecn: EcnMode = "off"
    """Whether data leaves ECN-capable."""

    handshake: Truth = False
    """Whether a connection begins with a header-only segment and its acknowledgement, one round trip before data
    (RFC 9293 §3.5); default false.
    """

    send_jitter: Span = "0 s"
    """Every send opportunity is delayed by a uniform random time up to this, to break phase effects; ``"0 s"``, the
    default, for none. ns-2's ``overhead_``. Fast retransmissions and limited transmit (RFC 3042) leave at once.
    """

    segmentation_offload: Truth = False
    """Whether new segments leave in trains, as by Linux with segmentation offload: of two and more, of about 1 ms at
    the rate of window or pacing, for which a sender waits where an acknowledgement is near. The last one bears
    PSH, and is acknowledged at once. Default false: each as soon as window and pacing let it. Data that leaves in
    pairs has none.
    """

    stamps: Truth = False
    """Whether every data packet carries its send time for the receiver's policy; default false."""


class SackCompression(Part):
    """How acknowledgements of what lies beyond a hole wait for each other."""

    delay: Span = "1 ms"
    """The longest wait; default 1 ms (``tcp_comp_sack_delay_ns``)."""

    rtt_share: Number = 0.05
    """The longest wait as a part of the round trip time that the handshake took; default 0.05. Without a handshake
    ``delay`` alone counts.
    """

    slack: Span = "100 µs"
    """How much later the timer comes; default 100 us (``tcp_comp_sack_slack_ns``)."""

    count: Annotated[Whole, Field(ge=1, le=255)] = 44
    """So many segments wait at most; default 44 (``tcp_comp_sack_nr``)."""


class Receiver(Part):
    """A reliable byte stream's receiver."""

    max_sack_blocks: Annotated[Whole, Field(ge=0, le=255)] = 3
    """How many ranges an acknowledgement may report, 0 (no selective acknowledgements) to 4; default 3 (RFC 2018 §3,
    where timestamps take their share of the options).
    """

    sack_block: Bytes = "8 B"
    """What each reported range adds to an acknowledgement's size; default 8 B (RFC 2018 §3; ns-2)."""

    ack_every: Annotated[Whole, Field(ge=0)] = 1
    """An acknowledgement for every so many segments in order; default 1, no delay. RFC 5681 §4.2 allows 2. Out of
    order, each segment is acknowledged at once, and so is one that bears PSH.
    """

    ack_delay: Span = "100 ms"
    """The longest delay of an acknowledgement, with ``ack_every`` above 1; default 100 ms (RFC 5681 §4.2: below 500
    ms).
    """

    reading: SpanOrDistribution | None = None
    """How long the receiving program takes until it has read what has arrived, a time or a distribution of times:
    drawn when data comes in order and nothing is being read. Such data is acknowledged when it has been read, as
    by Linux, and not when it comes. What comes beside a hole or fills one is acknowledged as otherwise. No time
    where absent.
    """

    sack_compression: SackCompression | None = None
    """How acknowledgements beside a hole wait for each other, as Linux's do (``{}`` has its settings): three leave
    at once, and further ones together. Each leaves at once where absent, as RFC 5681 §4.2 says.
    """

    dsack: Truth | None = None
    """Whether an acknowledgement names as its first range what arrived twice (D-SACK, RFC 2883). By default where
    the sender finds losses by time (``loss_detection`` of ``transport``), which learns of needless
    retransmissions so.
    """

    ecn_echo: EcnEcho = "latched"
    """How congestion marks are echoed."""

    ack_detail: AckDetail = "off"
    """What acknowledgements say beyond RFC 2018."""


class Flow(Part):
    """A group of flows that are alike."""

    scheme: SchemeOrName
    """The congestion control scheme, by name or as a table with its parameters."""

    name: Text = ""
    """The group's name in results; the scheme's where it is left out, with a number where another group has it
    already (``cubic``, ``cubic 2``). Members of a group of several are called ``name-0``, ``name-1``, ….
    """

    count: Annotated[Whole, Field(ge=1, le=1000000)] = 1
    """How many flows the group has."""

    reliable: Truth | None = None
    """Whether a scheme that sends datagrams carries a reliable stream instead: what is lost is retransmitted within
    the rate that the scheme allows, and the scheme sees first transmissions only. The flow then has ``transport``
    and ``receiver`` in place of ``datagram``. Says nothing of other schemes. Default false.
    """

    source: SourceOrName = BulkSource()
    """The application, by name or as a table with its parameters; an endless transfer by default."""

    from_: Annotated[Text | None, Field(alias="from")] = None
    """The sending node. In the templates ``dumbbell``, ``parking-lot`` and ``home`` the name of a router stands for
    a host of the flow's own behind that router; the default is the first router, ``isp`` in ``home``.
    """

    to: Text | None = None
    """The receiving node, as ``from``; the default is the last router, ``home`` in ``home``."""

    receivers: Sequence[Text] | None = None
    """Several receiving nodes, in place of ``to``: every packet is copied to all of them where their shortest ways
    part, each acknowledges for itself, and the slowest sets the rate. In results each is a flow of its own, named
    ``name to node``. For schemes with a reliable stream, in the topologies ``star`` and ``graph``.
    """

    cells: Truth = False
    """Whether packets are carried as ATM cells of 53 bytes, cut and put together by AAL 5 at the edge of the
    network. Buffers and queues on the way then count cells. Default false.
    """

    route: Sequence[Text] | None = None
    """The nodes between the two ends that the data passes, in order, where it is not to take the shortest way."""

    return_route: Sequence[Text] | None = None
    """The nodes between the two ends that acknowledgements and reports pass, in order; by default those of ``route``
    backwards where they are linked that way, the shortest way otherwise.
    """

    start: Draw = "0 s"
    """When the flow starts: one time, or ``{ from, to }`` for a uniform draw from each flow's own random stream."""

    stop: Span | None = None
    """When the flow stops; with the run where absent."""

    transport: Stream = Stream()
    """The sending endpoint of a scheme with a reliable stream: sizes, windows, loss recovery, timers, ECN."""

    receiver: Receiver = Receiver()
    """The receiving endpoint of a scheme with a reliable stream: acknowledgements and echoes."""

    datagram: Datagram = Datagram()
    """Both endpoints of a scheme that sends datagrams: sizes, buffer, acknowledgements, ECN."""


LossPlace: TypeAlias = Literal["before-queue", "after-queue"]
"""Where on the link a packet is lost.

- ``before-queue``: Before the queue: a lost packet takes neither buffer nor capacity.
- ``after-queue``: After the transmission, on the wire: a lost packet has used its share of the link.
"""


class IndependentLoss(Part):
    """Each packet is lost independently (Bernoulli)."""

    TAG: ClassVar[str] = "name"
    name: Literal["independent"] = "independent"
    probability: Number = 0.01
    """Probability that a packet is lost, 0 to 1; one packet in a hundred where it is left out."""

    place: LossPlace = "before-queue"
    """Where on the link packets are lost."""


PacketClass: TypeAlias = Literal["data", "acknowledgements", "control"]
"""Which packets a selective loss model strikes.

- ``data``: What carries the application's data.
- ``acknowledgements``: Acknowledgements.
- ``control``: Senders' control packets and receivers' reports.
"""


class SelectiveLoss(Part):
    """Packets of one class are lost independently, all others pass: for the robustness of control loops."""

    TAG: ClassVar[str] = "name"
    name: Literal["selective"] = "selective"
    probability: Number = 0.01
    """Probability that a packet of the class is lost, 0 to 1."""

    class_: Annotated[PacketClass, Field(alias="class")] = "data"
    """Which packets: ``data``, ``acknowledgements``, or ``control``, senders' control packets and receivers'
    reports.
    """

    place: LossPlace = "before-queue"
    """Where on the link packets are lost."""


class GilbertElliottLoss(Part):
    """A good and a bad state that alternate packet by packet (Gilbert 1960, Elliott 1963): bursts of loss."""

    TAG: ClassVar[str] = "name"
    name: Literal["gilbert-elliott"] = "gilbert-elliott"
    good_to_bad: Number = 0.01
    """Probability per packet of going from the good to the bad state, 0 to 1."""

    bad_to_good: Number = 0.25
    """Probability per packet of going from the bad to the good state, 0 to 1."""

    loss_good: Number = 0.0
    """Loss probability in the good state, 0 to 1 (Gilbert's model has 0)."""

    loss_bad: Number = 0.5
    """Loss probability in the bad state, 0 to 1."""

    place: LossPlace = "before-queue"
    """Where on the link packets are lost."""


class PeriodicLoss(Part):
    """Every n-th packet is lost: deterministic, for tests."""

    TAG: ClassVar[str] = "name"
    name: Literal["periodic"] = "periodic"
    every: Annotated[Whole, Field(ge=2)] = 100
    """One packet in so many is lost; at least 2."""

    offset: Annotated[Whole, Field(ge=0)] = 99
    """The number of the first packet lost; less than ``every``."""

    place: LossPlace = "before-queue"
    """Where on the link packets are lost."""


class LossStep(Part):
    """From ``at`` on, packets are lost with this probability."""

    at: Span
    """From when on, from the start of the run."""

    probability: Number
    """Probability that a packet is lost, 0 to 1."""


class ScheduledLoss(Part):
    """Each packet is lost independently, with a probability that changes at given times."""

    TAG: ClassVar[str] = "name"
    name: Literal["scheduled"] = "scheduled"
    steps: Sequence[LossStep] = ()
    """The steps, in the order of their times."""

    place: LossPlace = "before-queue"
    """Where on the link packets are lost."""


Loss: TypeAlias = Annotated[
    IndependentLoss | SelectiveLoss | GilbertElliottLoss | PeriodicLoss | ScheduledLoss, Field(discriminator="name")
]
"""How a link loses packets besides by overflow."""


LossOrName: TypeAlias = Number | Literal["independent", "selective", "gilbert-elliott", "periodic", "scheduled"] | Loss
"""A number is the probability of independent loss. The bare name stands for the table with this name and every
parameter at its default.
"""


class Reordering(Part):
    """Packets are held back at the far end, so that later ones overtake them."""

    probability: Number = 0.01
    """Probability that a packet is held back, 0 to 1."""

    hold: Draw = SpanRange.model_construct(from_="0 s", to="10 ms")
    """How long it is held back beyond the link's delay: one time, or ``{ from, to }`` for a uniform draw."""


class ScheduleStep(Part):
    """From ``at`` on, the link has another rate, another delay, or both. A packet in transmission finishes at the
    old rate; packets on the wire keep the delay that they left with.
    """

    at: Span
    """When, from the start of the run."""

    rate: BitRate | None = None
    """The new rate; unchanged where absent. ``"0 bit/s"`` stops the link until a later step."""

    delay: Span | None = None
    """The new one-way propagation delay; unchanged where absent."""


class Trace(Part):
    """A recorded trace that drives a link in place of a constant rate."""

    file: Text
    """The file: one whole number of milliseconds per line, never decreasing, repeated numbers for several
    opportunities in one millisecond. Relative to the scenario's file.
    """

    opportunity: Bytes = "1504 B"
    """How much one opportunity delivers. Mahimahi's is 1504 bytes (1500 and its own header); most published traces
    mean 1500.
    """

    digest: Text | None = None
    """A 128-bit digest of the file's contents, filled in when the scenario is loaded, so that a result is tied to
    the trace that it was made with. Where given, it must match.
    """


class Reverse(Part):
    """What a link's reverse direction has different from its forward direction."""

    rate: BitRate | None = None
    """The rate; as forward where absent."""

    delay: Span | None = None
    """The one-way propagation delay; as forward where absent."""

    buffer: Capacity | None = None
    """How much may wait; as forward where absent."""

    queue: QueueOrName | None = None
    """The queue discipline; as forward where absent."""

    loss: LossOrName | None = None
    """Loss besides overflow; none where absent."""

    corruption: Corruption | None = None
    """Damage on the wire; none where absent."""

    duplication: Duplication | None = None
    """Duplicated packets; none where absent."""

    reordering: Reordering | None = None
    """Packets held back; none where absent."""

    coalescing: Coalescing | None = None
    """The far end takes packets in batches; one by one where absent."""

    schedule: Sequence[ScheduleStep] = ()
    """Changes of rate and delay at given times, in order."""

    trace: Trace | None = None
    """A recorded trace of delivery opportunities."""


class LinkFields(Part):
    """What GraphLink, Dumbbell, ParkingLot, Star and Home have in common."""

    rate: BitRate = "10 Mbit/s"
    """The rate of the server, in both directions unless ``reverse`` says otherwise."""

    delay: Span = "20 ms"
    """The one-way propagation delay, in both directions unless ``reverse`` says otherwise; ``20 ms`` where it is
    left out.
    """

    buffer: Capacity = "1 BDP"
    """How much may wait before the server, not counting the packet in transmission: packets (whatever their size: an
    acknowledgement takes the room of one), bytes, ``"unlimited"``, or multiples of the bandwidth-delay product
    (``"1 BDP"``): this link's rate times the mean propagation round trip time of the flows whose data crosses it.
    Never more than 16 777 216 packets.
    """

    queue: QueueOrName = DropTailQueue()
    """The queue discipline, by name or as a table with its parameters."""

    loss: LossOrName | None = None
    """Loss besides overflow: the probability of independent loss (``0.01``), or a model by name or as a table with
    its parameters; none where absent. Forward direction only.
    """

    corruption: Corruption | None = None
    """Damage on the wire; none where absent. Forward direction only."""

    duplication: Duplication | None = None
    """Duplicated packets; none where absent. Forward direction only."""

    reordering: Reordering | None = None
    """Packets held back so that others overtake them; none where absent. Forward direction only."""

    coalescing: Coalescing | None = None
    """The far end takes packets in batches; one by one where absent. Forward direction only."""

    schedule: Sequence[ScheduleStep] = ()
    """Changes of rate and delay at given times, in order. Forward direction only."""

    trace: Trace | None = None
    """A recorded trace of delivery opportunities in place of a constant rate. Forward direction only."""

    reverse: Reverse | None = None
    """What is different in the reverse direction. Rate, delay, buffer and queue are the same where not given; loss,
    impairments, schedule and trace are absent there where not given.
    """


class GraphLink(LinkFields):
    """One link of a graph, in both directions unless it is one-way."""

    ORDER: ClassVar[tuple[str, ...]] = (
        "from_",
        "to",
        "one_way",
        "rate",
        "delay",
        "buffer",
        "queue",
        "loss",
        "corruption",
        "duplication",
        "reordering",
        "coalescing",
        "schedule",
        "trace",
        "reverse",
    )
    from_: Annotated[Text, Field(alias="from")]
    """The node at its near end."""

    to: Text
    """The node at its far end."""

    one_way: Truth = False
    """Whether there is no reverse direction."""


WhichClass: TypeAlias = Literal["all", "main", "none"]
"""A class of flows or links.

- ``all``: Every one.
- ``main``: Every link but the access links of a template; every flow.
- ``none``: None: recording costs nothing.
"""


Which: TypeAlias = WhichClass | Sequence[Text]
"""Which flows, or links, are recorded."""


class Record(Part):
    """What a run records beyond its counters."""

    bin: Span = "100 ms"
    """The width of the bins of all time series: so wide that these take at most 1 GB (10 numbers of 8 bytes per flow
    and bin, 10 per link).
    """

    flows: Which = "all"
    """Flows with a time series (goodput, window, rate, round trip time, losses, marks): ``"all"``, ``"none"``, or a
    list of names.
    """

    links: Which = "main"
    """Links with a time series (arrivals, departures, queue, drops, marks): ``"all"``, ``"main"`` (all but the
    access links of a template), ``"none"``, or a list of names such as ``"r0->r1"``.
    """

    queue_state: Truth = False
    """Whether the series of ``links`` also have what their queue disciplines tell of their state at the end of each
    bin (averages, prices, probabilities), in columns of its own names; ``tailback queues`` lists them.
    """

    packets: Truth = False
    """Whether every packet's passage over the links in ``links`` is logged: 30 bytes each time that a packet is
    sent, offered to a link, dropped or delivered. A run ends with an error when its log exceeds 1 GB.
    """

    state: Truth = False
    """Whether the named state that controllers publish (thresholds, estimates) is recorded for ``flows``: about 50
    bytes each time that a name is told. A run ends with an error when these exceed 1 GB.
    """

    accumulation: Truth = False
    """Whether the series of ``flows`` also have the exact accumulation (Xia et al., equation 1: what the flow has
    waiting along its path, each router seen a propagation delay ago, in the receiver's time), what it has in
    transmission, and the mean of the estimates that its scheme published as ``accumulation``.
    """

    delays: Truth = False
    """Whether the table of flows has delays from ``warm_up`` on: of data packets from sender to receiver, with their
    variation, and round trip times as senders sample them, with percentiles of at most 0.4 % error. Up to 30 kB
    per flow, and a look-up for each packet.
    """


class Dumbbell(LinkFields):
    """Two routers, ``r0`` and ``r1``, joined by the bottleneck link whose parameters stand here. Flow number k
    (counted over all groups from 0) runs from its host ``s<k>`` behind ``r0`` to its host ``d<k>`` behind ``r1``.
    """

    TAG: ClassVar[str] = "template"
    template: Literal["dumbbell"] = "dumbbell"
    access: Access = Access()
    """The links between senders and ``r0``, and between receivers and ``r1`` unless ``receiver_access`` says
    otherwise.
    """

    receiver_access: Access | None = None
    """The links between ``r1`` and the receivers; as ``access`` where absent."""


class ParkingLot(LinkFields):
    """Routers ``r0`` to ``r<hops>`` in a chain; every link between them has the parameters that stand here. Flow
    number k runs from its host ``s<k>`` to its host ``d<k>``, behind the routers that it names by ``from`` and
    ``to``, or behind the first and the last.
    """

    ORDER: ClassVar[tuple[str, ...]] = (
        "hops",
        "rate",
        "delay",
        "buffer",
        "queue",
        "loss",
        "corruption",
        "duplication",
        "reordering",
        "coalescing",
        "schedule",
        "trace",
        "reverse",
        "access",
        "receiver_access",
    )
    TAG: ClassVar[str] = "template"
    template: Literal["parking-lot"] = "parking-lot"
    hops: Annotated[Whole, Field(ge=1, le=1000)] = 3
    """How many links the chain has."""

    access: Access = Access()
    """The links between senders and routers, and between receivers and routers unless ``receiver_access`` says
    otherwise.
    """

    receiver_access: Access | None = None
    """The links between routers and receivers; as ``access`` where absent."""


class Star(LinkFields):
    """Hosts ``h0``, ``h1``, … around the node ``hub``. The parameters that stand here are those of the links from
    the hub to each host, and of the reverse direction unless ``reverse`` says otherwise. By default all flows
    send to ``h0``, from ``h1``, ``h2``, … in turn.
    """

    ORDER: ClassVar[tuple[str, ...]] = (
        "hosts",
        "rate",
        "delay",
        "buffer",
        "queue",
        "loss",
        "corruption",
        "duplication",
        "reordering",
        "coalescing",
        "schedule",
        "trace",
        "reverse",
    )
    TAG: ClassVar[str] = "template"
    template: Literal["star"] = "star"
    hosts: Annotated[Whole, Field(ge=2, le=100000)] = 5
    """How many hosts."""


class Home(LinkFields):
    """The node ``isp`` and the router ``home``, joined by an access line: the parameters that stand here are those
    of the download, ``reverse`` those of the upload, whose rate is as a rule the lower. Servers stand behind
    ``isp`` at several distances, devices behind ``home``. Flow number k runs from its server ``s<k>`` to its
    device ``d<k>``; one that says ``from = "home"`` and ``to = "isp"`` sends the other way. Flows between named
    ``devices`` and servers share what they name.
    """

    TAG: ClassVar[str] = "template"
    template: Literal["home"] = "home"
    servers: Access = Access.model_construct(
        delay=(
            "4 ms",
            "14 ms",
            "44 ms",
        )
    )
    """The links between ``isp`` and servers. Their default delays are 4, 14 and 44 ms one way, dealt out in turn."""

    lan: Access = Access.model_construct(delay="1 ms")
    """The links between the router ``home`` and devices. Their default delay is 1 ms."""

    devices: Sequence[Text] = ()
    """Names of devices that several flows share, as flows of one host."""


class Graph(Part):
    """Any nodes and links."""

    TAG: ClassVar[str] = "template"
    template: Literal["graph"] = "graph"
    links: Sequence[GraphLink] = ()
    """The links."""


Topology: TypeAlias = Annotated[Dumbbell | ParkingLot | Star | Home | Graph, Field(discriminator="template")]
"""The network."""


class Scenario(Part):
    """A scenario: network, flows, what to record, for how long, with which seed.

    Quantities carry their units (``"10 Mbit/s"``, ``"5 ms"``, ``"240 packets"``); a bare number in their place is
    an error.
    """

    duration: Span
    """How long the run lasts, in simulated time."""

    topology: Topology
    """The network."""

    flows: Sequence[Flow]
    """The groups of flows."""

    name: Text = ""
    """A title for results and figures."""

    description: Text | None = None
    """What the scenario is for; free text."""

    warm_up: Span = "0 s"
    """Metrics are taken from here on; time series begin at 0 all the same."""

    seed: Annotated[Whole, Field(ge=0, le=9223372036854775807)] = 1
    """The seed of all random streams. The same scenario with the same seed gives the same result, bit by bit."""

    aggregates: Sequence[Aggregate] = ()
    """Control from edge to edge: one loop for all flows between two edge routers."""

    record: Record = Record()
    """What is recorded besides counters."""


__all__ = [
    "Access",
    "AccumulationAiad",
    "AccumulationFields",
    "AccumulationMw",
    "AccumulationP",
    "AckDetail",
    "Adaptive",
    "Aggregate",
    "ApplicationRate",
    "Arrivals",
    "AssumedTimeout",
    "AvdQueue",
    "AvqQueue",
    "Bbr1",
    "Bbr3",
    "BitRate",
    "BucketClass",
    "Buffer",
    "BulkSource",
    "BurstGrowth",
    "BurstReaction",
    "Bytes",
    "BytesDistribution",
    "BytesOrDistribution",
    "CakeAckFilter",
    "CakeFraming",
    "CakeIsolation",
    "CakeQueue",
    "CakeTins",
    "Capacity",
    "CellRoundRobinQueue",
    "Class",
    "Coalescing",
    "CodelQueue",
    "Codepoint",
    "Codepoints",
    "Compound",
    "Connection",
    "ConstantBytesDistribution",
    "ConstantSpanDistribution",
    "ContinuousPacketPairLaw",
    "Copa",
    "Corruption",
    "Counting",
    "Cubic",
    "Custom",
    "CustomQueue",
    "DataAmount",
    "Datagram",
    "DatagramsSource",
    "Dctcp",
    "DeficitRoundRobinQueue",
    "Delay",
    "DifferenceSign",
    "Direction",
    "DiscretePacketPairLaw",
    "Draw",
    "DropHeadQueue",
    "DropTailQueue",
    "Dualpi2Queue",
    "Dumbbell",
    "DupAcksLossDetection",
    "Duplication",
    "EcnEcho",
    "EcnMode",
    "EmpiricalBytesDistribution",
    "EmpiricalSpanDistribution",
    "ErrorBase",
    "Estimator",
    "Eta",
    "EwmaServiceEstimator",
    "ExponentialBytesDistribution",
    "ExponentialSpanDistribution",
    "FilesSource",
    "FilesSurgeSizes",
    "FixedApplicationRate",
    "FixedPacketPairSetpoint",
    "FixedRate",
    "FixedVideoControl",
    "FixedWindow",
    "Flow",
    "Forecast",
    "ForecastOrName",
    "ForecastPredictor",
    "FqCodelQueue",
    "FractionalForecast",
    "FramedRoundRobinQueue",
    "FriendlyRate",
    "FuzzyServiceEstimator",
    "GameSource",
    "Gcc",
    "GilbertElliottLoss",
    "Graph",
    "GraphLink",
    "Halve",
    "HierarchicalRoundRobinQueue",
    "Highspeed",
    "Home",
    "HostCoalescing",
    "Illinois",
    "IndependentLoss",
    "InverseSchedule",
    "KalmanServiceEstimator",
    "Lane",
    "Ledbat",
    "LedbatPlusPlus",
    "Level",
    "Lied",
    "LinkFields",
    "Load",
    "LognormalBytesDistribution",
    "LognormalSpanDistribution",
    "Loss",
    "LossDetection",
    "LossDetectionOrName",
    "LossEstimator",
    "LossIntervals",
    "LossOrName",
    "LossPlace",
    "LossSign",
    "LossStep",
    "MarkForm",
    "Measure",
    "MeasuredApplicationRate",
    "Monaco",
    "Monitor",
    "Nada",
    "NamedFlow",
    "Newark",
    "Newreno",
    "OnOffSource",
    "OnlinePredictor",
    "Overlap",
    "Pacing",
    "PacketClass",
    "PacketPair",
    "PacketPairControlledAt",
    "PacketPairLaw",
    "PacketPairPropagation",
    "PacketPairRateChange",
    "PacketPairSetpoint",
    "ParetoBytesDistribution",
    "ParetoSpanDistribution",
    "ParkingLot",
    "PerceptronForecast",
    "PerfectPredictor",
    "PeriodicLoss",
    "PiQueue",
    "PieQueue",
    "PolicerQueue",
    "Prague",
    "Predictor",
    "PredictorOrName",
    "PriorityQueue",
    "Probabilistic",
    "ProbedPacketPairSetpoint",
    "Probes",
    "Quantiser",
    "Queue",
    "QueueOrName",
    "RackLossDetection",
    "RandomDropQueue",
    "RandomPredictor",
    "RateVideoControl",
    "Reading",
    "Receiver",
    "Record",
    "RedQueue",
    "RegressionSign",
    "RemQueue",
    "Reno",
    "RenoFields",
    "Reordering",
    "ReplayEntry",
    "ReplaySource",
    "RequestsSurgeSizes",
    "Retransmission",
    "Reverse",
    "Rho",
    "RoundRobinQueue",
    "Rto",
    "RttSampling",
    "Sac",
    "Sack",
    "SackCompression",
    "Scenario",
    "Schedule",
    "ScheduleOrName",
    "ScheduleStep",
    "ScheduledLoss",
    "Scheme",
    "SchemeOrName",
    "Scream2",
    "Section7PacketPairSetpoint",
    "SelectiveLoss",
    "SelfClockedFairQueueing",
    "ServiceEstimator",
    "SetpointCut",
    "Setting",
    "Share",
    "Sign",
    "SignOrName",
    "Signals",
    "Slower",
    "Source",
    "SourceOrName",
    "Span",
    "SpanDistribution",
    "SpanOrDistribution",
    "SpanRange",
    "Spread",
    "SpuriousDetection",
    "Star",
    "StatedApplicationRate",
    "StepQueue",
    "Stream",
    "SurgeConnection",
    "SurgeSizes",
    "SurgeSource",
    "SyntheticVideoSource",
    "Table2PacketPairSetpoint",
    "TablePredictor",
    "TableSchedule",
    "TdqmQueue",
    "Tfrc",
    "ThresholdSchedule",
    "TokenBucketQueue",
    "Tokens",
    "Topology",
    "Trace",
    "UniformBytesDistribution",
    "UniformSpanDistribution",
    "Vegas",
    "VegasFields",
    "VegasK",
    "Victim",
    "VideoControl",
    "VideoPause",
    "VideoSource",
    "VirtualClockQueue",
    "Vivace",
    "VoiceSource",
    "WaveletForecast",
    "WeibullBytesDistribution",
    "WeibullSpanDistribution",
    "WeightedFairQueueing",
    "WeightedRoundRobinQueue",
    "WestwoodPlus",
    "Which",
    "WhichClass",
]
