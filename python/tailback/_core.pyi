"""The compiled core. Python code speaks to it through ``tailback.scenario`` and ``tailback.results``."""

from collections.abc import Callable, Iterator, Sequence
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

def revision() -> str:
    """The revision of the source that the core was built from, where the build was told; else empty."""

def schema() -> str:
    """The JSON Schema of scenarios."""

def registry() -> str:
    """All schemes, queue disciplines and sources as JSON: ``{"schemes": [...], "queues": [...], "sources": [...]}``, each
    with ``name``, ``summary``, ``source`` and ``parameters`` (``name``, ``default``, ``type``, ``summary``); schemes also
    with ``reliability`` and ``expects``, queues with ``family`` and ``state`` (the names of what ``record.queue_state``
    records)."""

class PartFailedError(Exception):
    """A custom part that carried real packets has raised the cause of this. Linux only."""

def emulate(scenario: str, told: str, /) -> tuple[Result | None, str] | None:
    """Runs programs at the ends of the links of a scenario's first flow, in real time, on Linux. ``told`` says in JSON what
    runs: ``command``, ``server`` or null, ``outside``, ``mtu``, ``held`` (the number of a file: the run ends when nobody
    holds its other end), ``interrupts`` (likewise: it ends when something can be read there before the command has begun),
    the folder of the result, ``record``, or null, and the budget of lateness, ``median_seconds`` and ``p99_seconds``. Gives
    the result where it is kept, and a report as JSON: ``seconds``, ``flow_rows``, ``status``,
    ``stopped``, ``server`` (the status of one that ended before the command, and what it ``said`` last), ``valid``,
    ``reasons``, ``lateness``, ``calls`` (how long calls of custom parts took), ``directions``. Nothing, where it ended
    before the command had begun.

    Raises:
        ScenarioError: where the scenario makes no sense.
        PartFailedError: where a custom part fails.
        OSError: where the system does not let us.
    """

def kernel_counterpart(congestion: str, /) -> str | None:
    """The fields by which a flow of ours does as one that the kernel carries, as JSON: ``scheme``, ``receiver`` and
    ``transport``, where they are not the defaults. ``congestion`` is the kernel's name of a scheme; ``None`` where it has
    no counterpart. On every system."""

def load_lab(path: str, /) -> tuple[str, dict[str, str]]:
    """The scenario in a file whose flows may have schemes of the kernel, such as ``kernel-cubic``, as canonical JSON with
    counterparts of ours in their places; and by group of flows the kernel's name of the congestion control. Linux only.

    Raises:
        ScenarioError: everything that is wrong with it.
    """

def read_lab(scenario: str, /) -> tuple[str, dict[str, str]]:
    """The same of a scenario written as JSON. Linux only.

    Raises:
        ScenarioError: everything that is wrong with it.
    """

def for_lab(scenario: str, kernel: dict[str, str], /) -> str:
    """A scenario as JSON with the headers of real packets; ``kernel`` as of :func:`load_lab`. Linux only.

    Raises:
        ScenarioError: everything in it that cannot be had with real packets.
    """

def kernel_schemes() -> list[tuple[str, str | None]]:
    """The congestion controls that the kernel has, each with the scheme of ours that does the same, where there is one.
    Linux only."""

def laboratory(scenario: str, told: str, /) -> tuple[Result, str]:
    """Runs a scenario with real packets, in real time, on Linux. ``told`` says in JSON: ``kernel``, as of :func:`load_lab`,
    ``held`` (the number of a file: the run ends when nobody holds its other end), and the budget of lateness,
    ``median_seconds`` and ``p99_seconds``. Gives the result, and a report as JSON: ``kernel``, ``valid``, ``reasons``,
    ``lateness`` of packets and ``timers``, and how long ``calls`` of custom parts took.

    Raises:
        ScenarioError: where the scenario makes no sense, or cannot be had with real packets.
        PartFailedError: where a custom part fails.
        OSError: where the system does not let us.
    """

class TransferError(Exception):
    """A transfer has ended without its file; the message says why, in one sentence."""

def new_keys() -> tuple[bytes, bytes]:
    """A new long-term key pair (X25519): private and public, 32 bytes each."""

