"""The compiled core. Python code speaks to it through ``tailback.scenario`` and ``tailback.results``."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[Any] | list[str]
"""A column of a table: an array, or a list of names."""

Table: TypeAlias = dict[str, Column]
"""Columns of equal length by name. The name ends in the unit: ``_packets``, ``_bytes``, ``_bits`` (per second),
``_seconds``."""

class FieldProblem(TypedDict):
    """One wrong value in a scenario; ``value`` is empty where it is missing."""

    field: str
    value: str
    allowed: str

def version() -> str:
    """The version of the compiled core."""

def schema() -> str:
    """The JSON Schema of scenarios."""

def registry() -> str:
    """All schemes, queue disciplines and sources as JSON: ``{"schemes": [...], "queues": [...], "sources": [...]}``, each
    with ``name``, ``summary``, ``source`` and ``parameters`` (``name``, ``default``, ``type``, ``summary``); schemes also
    with ``reliability`` and ``expects``, queues with ``family`` and ``state`` (the names of what ``record.queue_state``
    records)."""

def check(scenario: str, /) -> list[FieldProblem]:
    """Everything that is wrong with a scenario written as JSON; empty where it is good."""

def load_toml(path: str, /) -> str:
    """The scenario in a TOML file (or JSON, by its ending) as canonical JSON, complete with defaults.

    Raises ``tailback.errors.ScenarioError`` with all problems."""

def to_toml(scenario: str, /) -> str:
    """A scenario written as JSON, as TOML for people: what is at its default is left out. Raises ``ScenarioError``."""

def canonical(scenario: str, /) -> str:
    """A scenario written as JSON, checked, complete with defaults, with sorted keys. Raises ``ScenarioError``."""

def scenario_hash(scenario: str, /) -> str:
    """The 128-bit digest of a scenario written as JSON. Raises ``ScenarioError``."""

class Network(TypedDict):
    """Directed links and the flows' routes over them."""

    links: list[str]
    """Names, ``from->to``."""
    rate_bits: list[int]
    delay_seconds: list[float]
    queues: list[str]
    """Their disciplines with all parameters, as JSON."""
    flows: list[str]
    groups: list[int]
    """Per flow, the row of its group in the scenario."""
    routes: list[list[int]]
    """Per flow, the rows of the links that its data passes."""
    aggregates: list[str]
    aggregate_routes: list[list[int]]
    """Per aggregate, the rows of the links from edge to edge."""
    aggregate_edges: list[int]
    """Per aggregate, the row of the link where packets wait to enter."""
    aggregate_members: list[list[int]]
    """Per aggregate, the rows of the flows whose data it takes in."""
    aggregate_held_bytes: list[float | None]
    """Per aggregate, what it holds in queues at rest; ``None`` where its scheme has no such aim."""
    group_names: list[str]
    """Per group."""
    greedy: list[bool]
    """Per group, whether there is always something to send."""
    stop_seconds: list[float | None]
    """Per group; ``None`` where it stops with the run."""
    held_bytes: list[float | None]
    """Per group, what each flow holds in queues at rest; ``None`` where its scheme has no such aim."""

def network(scenario: str, /) -> Network:
    """The network of a scenario written as JSON. Raises ``ScenarioError``."""

def run(scenario: str, /, seed: int | None = None, progress: Callable[[float], object] | None = None) -> Result:
    """Runs a scenario written as JSON, with its own seed or another.

    ``progress`` is told the share of simulated time that is done, 0 to 1, at most ten times a second. The interpreter is
    free for other threads meanwhile; an interrupt ends the run. Raises ``ScenarioError``."""

def estimate(estimator: str, observed: list[float], /) -> NDArray[np.float64]:
    """What an estimator of service times, written as JSON (``{"name": "fuzzy"}``), makes of a series of observations: its
    estimate after each. Raises ``ValueError``."""

