"""The network of Widmer, Mauve and Damm, §5: probabilistic flows beside TCP over one drop-tail bottleneck, and what is kept
of a run. What is varied and judged is the items' business."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

import tailback as tb
from tailback.papers.item import Fidelity, Parameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailback.scenario import Scenario

PACKET = 1000
"""Bytes on the wire."""
HEADER = 40
"""Bytes of them."""
ACCESS = 5
"""Milliseconds of an access link, one on each side."""
FAIR = 500
"""kbit/s: the fair rate of every scene."""
WARM_UP = 100
"""Seconds: starts are spread over 50 s, and T is 60 s."""

PARTS = (1, 2, 4)
"""Into so many equal parts a run's time is divided to see how the spread of throughput depends on time."""

COMMON = (
    Parameter("bottleneck", "drop-tail, 50 packets", "stated", "§5"),
    Parameter("TCP", "SACK", "stated", "§5"),
    Parameter(
        "round trip time",
        "100 ms with the queue half full",
        "inferred",
        "Fig. 4 has no numbers; at 100 ms equation (1) gives the fair rate of 500 kbit/s at the 2.5 % of loss of "
        "Fig. 7",
    ),
    Parameter(
        "TCP's sending",
        "delayed at random by up to a packet's transmission at the bottleneck",
        "inferred",
        "against phase effects, as Floyd and Jacobson (1992) advise and ns-2 has it (`overhead_`); without, a tenth of a "
        "millisecond more or less of delay decides who meets a full queue (Fig. 5)",
    ),
    Parameter("packets", "1000 B on the wire", "inferred", "not given; ns-2's default"),
    Parameter(
        "the application's intervals",
        "uniform within half of their mean around it",
        "inferred",
        "not given; exactly even packets lock in phase as well, and single flows then lose none or all",
    ),
    Parameter(
        "loss intervals",
        "8, weighted as TFRC's",
        "stated",
        "§3.3: “the measurement mechanisms proposed for” TFRC, which has 8; Fig. 5 shows others beside it",
    ),
    Parameter(
        "evaluation", "once per round trip", "inferred", "“periodically”; control packets leave once per round trip"
    ),
    Parameter(
        "T'",
        "until 8 loss intervals are known, at most 10 s",
        "inferred",
        "§3.6: until the estimate is sufficiently accurate; 10 s in §4",
    ),
    Parameter(
        "TCP's timers",
        "ticks of 100 ms, at least 200 ms",
        "inferred",
        "ns-2's until June 2001, the year of the thesis behind the paper; at least 1 s after; Fig. 5 shows both",
    ),
)


class Run(NamedTuple):
    """One simulation."""

    pcc: int = 32
    tcp: int = 32
    rate: float = 750
    """kbit/s of the application, on the wire."""
    period: float = 60
    """T, in seconds."""
    seconds: float = 1000
    seed: int = 1
    options: tuple[tuple[str, Any], ...] = ()
    """Further parameters of the scheme; pairs stand for tables, so that runs can be told apart."""
    capacity: float | None = None
    """kbit/s of the bottleneck; by default the fair rate times the flows."""
    loss: tuple[tuple[float, float], ...] = ()
    """Loss from outside: from when on, with which probability; the bottleneck is then none."""
    bursts: int = 0
    """So many TCP flows more for the first 100 s of every 200 s."""
    queue: str = "drop-tail"
    scheme: str = "sack"
    jitter: float = 0.0
    series: bool = False
    estimates: bool = False
    """Whether the estimates of eight flows are kept."""
    warm_up: float = WARM_UP
    rtt: float = 100
    """Round trip time in ms with the queue half full."""
    min_rto: float = 200
    """TCP's least time-out, in ms."""
    buffer: float = 50
    """Packets at the bottleneck."""
    send_jitter: float = 1
    """TCP's random delay before it sends, at most, in transmissions of a packet at the bottleneck."""
    packet: float = PACKET
    """Bytes on the wire, 40 of them header."""
    spread: float = 0
    """Round trips lie evenly within this fraction of ``rtt`` around it, one for each flow of a kind."""