def invitation(private: bytes, public: bytes, /) -> bytes:
    """What the owner of a key pair gives to senders: 48 bytes."""

def send_file(scenario: str, told: str, progress: Callable[[str], object], /) -> tuple[Result | None, str]:
    """Sends a file over UDP under the scheme of the scenario's one flow, on Linux. ``told`` says in JSON: ``file``, ``peer``,
    ``keys`` and ``invitation`` (without: in the clear), ``patience_seconds``, ``packet_bytes``, ``classes``, which are for the
    receiver's ``admit``, and whether somebody ``keeps`` the result. ``progress`` hears about ten times per second, in JSON:
    ``phase``, ``done``, ``total``, ``rtt_seconds``. Gives the result, where it is kept, and a report as JSON.

    Raises:
        ScenarioError: where the scenario makes no sense.
        TransferError: whatever keeps the file from arriving.
        PartFailedError: where a custom part fails.
    """

def receive_file(
    told: str, admit: Callable[[str], str], progress: Callable[[str], object], /
) -> tuple[Result | None, str]:
    """Receives a file, as ``send_file``. ``told`` says in JSON: ``folder``, ``address`` or null, ``port``, ``keys`` or null,
    ``only`` (a public key) or null, ``patience_seconds``, ``overwrite``, ``keeps``. ``admit`` gets what a sender tells of its
    classes, in JSON, and answers why it refuses them, or nothing. ``progress`` also hears of the phases ``listening``
    with the ``port``, ``offer`` with ``name``, ``total`` and ``scheme``, and ``refused`` with ``name`` and ``why``, after
    which it waits for another offer."""

def columns() -> str:
    """All columns of the tables of a :class:`Result`, as JSON: by table (``links``, ``flows``, ``aggregates``,
    ``messages``, ``state``, ``packets``, ``link_series``, ``flow_series``, and ``queue_state`` for what queue disciplines
    add to ``link_series``) a list in the columns' order, each with ``key`` (its name in the table, which ends in the
    unit), ``name`` (for people), ``unit`` (empty where it has none), ``kind`` (``given``, ``counted``, ``mean``,
    ``level``: the state at the end), ``label``, ``about``, and ``qlog`` where it has a name there."""

def check(scenario: str, /) -> list[FieldProblem]:
    """Everything that is wrong with a scenario written as JSON; empty where it is good."""

def load_toml(path: str, /) -> str:
    """The scenario in a TOML file (or JSON, by its ending) as canonical JSON, complete with defaults.

    Raises ``tailback.errors.ScenarioError`` with all problems."""

def to_toml(scenario: str, /) -> str:
    """A scenario written as JSON, as TOML for people: what is at its default is left out. Raises ``ScenarioError``."""

def lean(scenario: str, /) -> str:
    """A complete scenario written as JSON, without what is at its default; whether it makes sense is not looked at."""

def canonical(scenario: str, /) -> str:
    """A scenario written as JSON, checked, complete with defaults, with sorted keys. Raises ``ScenarioError``."""

def scenario_hash(scenario: str, /) -> str:
    """The 128-bit digest of a scenario written as JSON. Raises ``ScenarioError``."""

def purge_delay() -> int | None:
    """After how many milliseconds the core gives freed memory back to the system; ``None`` where the system decides it."""

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
    return_routes: list[list[int]]
    """Per flow, the rows of the links that its acknowledgements pass."""
    receivers: list[int]
    """Per flow, how many flows after it are the receivers of its multicast group; 0 where it is no group's own."""
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
    packet_bytes: list[int]
    """Per group, a full packet on the wire, header included."""
    header_bytes: list[int]
    """Per group, the header of each packet, and an acknowledgement that has nothing to report."""
    cells: list[bool]
    """Per group, whether packets are carried in ATM cells."""
    greedy: list[bool]
    """Per group, whether there is always something to send."""
    stop_seconds: list[float | None]
    """Per group; ``None`` where it stops with the run."""
    held_bytes: list[float | None]
    """Per group, what each flow holds in queues at rest; ``None`` where its scheme has no such aim."""

def network(scenario: str, /) -> Network:
    """The network of a scenario written as JSON. Raises ``ScenarioError``."""

