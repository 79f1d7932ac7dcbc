"""The network of Figure 7 that this paper's items share: clients that send files through a bottleneck, the calibration of their
load, and connections with unlimited data beside them. Which runs an item needs, and what it makes of them, is in its own file.

**How the load is held.** With a shape next to 1 the sample mean of file sizes stays below the distribution's for longer than any
run (§4.3.3), so equal distribution means are unequal loads. The mean pause is what is left to choose: it is corrected from runs
of the clients alone, each of the full length and with the very random streams of the run to come, until what crosses the
bottleneck is the load asked for, within 2 %.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tailback import units
from tailback.papers.item import Parameter

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario

CLIENTS = 32
SERVERS = 2
PACKET = 1000
"""Bytes on the wire."""
FILE = 2000
"""Bytes: the mean of file sizes, as distributed."""
PACE = 1e6
"""bit/s at which a client sends a file: what its receiver's flow control allows."""
BUFFER = 64
"""Packets before every link."""
BIN = 0.01
"""Seconds of each sample of the clients' aggregate."""
TOLERANCE = 0.02
"""Of the load."""
SEVERITY = 4.0
"""k of the throughput γ_k that items report."""
QUANTILES = 20_000
"""So many sizes stand for a distribution without its largest files."""
BATCHES = 20
"""Parts of a run whose means give its confidence interval."""


class Setting(NamedTuple):
    """The network and what its clients offer."""

    alpha: float
    seconds: float
    seed: int = 1
    load: float = 5e6
    """bit/s that the clients put through the bottleneck when nobody else is there."""
    bottleneck: float = 10e6
    """bit/s."""
    delay: float = 0.005
    """Seconds, of each link."""
    clients: str = "datagrams"
    """What carries files: flow-controlled ``datagrams``, as in all items, or a scheme of the transport."""
    queue: str = "drop-tail"
    """The discipline before the bottleneck."""
    largest: float = 0.0
    """Bytes: no file is larger. 0 for none such, as in all items."""


class Run(NamedTuple):
    """Clients, and connections with unlimited data beside them."""

    setting: Setting
    pause: float
    """Seconds: the mean between files, as calibrated."""
    scheme: str = ""
    """Of the connections, as JSON."""
    connections: int = 1
    loads: tuple[float, ...] = ()
    """What a perfect predictor is told, per ``EVERY`` seconds."""


EVERY = 0.5
"""Seconds between the loads that perfect predictors are told."""


class Calibrated(NamedTuple):
    """Clients that bring the load asked for."""

    setting: Setting
    pause: float
    """Seconds: the mean between files."""
    volumes: bytes
    """Of the run that was found good: bytes through the bottleneck per ``BIN``, as 32-bit floats. Kept since some items look at
    this very run."""

    @property
    def aggregate(self) -> NDArray[np.float32]:
        """Bytes through the bottleneck per ``BIN`` when nobody else is there."""
        return np.frombuffer(self.volumes, dtype=np.float32)


class Measured(NamedTuple):
    """What is kept of a run."""

    raw: tuple[tuple[float, ...], ...]
    """ν per connection and part of the run, in kB/s, which are packets per second."""
    lost: tuple[tuple[float, ...], ...]
    """c per connection and part: the fraction of its packets that were lost."""
    background: float
    """bit/s that the clients put through the bottleneck."""
    loads: tuple[float, ...]
    """The clients' bytes through the bottleneck per ``EVERY`` seconds."""
    levels: tuple[tuple[int, int], ...]
    """L1 and L2 of the first connection, pair by pair, where it predicts; nobody looks at those of threshold schedules."""

    def penalised(self, k: float = SEVERITY) -> NDArray[np.float64]:
        """γ_k = (1 - c)^k ν per connection and part (eq. 4), in kB/s."""
        return np.asarray((1.0 - np.array(self.lost)) ** k * np.array(self.raw))

    @property
    def throughput(self) -> list[float]:
        """γ_k per connection over the run, in kB/s."""
        found: list[float] = self.penalised().mean(axis=1).tolist()
        return found

    @property
    def batches(self) -> NDArray[np.float64]:
        """γ_k of all connections together, per part of the run, in kB/s."""
        return np.asarray(self.penalised().sum(axis=0))

    @property
    def total(self) -> float:
        """γ_k of all connections together over the run, in kB/s."""
        return float(self.batches.mean())

    @property
    def loss(self) -> float:
        """c of all connections together over the run."""
        raw, lost = np.array(self.raw), np.array(self.lost)
        sent = raw / np.maximum(1.0 - lost, 1e-9)
        return float(1.0 - raw.sum() / max(sent.sum(), 1e-9))