class Seen(NamedTuple):
    """What is kept of it, in kbit/s."""

    pcc: list[float]
    """Mean throughput of each flow."""
    tcp: list[float]
    loss: float
    friendly: float
    """Mean of the flows' estimates of TCP's rate while on."""
    on: list[float]
    """Share of the time that each flow was on."""
    time: list[float]
    pcc_series: list[float]
    """Mean over flows, by second."""
    tcp_series: list[float]
    sample_pcc: list[float]
    """Of one flow."""
    sample_tcp: list[float]
    on_flows: list[int]
    """Flows on, by second."""
    drops: list[float]
    """Loss rate at the bottleneck, by second."""
    on_each: Sequence[Sequence[bool]] = ()
    """Whether each flow is on, by flow and second."""
    spread: Sequence[float] = ()
    """Coefficients of variation of PCC's throughput over each of ``PARTS`` of the time that counts."""
    lost: tuple[float, float] = (0.0, 0.0)
    """What share of their packets PCC and TCP lost."""


TRANSPORT: Mapping[str, Any] = {
    "limited_transmit": False,
    "rescue": False,
    "rto": {"tick": "100 ms", "min": "200 ms", "initial": "3 s", "max": "64 s"},
}


def scenario(run: Run) -> Scenario:
    """The set-up of one run."""
    capacity = (run.capacity or FAIR * (run.pcc + run.tcp)) * (10 if run.loss else 1)
    # Where loss is from outside, there is no full queue to be in phase with.
    jitter = 0 if run.loss else run.send_jitter * 8 * run.packet / capacity
    common = {"segment_size": f"{run.packet:g} B", "send_jitter": f"{jitter:g} ms"}
    transport = {**TRANSPORT, **common, "rto": {**TRANSPORT["rto"], "min": f"{run.min_rto:g} ms"}}
    fields: dict[str, Any] = {}
    if run.loss:
        steps = [{"at": f"{at:g} s", "probability": share} for at, share in run.loss]
        fields["loss"] = {"name": "scheduled", "steps": steps}
    # Two access links of 5 ms each way, and half a buffer of 50 packets at 32 Mbit/s, 6 ms, as with 64 flows.
    delay = run.rtt / 2 - (10 if run.loss else 15)
    return tb.dumbbell(
        rate=f"{capacity:g} kbit/s",
        delay=f"{delay:g} ms",
        buffer=f"{run.buffer:g} packets",
        queue=run.queue,
        access={"rate": "100 Mbit/s", "delay": _access(run)},
        name=f"{run.pcc} probabilistic flows of {run.rate:g} kbit/s beside {run.tcp} of TCP",
        duration=f"{run.seconds:g} s",
        warm_up=f"{run.warm_up:g} s",
        flows=[
            _tcp(run, transport if run.scheme == "sack" else common),
            _probabilistic(run),
            *_bursts(run, transport),
        ],
        record=_record(run),
        **fields,
    )


def _access(run: Run) -> str | list[str]:
    """The delay of the access links on both sides, by flow where round trips differ."""
    if not run.spread:
        return f"{ACCESS:g} ms"
    count = max(run.pcc, run.tcp)
    # Neighbours differ: a step of 5 goes round any number of flows that 5 does not divide.
    places = [(5 * flow % count + 0.5) / count for flow in range(count)]
    return [f"{ACCESS + run.rtt * run.spread * (2 * place - 1) / 4:g} ms" for place in places]


SACK: Mapping[str, Any] = {"name": "sack", "halve": "window"}


def _tcp(run: Run, transport: Mapping[str, Any]) -> tb.Flow:
    scheme = SACK if run.scheme == "sack" else {"name": run.scheme}
    return tb.flows(run.tcp, scheme, name="tcp", start={"from": "0 s", "to": "5 s"}, transport=transport)


def _probabilistic(run: Run) -> tb.Flow:
    options = {"period": f"{run.period:g} s", "jitter": run.jitter, **_table(run.options)}
    payload = run.packet - HEADER
    # The source's own size is that of the usual packet.
    size = {} if run.packet == PACKET else {"size": {"name": "constant", "value": f"{payload:g} B"}}
    rate = f"{run.rate * payload / run.packet:g} kbit/s"
    return tb.flows(
        run.pcc,
        {"name": "probabilistic", **options},
        name="pcc",
        source={"name": "datagrams", "rate": rate, "arrivals": "jittered", **size},
        start={"from": "0 s", "to": "50 s"},
        datagram={"segment_size": f"{run.packet:g} B"},
    )