def run(
    scenario: str,
    /,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
    memory: int | None = None,
    wheel: bool = False,
) -> Result:
    """Runs a scenario written as JSON, with its own seed or another.

    ``progress`` is told the share of simulated time that is done, 0 to 1, at most ten times a second. The interpreter is
    free for other threads meanwhile; an interrupt ends the run, also while it is built. ``memory`` is what it may take, in bytes;
    ``wheel`` takes the event queue that has no limit of time, which gives the same.
    Raises ``ScenarioError``."""

def estimate(estimator: str, observed: list[float], /) -> NDArray[np.float64]:
    """What an estimator of service times, written as JSON (``{"name": "fuzzy"}``), makes of a series of observations: its
    estimate after each. Raises ``ValueError``."""

def probabilities(
    period: float, protected: float, steps: Sequence[Sequence[float]], draws: Sequence[float] | None = None, /
) -> list[tuple[float, float, int]]:
    """The bookkeeping of probabilistic congestion control (Widmer, Mauve and Damm, equations 2 to 4) at steps of (time in s,
    r_TCP, r_NA), the first at the end of the protected time: p, p' (not a number once that is made up for), and what an
    experiment with the step's draw came to (0 none, 1 stays on, 2 off, which ends the list). Raises ``ValueError``."""

def probabilistic_receiver(
    config: str, arrivals: Sequence[tuple[float, int, int, float]], seed: int = 1, /
) -> tuple[list[float], list[tuple[float, float, float, float, float, bool, float]]]:
    """What the receiver of probabilistic congestion control, with its parameters as JSON, makes of data packets, each
    (arrival in s, number, bytes, round trip time in s): the draws that a stream of this seed gives, and for each evaluation
    time in s, r_TCP and r_NA in bit/s, p and p' after it (not a number where it does not count), whether the flow is on,
    and for how long it was turned off in s. Raises ``ValueError``."""