COMMON = (
    Parameter(
        "network",
        f"{CLIENTS} clients and more – G1 – G2 – {SERVERS} servers, links of 10 Mbit/s and 5 ms",
        "stated",
        "Fig. 7, §4.1",
    ),
    Parameter("segments", "1000 B on the wire, header included", "stated", "“maximum segment size 1 kB”"),
    Parameter(
        "file sizes",
        f"Pareto, distribution mean {FILE} B",
        "inferred",
        "shape stated, mean not printed; see the page on this paper",
    ),
    Parameter(
        "pauses", "exponential; the mean is what sets the load", "stated", "§4.1; its value calibrated run by run"
    ),
    Parameter(
        "the clients' transport",
        f"flow-controlled datagrams: {PACE / 1e6:g} Mbit/s while a file lasts",
        "inferred",
        "§4.1 allows “unreliable flow-controlled transport” beside TCP and does not say which its runs had; TCP would yield "
        "to the connection that is measured",
    ),
    Parameter("buffer", f"{BUFFER} packets, drop-tail, before every link", "inferred", "not printed"),
)
"""Parameters of every item on this network."""


def scenario(run: Run) -> Scenario:
    """The network with its clients and, where a scheme is named, its connections."""
    import tailback as tb

    setting = run.setting
    connections = run.connections if run.scheme else 0
    links = [_link("g1", "g2", setting.bottleneck, setting.delay) | {"queue": setting.queue}]
    links += [_link(f"c{n}", "g1", 10e6, setting.delay) for n in range(CLIENTS + connections)]
    links += [_link("g2", f"s{n}", setting.bottleneck, setting.delay) for n in range(SERVERS)]
    flows = [
        tb.flows(
            1,
            _CLIENT if setting.clients == "datagrams" else setting.clients,
            _files(setting, run.pause),
            name=f"client-{n}",
            from_=f"c{n}",
            to=f"s{n % SERVERS}",
            **{"datagram" if setting.clients == "datagrams" else "transport": _SEGMENT},
        )
        for n in range(CLIENTS)
    ]
    ends = {"transport" if _reliable(run) else "datagram": _SEGMENT}
    flows += [
        tb.flows(1, _scheme(run), name=f"greedy-{n}", from_=f"c{CLIENTS + n}", to=f"s{n % SERVERS}", **ends)
        for n in range(connections)
    ]
    greedy = [f"greedy-{n}" for n in range(connections)]
    learns = bool(greedy) and '"sac"' in run.scheme and '"threshold"' not in run.scheme
    record = {
        "bin": units.time(EVERY if greedy else BIN),
        "links": ["g1->g2"],
        "flows": greedy or "none",
        "state": learns and connections == 1,
    }
    title = f"{CLIENTS} clients, shape {setting.alpha:g}" + (f", {connections} beside them" if connections else "")
    return tb.graph(
        *links, name=title, duration=units.time(setting.seconds), seed=setting.seed, flows=flows, record=record
    )


def simulate(run: Run) -> Measured:
    """One run with connections."""
    result = scenario(run).run(seed=run.setting.seed)
    through = result.series(link="g1->g2")["transmitted_bytes"].to_numpy().astype(np.float64)
    own, raw, lost = np.zeros(through.size), [], []
    for number in range(run.connections):
        series = result.series(flow=f"greedy-{number}")
        sent, received = (
            series[name].to_numpy().astype(np.float64)[: through.size] for name in ("sent_bytes", "received_bytes")
        )
        own[: received.size] += received
        parts = [
            (a.sum(), b.sum())
            for a, b in zip(np.array_split(sent, BATCHES), np.array_split(received, BATCHES), strict=True)
        ]
        raw.append(tuple(float(b) / PACKET * BATCHES / run.setting.seconds for _, b in parts))
        lost.append(tuple(max(1.0 - float(b / max(a, 1.0)), 0.0) for a, b in parts))
    clients = np.maximum(through - own, 0.0)
    return Measured(
        raw=tuple(raw),
        lost=tuple(lost),
        background=float(clients.sum() * 8.0 / run.setting.seconds),
        loads=tuple(clients),
        levels=_levels(result),
    )


