"""The compiled core. Python code speaks to it through ``tailback.scenario`` and ``tailback.results``."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypedDict, final

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
    def state(self) -> Table:
        """What controllers published, where ``record.state`` is on: ``time_seconds``, ``flow``, ``name``, ``value``."""
    @property
    def packets(self) -> Table:
        """The packet log, where ``record.packets`` is on: ``time_nanoseconds``, ``kind`` (0 sent, 1 offered to a link,
        2 dropped, 3 delivered), ``flow``, ``link`` (their rows; 4294967295 at endpoints), ``number``, ``size_bytes``,
        ``bits`` (packed header bits), ``reason`` (row of the reasons overflow, early, loss, corruption, unreachable;
        255 where nothing was dropped)."""