@final
class Series:
    """Time series of several flows or links, by column: the bins of the first, then those of the next. Each column becomes an
    array when it is first asked for."""

    def __len__(self) -> int: ...
    def __contains__(self, column: str, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __getitem__(self, column: str, /) -> NDArray[Any]: ...
    def pop(self, column: str) -> NDArray[Any]:
        """The column, which leaves the core's memory. Raises ``KeyError``."""

@final
class Result:
    """What a run measured. Arrays are the run's own memory, not copies; tables are made of it when they are first asked for.
    Without a warm-up, what was measured after it is the same dictionary as what was over the whole run."""

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
        """Per directed link, over the whole run; the columns of this and of all other tables: :func:`columns`. Limits that
        a buffer does not have are not a number."""
    @property
    def links_measured(self) -> Table:
        """As ``links``, with the counters from ``warm_up`` to the end only."""
    @property
    def flows(self) -> Table:
        """Per flow, over the whole run; what never came to be is not a number."""
    @property
    def flows_measured(self) -> Table:
        """As ``flows``, with the counters from ``warm_up`` to the end only."""
    @property
    def aggregates(self) -> Table:
        """Per aggregate, over the whole run. No columns where there are none."""
    @property
    def aggregates_measured(self) -> Table:
        """As ``aggregates``, with the counters from ``warm_up`` to the end only."""
    @property
    def messages(self) -> Table:
        """Per completed message (file, burst); ``flow`` is its row in ``flows``."""
    @property
    def times(self) -> NDArray[np.float64]:
        """The ends of the series' bins, in seconds."""
    @property
    def watched_links(self) -> list[str]:
        """The links with a time series."""
    @property
    def link_series(self) -> Series:
        """Of ``watched_links``; where ``record.queue_state`` is on, also what the links' disciplines tell of their state, which
        is not a number where a link's does not tell it."""
    @property
    def watched_flows(self) -> list[str]:
        """The flows with a time series."""
    @property
    def flow_series(self) -> Series:
        """As ``link_series``, of ``watched_flows``; accumulation only where ``record.accumulation`` is on."""
    @property
    def watched_aggregates(self) -> list[str]:
        """The aggregates with a time series."""
    @property
    def aggregate_series(self) -> Series:
        """As ``flow_series``, of ``watched_aggregates``: sent is what entered, control packets included, received what left,
        and goodput what left without them."""
    @property
    def state(self) -> Table:
        """What controllers published, where ``record.state`` is on; ``flow`` is a row in ``flows``, and the rows of
        ``aggregates`` follow those."""
    @property
    def packets(self) -> Table:
        """The packet log, where ``record.packets`` is on: ``kind`` is 0 where sent, 1 where offered to a link, 2 where
        dropped, 3 where delivered; ``flow`` and ``link`` are rows, 4294967295 at endpoints; ``bits`` are packed header
        bits; ``reason`` is the row of overflow, early, loss, corruption, unreachable, 255 where nothing was dropped."""

class _Half(TypedDict):
    make: Callable[[Connection, dict[str, Any]], Any]
    calls: set[str]
    """The methods that it overrides."""
    report: Any
    """Of a controller, what makes reports from their numbers; of a policy, the type of its reports."""

class Needs(TypedDict):
    reliability: str
    ecn: str
    echo: str | None
    marks: str
    stamps: bool
    acks: int | None
    delivery: bool
    lost_retransmissions: bool
    ack_requests: bool

def register_scheme(
    name: str,
    controller: _Half,
    policy: _Half | ArrivalReports | None,
    needs: Needs,
    check: Callable[[dict[str, Any]], str],
) -> None:
    """Enters a custom scheme; see ``tailback.custom``.

    Raises:
        ValueError: for a need that there is not.
        TypeError: for one of another type, or beside which another makes no sense.
    """

def register_receiver(name: str, reports: ArrivalReports | None, needs: Needs) -> None:
    """Enters what a receiver needs of a custom scheme whose controller is at another host.

    Raises:
        ValueError, TypeError: as ``register_scheme``.
    """

def register_queue(
    name: str,
    make: Callable[[Link, dict[str, Any]], Any],
    calls: set[str],
    check: Callable[[dict[str, Any]], str],
) -> None:
    """Enters a custom queue discipline; see ``tailback.custom``."""

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
    (Keshav 1994, §3)."""

    def __new__(cls, singleton_timeout: float) -> Self: ...
    @property
    def singleton_timeout(self) -> float:
        """How long a lone packet waits for its partner, in seconds."""

@final
class ControlPair:
    """A pair of control packets, one out of band and one in band, leaves whenever ``id`` changes, and when the plan first
    appears (Xia et al., §IV-B.1)."""

    def __new__(cls, id: int) -> Self: ...  # noqa: A002 (the name it has in Rust)
    @property
    def id(self) -> int:
        """The pair's identity, which comes back in :attr:`Control.pair` at the receiver."""

@final
class ProbeCluster:
    """So many bytes leave at a rate of their own whenever ``id`` changes, and when the plan first appears. Where no data
    waits, a sender of datagrams pads with control packets."""

    def __new__(cls, id: int, rate: float, bytes: float) -> Self: ...  # noqa: A002 (the names they have in Rust)
    @property
    def id(self) -> int:
        """The cluster's identity."""
    @property
    def rate(self) -> int:
        """The rate at which it leaves, in bit/s."""
    @property
    def bytes(self) -> int:
        """How much leaves, headers included."""

@final
class Padding:
    """A sender of datagrams pads what data leaves of the rate, with control packets as a cluster's, so that as much leaves as
    the rate says. Without a rate nothing is padded."""

    def __new__(cls) -> Self: ...

@final
class AckFrequency:
    """How often the receiver is to acknowledge data in order: after ``threshold`` packets, 1 to 65535, or ``max_delay`` seconds
    after the first of them, 0 to 10, whichever comes first."""

    def __new__(cls, threshold: int, max_delay: float) -> Self: ...
    @property
    def threshold(self) -> int:
        """Data packets per acknowledgement."""
    @property
    def max_delay(self) -> float:
        """The longest delay of an acknowledgement, in seconds."""

@final
class Directive:
    """What a controller tells the sender: at most ``window`` bytes in the network and at most ``rate`` bit/s, metered by
    a bucket of ``burst`` bytes into which tokens come evenly or as a Poisson process; whether data may leave at all;
    which probes to send; how long to wait for an acknowledgement, in seconds, where the controller knows better than
    RFC 6298; and what the receiver is asked, where the class says ``ack_requests = True``. Raises ``ArgumentError``, a
    ``ValueError``, for values that are not allowed, and ``CallError``, a ``TypeError`` too, for a wrong type; both name the
    argument, the value and what is allowed, as do those of all values here that a part makes."""

    def __new__(
        cls,
        window: float | None = None,
        rate: float | None = None,
        *,
        burst: float = 0.0,
        tokens: Literal["constant", "poisson"] = "constant",
        gate: bool = True,
        probe: DataPairs | ControlPair | ProbeCluster | Padding | None = None,
        timeout: float | None = None,
        until: float | None = None,
        media: float | None = None,
        ack_frequency: AckFrequency | None = None,
        immediate_ack: int = 0,
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
    def until(self) -> float | None:
        """When the controller will open a closed gate, in seconds since the start, as far as it knows: the application is
        told. The gate opens by a directive, not by this time."""
    @property
    def probe(self) -> DataPairs | ControlPair | ProbeCluster | Padding | None:
        """Probes to send."""
    @property
    def timeout(self) -> float | None:
        """How long to wait for an acknowledgement, in seconds, or ``None`` for what RFC 6298 says."""
    @property
    def media(self) -> int | None:
        """What the application of datagrams should make, in bit/s, where that is not ``rate``; a source without end keeps to
        it."""
    @property
    def ack_frequency(self) -> AckFrequency | None:
        """How often the receiver is to acknowledge, or ``None`` for as it is configured."""
    @property
    def immediate_ack(self) -> int:
        """Whenever this number changes, the packet that leaves, or the next one that does, is acknowledged at once; at first it
        is 0."""

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
    app_limited: bool
    """Whether the application had nothing to send when the packet before it had left: it, not the window or the rate, set the
    time at which this one leaves (RFC 5348 §8.2.1)."""
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
class OneWay:
    """A segment's way to the receiver, by two clocks. ``arrived - sent_at`` is its delay up to what the clocks differ by, which
    may make it negative: for differences only."""

    sent_at: float
    """When it left, in seconds by the sender's clock."""
    arrived: float
    """When it arrived, in seconds by the receiver's."""

@final
class LostThen:
    """A packet newly believed lost, with what was known when it left. In bytes."""

    size: int
    """Its bytes on the wire."""
    in_flight: int
    """In the network when it left, itself included."""
    lost_since: int
    """Believed lost since it left, itself included."""
    delivered_then: int
    """Delivered since the connection began, when it left."""
    app_limited: bool
    """Whether it left while the application limited the sender."""

@final
class DeliverySample:
    """One sample of the delivery rate, and the counts that belong to it (draft-ietf-ccwg-bbr §4.1). "The packet" is the
    newest-sent one that this batch acknowledges; without any, what is said of it is ``None``, 0 or ``False``."""

    delivered: int
    """Bytes delivered since the connection began: acknowledged, cumulatively or selectively."""
    lost: int
    """Bytes ever believed lost."""
    newly_acked: int
    """Bytes that this batch acknowledges."""
    newly_lost: int
    """Bytes that this batch takes for lost."""
    rate: int | None
    """The delivery rate since the packet left, in bit/s. ``None`` without a packet, or over less than the smallest round trip
    time, when it would say more of bursts than of the path."""
    interval: float
    """The time over which the rate is measured, in seconds."""
    sent_at: float | None
    """When the packet left, in seconds."""
    prior_delivered: int
    """``delivered`` when the packet left."""
    prior_in_flight: int
    """Bytes in the network when the packet left, itself included."""
    lost_since: int
    """Bytes believed lost since the packet left."""
    app_limited: bool
    """Whether the packet left while the application limited the sender: the rate may be the application's."""
    rtt: float | None
    """The packet's round trip time in seconds; ``None`` where it was sent more than once."""
    round_start: bool
    """A round begins: the packet left after all that was delivered when the last one began."""
    losses: list[LostThen]
    """Packets newly believed lost, in the order in which they were found."""

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
class Envelope:
    """What every report tells, whatever the scheme's."""

    echo: float | None
    """The send time of the newest stamped packet that had arrived in the in-band lane, in seconds."""
    held: float
    """How long that stamp was held before the report left, in seconds."""
    arrived_bytes: int
    """Data bytes that had arrived when the echoed packet had, itself included."""
    arrived_packets: int
    """Data packets, counted likewise."""

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
    """Echoed marks, beside a loss, too."""
    outstanding: int
    """Bytes sent and not cumulatively acknowledged before this batch (FlightSize of RFC 5681)."""
    in_flight: int
    """Bytes believed in the network after this batch (pipe of RFC 6675)."""
    window_limited: bool
    """Whether the window, not the application, limited the sender."""
    gain: float
    """What to multiply every additive increase by: 1, unless a scheme that wraps this one says otherwise."""
    envelope: Envelope | None
    """What every report tells, if this packet carried one; else ``None``."""
    report: Any
    """What the feedback policy of this scheme reported, as its type of reports, if this packet carried one; else ``None``. An
    :class:`ArrivalReport` where the class has :class:`ArrivalReports` for a policy."""
    delivery: DeliverySample | None
    """What the batch says of the delivery rate, where the class asks for it (``delivery = True``) and the batch acknowledges or
    loses anything; else ``None``."""
    one_way: OneWay | None
    """The way of the segment that caused the acknowledgement, where segments are stamped (``stamps = True``); streams only."""

@final
class ArrivalReports:
    """A receiver that reports which packets arrived when, and how marked (RFC 8888): the ``policy`` of a controller.

    Reports are ``interval`` seconds apart, from 0.01 to 1, while packets arrive; one leaves at once ``after`` so many packets,
    and with ``after_frames`` after the last packet of a frame. Each tells again of up to ``overlap`` packets of the one before,
    at most 10000. ``clock_drift`` is by how many parts in a million the receiver's clock runs fast, -1000 to 1000. Raises
    ``ArgumentError`` for other values."""

    def __new__(
        cls,
        interval: float = 0.1,
        *,
        overlap: int = 0,
        after: int | None = None,
        after_frames: bool = False,
        clock_drift: float = 0.0,
    ) -> Self: ...
    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]: ...

@final
class ArrivalReport:
    """Which packets arrived when, and how marked, as coarse as on the wire (RFC 8888 §3.1)."""

    left: float
    """When the report left, in seconds by the receiver's clock, in whole units of 1/65536 s."""
    packets: list[ArrivalWord]
    """What it says of each packet, in the order of their numbers."""

@final
class ArrivalWord:
    """What a report says of one packet."""

    number: int
    """Its sequence number."""
    received: bool
    """Whether it has arrived."""
    marked: bool
    """Whether it bore Congestion Experienced."""
    age: float | None
    """How long before the report left it arrived, in whole units of 1/1024 s; ``None`` where it has not arrived, or at least 8 s
    before."""

@final
class Control:
    """What a control packet or stamped data packet carries."""

    pair: int
    """Which pair of control packets this one belongs to; 0 on data."""
    packets_sent: int
    """Data packets that the flow has sent so far, on data itself included."""
    bytes_sent: int
    """Data bytes that the flow has sent so far, on data itself included."""
    in_flight: int
    """Bytes believed in the network, on data itself included."""
    virtual_delay: float
    """Virtual queueing delay that routers added on the way, in seconds."""
    sent_at: float
    """When it left its sender, in seconds."""
    echo: float | None
    """The send time of the newest report that the sender had received, in seconds."""
    held: float
    """How long that report was held before this packet left, in seconds."""
    rtt: float | None
    """The sender's smoothed round trip time in seconds, once measured."""
    app_rate: float | None
    """The rate in bit/s at which the application says that it sends, where it says so."""

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
    is_last: bool
    """Whether it is the last one of a message or frame of the application."""
    ecn: Literal["not-ect", "ect0", "ect1", "ce"]
    """The ECN field."""
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
    ecn: Literal["not-ect", "ect0", "ect1", "ce"]
    """The ECN field: ``ect1`` says that it belongs to L4S (RFC 9331)."""
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