def calibrated(setting: Setting) -> Calibrated:
    """The mean pause that gives the setting's load in a run without connections.

    A client's cycle is a pause and a transfer; load is what a cycle brings, so the next trial stretches the cycle by what the
    last one was off, and keeps the time that transfers took. The best trial counts where none is near enough.
    """
    pause = FILE * 8.0 * CLIENTS / setting.load * 0.5
    least, best = np.inf, Calibrated(setting, pause, b"")
    for _ in range(6):
        result = scenario(Run(setting, pause)).run(seed=setting.seed)
        row = result.links.filter(pl.col("link") == "g1->g2").row(0, named=True)
        ratio = row["throughput"] / setting.load
        if abs(ratio - 1.0) < least:
            series = result.series(link="g1->g2")["transmitted_bytes"].to_numpy().astype(np.float32)
            least, best = abs(ratio - 1.0), Calibrated(setting, pause, series.tobytes())
        if least <= TOLERANCE:
            break
        transfer = _transfer(setting, result, pause, row["throughput"])
        pause = max((pause + transfer) * ratio - transfer, 0.2 * pause)
    return best


def _transfer(setting: Setting, result: Result, pause: float, throughput: float) -> float:
    """The mean time in seconds that a file takes beside its pause."""
    if setting.clients == "datagrams":
        busy = min(throughput / (CLIENTS * PACE), 0.95)
        return pause * busy / (1.0 - busy)
    return max(CLIENTS * setting.seconds / max(result.messages.height, 1) - pause, 0.0)


def scheme_of(scheme: str | Mapping[str, Any]) -> str:
    """A scheme as runs are told."""
    return json.dumps(scheme, sort_keys=True)


_SEGMENT: Mapping[str, Any] = {"segment_size": units.size(PACKET)}
_CLIENT: Mapping[str, Any] = {"name": "fixed-rate", "rate": units.rate(PACE)}


def _link(start: str, end: str, rate: float, delay: float) -> dict[str, Any]:
    return {
        "from": start,
        "to": end,
        "rate": units.rate(rate),
        "delay": units.time(delay),
        "buffer": units.packets(BUFFER),
    }


def _files(setting: Setting, pause: float) -> dict[str, Any]:
    return {
        "name": "files",
        "size": _sizes(setting),
        "pause": {"name": "exponential", "mean": units.time(pause)},
        "pause_first": True,
    }


def _sizes(setting: Setting) -> dict[str, Any]:
    if not setting.largest:
        return {"name": "pareto", "mean": units.size(FILE), "shape": setting.alpha}
    # As many equally likely sizes, the quantiles of the Pareto distribution up to the largest one.
    least = FILE * (setting.alpha - 1.0) / setting.alpha
    places = (np.arange(QUANTILES) + 0.5) / QUANTILES * (1.0 - (least / setting.largest) ** setting.alpha)
    sizes = least * (1.0 - places) ** (-1.0 / setting.alpha)
    return {"name": "empirical", "values": [units.size(round(size)) for size in sizes.tolist()]}


def _scheme(run: Run) -> Any:
    scheme = json.loads(run.scheme)
    if run.loads:
        scheme["predictor"] = {"name": "perfect", "every": units.time(EVERY), "loads": list(run.loads)}
    return scheme


def _reliable(run: Run) -> bool:
    return "reno" in run.scheme or "cubic" in run.scheme


def _levels(result: Result) -> tuple[tuple[int, int], ...]:
    if not result.state.height:
        return ()
    found = {
        name: result.state.filter(pl.col("name").cast(pl.String) == name)["value"].to_numpy().astype(np.int64)
        for name in ("level_1", "level_2")
    }
    return tuple((int(a), int(b)) for a, b in zip(found["level_1"], found["level_2"], strict=False))