def _bursts(run: Run, transport: Mapping[str, Any]) -> list[tb.Flow]:
    if not run.bursts:
        return []
    return [
        tb.flows(
            run.bursts,
            SACK,
            name=f"burst{index}",
            start=f"{200 * index + 100} s",
            stop=f"{200 * index + 200} s",
            transport=transport,
        )
        for index in range(int((run.seconds - 100) // 200) + 1)
    ]


def _record(run: Run) -> dict[str, Any]:
    return {
        "flows": "all" if run.series else [f"pcc-{flow}" for flow in range(8)] if run.estimates else "none",
        "state": run.estimates,
        "links": "main" if run.series else "none",
        "bin": "1 s",
    }


def _table(pairs: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    return {name: _table(value) if isinstance(value, tuple) else value for name, value in pairs}


def simulate(run: Run) -> Seen:
    """One run."""
    result = scenario(run).run(seed=run.seed)
    flows = result.flows
    window = run.seconds - run.warm_up

    def rates(group: str) -> list[float]:
        return (flows.filter(pl.col("group") == group)["throughput"] / 1e3).to_list()

    sent = flows.filter(pl.col("group") == "pcc")["sent_bytes"].to_numpy() * 8e-3 / window
    loss = result.links.filter(pl.col("link") == "r0->r1")["loss_rate"][0]
    on = np.minimum(sent / run.rate, 1.0)
    empty: list[float] = []
    friendly = _friendly(result, run) if run.estimates else 0.0
    seen = Seen(rates("pcc"), rates("tcp"), loss, friendly, on.tolist(), empty, empty, empty, empty, empty, [], empty)
    seen = seen._replace(lost=(_lost(flows, "pcc"), _lost(flows, "tcp")))
    return _with_series(seen, result, run) if run.series else seen


def _lost(flows: pl.DataFrame, group: str) -> float:
    sent, received = flows.filter(pl.col("group") == group).select("sent_packets", "received_packets").sum().row(0)
    return float(1 - received / max(sent, 1))


def _friendly(result: Any, run: Run) -> float:
    """The mean over time of what eight flows take for TCP's rate while they are on, kbit/s."""
    state = result.state.filter((pl.col("time") > run.warm_up) & (pl.col("name") == "friendly_rate"))
    # A flow that has seen no loss since its start has no estimate yet.
    known = state.filter(pl.col("value") < 1e8)["value"]
    return float(known.mean() or 0.0) / 1e3


def _with_series(seen: Seen, result: Any, run: Run) -> Seen:
    series = result.flow_series

    def matrix(group: str, count: int, column: str) -> NDArray[np.float64]:
        # A flow that is the only one of its group has the group's name.
        own = (pl.col("flow") == group) | pl.col("flow").str.starts_with(f"{group}-")
        chosen = series.filter(own).sort("flow", "time")
        return np.asarray(chosen[column].to_numpy(), dtype=float).reshape(count, -1) * 8e-3

    pcc, tcp = matrix("pcc", run.pcc, "received_bytes"), matrix("tcp", run.tcp, "received_bytes")
    on = matrix("pcc", run.pcc, "sent_bytes") > 0.5 * run.rate
    link = result.link_series.filter(pl.col("link") == "r0->r1").sort("time")
    drops = link["dropped_packets"].to_numpy() / np.maximum(link["arrived_packets"].to_numpy(), 1)
    return seen._replace(
        time=np.arange(1.0, pcc.shape[1] + 1).tolist(),
        pcc_series=pcc.mean(axis=0).tolist(),
        tcp_series=tcp.mean(axis=0).tolist(),
        sample_pcc=pcc[0].tolist(),
        sample_tcp=tcp[0].tolist(),
        on_flows=on.sum(axis=0).tolist(),
        drops=drops.tolist(),
        on_each=on.tolist(),
        spread=[_spread(pcc[:, round(run.warm_up) :], parts) for parts in PARTS],
    )


def _spread(rates: NDArray[np.float64], parts: int) -> float:
    """The coefficient of variation over flows of their mean in a part of the time, averaged over the parts."""
    return mean([variation(part.mean(axis=1).tolist()) for part in np.array_split(rates, parts, axis=1)])


def evaluated_once(period: float = 60) -> tuple[tuple[str, Any], ...]:
    """Options by which p is evaluated once per T, in seconds: then no least estimate within T decides. Items run it beside what
    they judge, to see how much of a gap that is."""
    return (("evaluation_interval", f"{period:g} s"),)


def mean(values: Sequence[float]) -> float:
    """Their mean."""
    return float(np.mean(values))


def variation(values: Sequence[float]) -> float:
    """Their coefficient of variation."""
    return float(np.std(values, ddof=1) / np.mean(values)) if len(values) > 1 else 0.0


def effort(fidelity: Fidelity, full: tuple[float, int], quick: tuple[float, int]) -> tuple[float, int]:
    """Seconds and seeds."""
    return full if fidelity == "full" else quick