@final
class Result:
    """What a run measured. Arrays are the run's own memory, not copies."""

    @property
    def scenario(self) -> str:
        """The scenario as canonical JSON, with the seed that was used."""
    @property
    def seed(self) -> int:
        """The seed that was used."""
    @property
    def hash(self) -> str:
        """A digest of all counters and series: equal for equal runs, bit by bit."""
    @property
    def events(self) -> int:
        """How many events the engine handled."""
    @property
    def links(self) -> Table:
        """Per directed link, over the whole run: ``name``, ``from``, ``to``, ``is_access``, ``rate_bits``,
        ``delay_seconds``, ``round_trip_seconds`` (mean propagation round trip time of flows whose data crosses it),
        ``buffer_packets`` and ``buffer_bytes`` (not a number where without limit), then the counters
        ``arrived_packets``, ``arrived_bytes``, ``transmitted_packets``, ``transmitted_bytes``, ``delivered_packets``,
        ``delivered_bytes``, ``dropped_packets``, ``dropped_bytes``, ``dropped_overflow_packets``,
        ``dropped_early_packets``, ``dropped_loss_packets``, ``dropped_corruption_packets``,
        ``dropped_unreachable_packets``, ``duplicated_packets``, ``marks``, ``waiting_packets``, ``in_service_packets``,
        ``propagating_packets`` (states at the end), ``busy_seconds``, ``mean_queue_packets``."""
    @property
    def links_measured(self) -> Table:
        """As ``links``, with the counters from ``warm_up`` to the end only."""
    @property
    def flows(self) -> Table:
        """Per flow, over the whole run: ``name``, ``group``, ``scheme``, ``source``, ``from``, ``to``,
        ``start_seconds``, ``round_trip_seconds`` (propagation), ``sent_packets``, ``sent_bytes``, ``received_packets``,
        ``received_bytes`` (at the receiver), ``goodput_packets``, ``goodput_bytes`` (delivered in order, once, header
        bytes included), ``retransmitted_packets``, ``duplicate_packets``, ``timeouts``, ``recoveries``,
        ``gated_packets``, ``discarded_packets``, ``smoothed_rtt_seconds`` (state at the end), ``finished_seconds`` (not
        a number where the flow had not finished)."""
    @property
    def flows_measured(self) -> Table:
        """As ``flows``, with the counters from ``warm_up`` to the end only."""
    @property
    def aggregates(self) -> Table:
        """Per aggregate, over the whole run: ``name``, ``scheme``, ``from``, ``to``, ``link`` (where packets wait to
        enter), ``data_flows`` and ``return_flows`` (whose data, and whose acknowledgements it takes in),
        ``round_trip_seconds`` (propagation), ``entered_packets``, ``entered_bytes``, ``left_packets``, ``left_bytes``,
        ``control_packets``, ``feedback_packets`` (acknowledgements and reports), ``smoothed_rtt_seconds`` (state at the
        end). No columns where there are none."""
    @property
    def aggregates_measured(self) -> Table:
        """As ``aggregates``, with the counters from ``warm_up`` to the end only."""
    @property
    def messages(self) -> Table:
        """Per completed message (file, burst): ``flow`` (its row in ``flows``), ``size_bytes``, ``began_seconds``,
        ``ended_seconds``."""
    @property
    def times(self) -> NDArray[np.float64]:
        """The ends of the series' bins, in seconds."""
    @property
    def link_series(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Per recorded link, by name, per bin: ``transmitted_bytes``, ``transmitted_packets``, ``arrived_packets``,
        ``dropped_packets``, ``marks``, ``mean_queue_packets``, and at the bin's end ``queue_packets``,
        ``queue_bytes``; where ``record.queue_state`` is on, also what the link's discipline tells of its state."""
    @property
    def flow_series(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Per recorded flow, by name, per bin: ``sent_bytes``, ``received_bytes``, ``goodput_bytes``,
        ``retransmitted_packets``, and at the bin's end ``window_bytes``, ``rate_bits``, ``in_flight_bytes``,
        ``rtt_seconds``, ``smoothed_rtt_seconds``."""
    @property
    def aggregate_series(self) -> dict[str, dict[str, NDArray[Any]]]:
        """Per recorded aggregate, by name, per bin, as ``flow_series``: sent is what entered, control packets included,
        received what left, and goodput what left without them."""
    @property
    def state(self) -> Table:
        """What controllers published, where ``record.state`` is on: ``time_seconds``, ``flow`` (its row in ``flows``; the
        rows of ``aggregates`` follow those), ``name``, ``value``."""
    @property
    def packets(self) -> Table:
        """The packet log, where ``record.packets`` is on: ``time_nanoseconds``, ``kind`` (0 sent, 1 offered to a link,
        2 dropped, 3 delivered), ``flow``, ``link`` (their rows; 4294967295 at endpoints), ``number``, ``size_bytes``,
        ``bits`` (packed header bits), ``reason`` (row of the reasons overflow, early, loss, corruption, unreachable;
        255 where nothing was dropped)."""

def register_scheme(
    name: str,
    controller: Callable[[Connection, dict[str, Any]], Any],
    calls: set[str],
    policy: Callable[[Connection, dict[str, Any]], Any] | None,
    policy_calls: set[str],
    report: type | None,
    read_report: Callable[[Sequence[float]], Any] | None,
    check: Callable[[dict[str, Any]], str],
    reliability: str,
    ecn: bool,
    stamps: bool,
    prompt_acks: bool,
) -> None:
    """Enters a scheme of the user's own; see ``tailback.own``."""

def register_queue(
    name: str,
    make: Callable[[Link, dict[str, Any]], Any],
    calls: set[str],
    check: Callable[[dict[str, Any]], str],
) -> None:
    """Enters a queue discipline of the user's own; see ``tailback.own``."""

@final
class Connection:
    """What a controller or feedback policy knows of its connection, in bytes."""

    segment: int
    """A full segment on the wire."""
    initial_window: int
    """The window before any feedback."""
    initial_ssthresh: int | None
    """The slow start threshold before any loss; ``None`` for without limit."""
    max_window: int
    """The receiver's window."""

@final
class Link:
    """What a queue discipline knows of its link."""

    buffer_packets: int | None
    """The buffer, where it is in packets."""
    buffer_bytes: int | None
    """The buffer, where it is in bytes."""
    rate: int
    """The server's nominal rate in bit/s."""
    mean_packet: int
    """A typical packet in bytes."""

@final
class DataPairs:
    """All data leaves as back-to-back pairs; a lone packet leaves as a singleton after ``singleton_timeout`` seconds
    (``packet-pair.txt`` §3)."""

    def __new__(cls, singleton_timeout: float) -> Self: ...
    @property
    def singleton_timeout(self) -> float:
        """How long a lone packet waits for its partner, in seconds."""

@final
class ControlPair:
    """A pair of control packets, one out of band and one in band, leaves whenever ``id`` changes, and when the plan first
    appears (``accumulation.txt`` §IV-B.1)."""

    def __new__(cls, id: int) -> Self: ...  # noqa: A002 (the name it has in Rust)
    @property
    def id(self) -> int:
        """The pair's identity, which comes back in :attr:`Control.pair` at the receiver."""

@final
class Directive:
    """What a controller tells the sender: at most ``window`` bytes in the network and at most ``rate`` bit/s, metered by
    a bucket of ``burst`` bytes into which tokens come evenly or as a Poisson process; whether data may leave at all;
    which probes to send; and how long to wait for an acknowledgement, in seconds, where the controller knows better than
    RFC 6298. Raises ``ValueError`` for negative values and what is no number."""

    def __new__(
        cls,
        window: float | None = None,
        rate: float | None = None,
        *,
        burst: float = 0.0,
        tokens: Literal["constant", "poisson"] = "constant",
        gate: bool = True,
        probe: DataPairs | ControlPair | None = None,
        timeout: float | None = None,
    ) -> Self: ...
    @property
    def window(self) -> int | None:
        """Bytes, or ``None`` for no window."""
    @property
    def rate(self) -> int | None:
        """Bit/s, or ``None`` for no rate."""
    @property
    def burst(self) -> int:
        """The depth in bytes of the bucket that meters the rate: how much may leave back to back."""
    @property
    def tokens(self) -> Literal["constant", "poisson"]:
        """How tokens arrive in that bucket."""
    @property
    def gate(self) -> bool:
        """Whether data may leave at all."""
    @property
    def probe(self) -> DataPairs | ControlPair | None:
        """Probes to send."""
    @property
    def timeout(self) -> float | None:
        """How long to wait for an acknowledgement, in seconds, or ``None`` for what RFC 6298 says."""

@final
class Sent:
    """A packet that leaves."""

    number: int
    """Its sequence number."""
    size: int
    """Bytes on the wire."""
    in_flight: int
    """Bytes believed in the network, this packet included."""
    retransmission: bool
    """Whether it was sent before."""
    pair: Literal["single", "first", "second"]
    """Its place in a probe."""
    tag: int
    """The controller's own note, handed back with the acknowledgement or loss."""

@final
class Acked:
    """A packet newly acknowledged."""

    number: int
    """Its sequence number."""
    size: int
    """Bytes on the wire."""
    sent_at: float
    """When it was last sent, in seconds."""
    retransmitted: bool
    """Whether it was sent more than once."""
    pair: Literal["single", "first", "second"]
    """Its place in a probe."""
    tag: int
    """The controller's note."""

@final
class Lost:
    """A packet newly believed lost."""

    number: int
    """Its sequence number."""
    size: int
    """Bytes on the wire."""
    sent_at: float
    """When it was last sent, in seconds."""
    tag: int
    """The controller's note."""

@final
class RttSample:
    """Round trip times by RFC 6298, in seconds."""

    latest: float
    """The newest measurement."""
    smoothed: float
    """The smoothed round trip time."""
    min: float
    """The smallest since the connection began."""

@final
class Echoes:
    """Marks that the receiver echoed in this batch, in packets."""

    ce: int
    """Congestion experienced."""
    rho: int
    """The utilization mark of TDQM."""
    eta: int
    """The burstiness mark of TDQM."""

@final
class Feedback:
    """One batch of feedback."""

    acked: list[Acked]
    """Packets newly acknowledged, in the order of their numbers."""
    advanced: int
    """Bytes newly acknowledged cumulatively: what window growth counts (RFC 3465)."""
    lost: list[Lost]
    """Packets newly believed lost."""
    rtt: RttSample | None
    """A new round trip time, if this batch gave one."""
    event: Literal["loss", "ecn", "timeout", "recovery-end", "spurious", "idle"] | None
    """Why the window must change other than by growth."""
    consecutive_timeouts: int
    """How many expiries of the retransmission timer there were in a row."""
    recovery: Literal["open", "fast", "timeout"]
    """What loss recovery is doing after this batch."""
    echoes: Echoes
    """Echoed marks."""
    flight: int
    """Bytes sent and not cumulatively acknowledged before this batch (FlightSize of RFC 5681)."""
    in_flight: int
    """Bytes believed in the network after this batch (pipe of RFC 6675)."""
    window_limited: bool
    """Whether the window, not the application, limited the sender."""
    report: Any
    """What the feedback policy of this scheme reported, as its type of reports, if this packet carried one; else
    ``None``."""

@final
class Control:
    """What a control packet or stamped data packet carries."""

    pair: int
    """Which pair of control packets this one belongs to."""
    bytes_sent: int
    """Data bytes that the flow has sent so far."""
    virtual_delay: float
    """Virtual queueing delay that routers added on the way, in seconds."""
    sent_at: float
    """When it left its sender, in seconds."""
    echo: float | None
    """The send time of the newest report that the sender had received, in seconds."""
    held: float
    """How long that report was held before this packet left, in seconds."""

@final
class Arrival:
    """A packet that arrived at the receiver."""

    number: int
    """Its sequence number."""
    size: int
    """Bytes on the wire."""
    is_data: bool
    """Whether it carries data."""
    is_new: bool
    """Whether this number had not arrived before."""
    ce: bool
    """Marked with congestion experienced."""
    rho: bool
    """The utilization mark of TDQM."""
    eta: bool
    """The burstiness mark of TDQM."""
    retransmitted: bool
    """Sent before."""
    pair: Literal["single", "first", "second"]
    """Its place in a probe."""
    lane: int
    """The lane that it took, 0 to 7."""
    control: Control | None
    """What control packets carry, and data packets where they are stamped."""
    sent_at: float | None
    """When it was sent, in seconds, where packets are stamped."""

@final
class Outgoing:
    """A report on its way out: an instance of the policy's type of reports, the lane that it takes, and its bytes on
    the wire."""

    def __new__(cls, report: Any, *, lane: int = 1, size: int = 40) -> Self: ...

@final
class Packet:
    """A packet in a queue."""

    number: int
    """Its sequence number."""
    flow: int
    """The number of its flow."""
    size: int
    """Bytes on the wire."""
    kind: Literal["data", "ack", "report", "control"]
    """What it carries."""
    lane: int
    """Its forwarding lane."""
    pair: Literal["single", "first", "second"]
    """Its place in a probe."""
    is_ecn_capable: bool
    """Whether it may be marked instead of dropped."""

@final
class Cx:
    """What a part borrows for one call: the random stream of its own, and the way to publish state."""

    def uniform(self) -> float:
        """Uniform on [0, 1)."""
    def exponential(self) -> float:
        """Exponential with mean 1."""
    def chance(self, probability: float) -> bool:
        """True with the given probability."""
    def note(self, name: str, value: float) -> None:
        """Publishes a piece of internal state, recorded where ``record.state`` is on."""

@final
class QueueCx:
    """What a queue discipline borrows for one call."""

    rate: int
    """The server's rate at this moment, in bit/s."""
    idle_since: float | None
    """Since when the server is idle, in seconds; ``None`` while it transmits."""
    def drop(self, packet: Packet, *, early: bool = False) -> None:
        """Drops a packet: because the buffer is full, or early."""
    def mark_ce(self, packet: Packet) -> bool:
        """Marks a packet with congestion experienced; false where it is not ECN-capable."""
    def uniform(self) -> float:
        """Uniform on [0, 1)."""
    def chance(self, probability: float) -> bool:
        """True with the given probability."""
