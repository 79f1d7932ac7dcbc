"""Beside the paper: figure 5 at a quarter of its size, simulated and with real packets, where TCP is the kernel's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback import _core
from tailback.analysis.confidence import student_t
from tailback.papers.item import ChangedTest, Check, Fidelity, Outcome, Parameter
from tailback.papers.pcc import scenes
from tailback.papers.real import attempt
from tailback.units import time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.results import Result
    from tailback.scenario import Scenario

COUNT = 8
JITTER = 120e-6
"""Seconds: the random part of what hosts of the kernel's TCP take, taken as uniform."""
RATE = 750
"""kbit/s of the application, on the wire."""
SECONDS = 260
SEEDS = 5
HEADERS = {"tcp": 52, "pcc": 131}
"""Bytes of real headers: of IPv4 and TCP with timestamps; of IPv4, UDP and our frame with its stamps."""
BUDGET = "0.2 ms, 2 ms"
"""Late by at most two packets' transmissions at the bottleneck."""
TOLERANCE = 0.25


def counterpart() -> dict[str, Any]:
    """What makes a simulated flow do as the kernel's Reno: what every comparison with real packets gives it, and the random
    part of the time that hosts take."""
    fields: dict[str, Any] = json.loads(_core.kernel_counterpart("reno") or "{}")
    fields["transport"]["send_jitter"] = time(JITTER)
    return fields


class Seen(NamedTuple):
    """What is kept of a run, in kbit/s."""

    pcc: float
    """Mean throughput of the flows."""
    tcp: float
    on_off: float
    """Time on over time off, all flows together."""
    loss: float
    each: list[tuple[str, float]]


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    return (
        Parameter("flows", f"{COUNT} probabilistic, {COUNT} of the kernel's Reno", "inferred", "a quarter of Fig. 5's"),
        Parameter(
            "TCP in the simulator",
            "SACK; every second segment acknowledged, after 40 ms at most, selective acknowledgements compressed, bytes counted, "
            "trains of segments, and 120 µs of jitter",
            "inferred",
            "§5 has SACK; the rest is what the kernel's Reno does, see the page on real packets",
        ),
        Parameter("capacity", "8 Mbit/s", "inferred", "the fair rate of Fig. 5, 500 kbit/s"),
        Parameter("buffer", "50 packets, drop-tail", "stated", "§5"),
        Parameter(
            "headers",
            f"{HEADERS['tcp']} B of TCP, {HEADERS['pcc']} B of PCC",
            "inferred",
            "those of real packets, in both worlds",
        ),
        Parameter("application rate", f"{RATE} kbit/s", "stated", "§5.1"),
        Parameter("T", "60 s", "stated", "§5.1"),
        Parameter("starts", "PCC over the first 50 s", "stated", "§5.1"),
        Parameter(
            "round trip", "75 ms and the queue", "inferred", "100 ms with the queue half full, as in the other items"
        ),
        Parameter("duration", f"{SECONDS} s, the first 100 s not counted", "inferred", "not given"),
        Parameter("runs", f"{SEEDS} simulated, one real, late by at most {BUDGET} (median, 99 %)", "inferred", "ours"),
    )


def scenario(tcp: Mapping[str, Any] | None = None) -> Scenario:
    """Both kinds of flows at one bottleneck; ``tcp`` are the settings of one kind, :func:`counterpart` by default."""
    import tailback as tb

    tcp = counterpart() if tcp is None else tcp
    size, payload = {"segment_size": f"{scenes.PACKET} B"}, scenes.PACKET - HEADERS["pcc"]
    scheme, receiver = tcp.get("scheme", "sack"), tcp.get("receiver", {})
    transport = {**size, **tcp.get("transport", {})}
    return tb.dumbbell(
        name=f"{COUNT} probabilistic flows beside {COUNT} of TCP",
        rate=f"{2 * COUNT * scenes.FAIR} kbit/s",
        delay="37 ms",
        buffer="50 packets",
        access={"rate": "100 Mbit/s", "delay": "0.25 ms"},
        duration=f"{SECONDS} s",
        warm_up=f"{scenes.WARM_UP} s",
        flows=[
            tb.flows(
                COUNT, scheme, name="tcp", start={"from": "0 s", "to": "5 s"}, transport=transport, receiver=receiver
            ),
            tb.flows(
                COUNT,
                {"name": "probabilistic", "period": "60 s"},
                name="pcc",
                source={
                    "name": "datagrams",
                    "rate": f"{RATE * payload / scenes.PACKET:g} kbit/s",
                    "size": {"name": "constant", "value": f"{payload} B"},
                    "arrivals": "jittered",
                },
                start={"from": "0 s", "to": "50 s"},
                datagram={**size, "header": f"{HEADERS['pcc']} B"},
            ),
        ],
        record={"flows": "none", "links": "none", "bin": "1 s"},
    )


def simulate(seed: int) -> Seen:
    """One simulated run."""
    return _seen(scenario().run(seed=seed))


def _seen(result: Result) -> Seen:
    window = result.duration - result.warm_up
    pcc = result.flows.filter(pl.col("group") == "pcc")
    tcp = result.flows.filter(pl.col("group") == "tcp")
    sent = pcc["sent_bytes"].to_numpy() * 8e-3 / window
    on = float(np.minimum(sent / RATE, 1.0).mean())
    loss = result.links.filter(pl.col("link") == "r0->r1")["loss_rate"].item()
    each = [(row["group"], row["throughput"] / 1e3) for row in result.flows.iter_rows(named=True)]
    pcc_mean, tcp_mean = (float(np.mean(one["throughput"].to_numpy())) / 1e3 for one in (pcc, tcp))
    return Seen(pcc_mean, tcp_mean, on / max(1 - on, 1e-9), loss, each)


def measure(lab: Lab) -> Outcome:
    """Runs in the simulator, and one with real packets."""
    from tailback.lab.run import Setup

    runs = lab.map(simulate, range(1, SEEDS + 1))
    real, missing = attempt(Setup(scenario({}).to_json(), {"tcp": "reno"}), lab, BUDGET)
    simulated = Seen(
        pcc=scenes.mean([run.pcc for run in runs]),
        tcp=scenes.mean([run.tcp for run in runs]),
        on_off=scenes.mean([run.on_off for run in runs]),
        loss=scenes.mean([run.loss for run in runs]),
        each=runs[0].each,
    )
    worlds = {"simulator": simulated} if real is None else {"simulator": simulated, "real": _seen(real)}
    ratios = {world: one.pcc / one.tcp for world, one in worlds.items()}
    spread = float(np.std([run.pcc / run.tcp for run in runs], ddof=1))
    apart = ratios["real"] / ratios["simulator"] - 1 if real else None
    on = worlds["real"].on_off if real else None
    checks = (
        Check(
            "PCC's mean over TCP's, real against simulated",
            missing
            if apart is None
            else f"{ratios['real']:.2f} against {ratios['simulator']:.2f} ({100 * apart:+.0f} %)",
            f"within {100 * TOLERANCE:.0f} %",
            None if apart is None else abs(apart) <= TOLERANCE,
        ),
        Check(
            "PCC flows beside the kernel's TCP are switched on and off",
            missing if on is None else f"on-off ratio {on:.2f}, simulated {simulated.on_off:.2f}",
            "0.5 to 10",
            None if on is None else 0.5 <= on <= 10,
        ),
    )
    return Outcome(
        changed=_changed([run.pcc / run.tcp for run in runs], ratios.get("real")),
        measured={
            "pcc_mean_kbps": {world: one.pcc for world, one in worlds.items()},
            "tcp_mean_kbps": {world: one.tcp for world, one in worlds.items()},
            "on_off_ratio": {world: one.on_off for world, one in worlds.items()},
            "loss": {world: one.loss for world, one in worlds.items()},
        },
        checks=checks,
        data=pl.DataFrame(
            [(world, group, rate) for world, one in worlds.items() for group, rate in one.each],
            schema={"world": pl.String, "group": pl.String, "throughput": pl.Float64},
            orient="row",
        ),
        units={"throughput": "kbit/s"},
        why=(
            f"Beside the kernel's TCP: {missing}. "
            if real is None
            else f"Single simulated runs differ by {100 * spread / ratios['simulator']:.0f} % (one standard deviation). "
        )
        + f"Loss is {', '.join(f'{100 * one.loss:.1f} % {world}' for world, one in worlds.items())}.",
        scenario=scenario().to_toml(),
    )


def _changed(simulated: Sequence[float], real: float | None) -> ChangedTest | None:
    """Whether the real run may be one of the simulated ones: it lies where one more of them would with 95 %."""
    if real is None:
        return None
    count, mean, spread = len(simulated), float(np.mean(simulated)), float(np.std(simulated, ddof=1))
    width = student_t(count - 1, 0.95) * spread * float(np.sqrt(1 + 1 / count))
    check = Check(
        "the real ratio lies where one more simulated run would with 95 %",
        f"{real:.2f}",
        f"{mean - width:.2f} to {mean + width:.2f}",
        abs(real - mean) <= width,
    )
    return ChangedTest(
        (check,),
        f"With eight flows of each kind, single runs differ by {100 * spread / mean:.0f} % (one standard deviation): it "
        "is chance whether one real run is within 25 %.",
    )


def draw(outcome: Outcome) -> Figure:
    """Every flow's throughput, by world and kind."""
    from tailback.plot.style import COLOURS, figure, style

    worlds = outcome.data["world"].unique(maintain_order=True).to_list()
    with style():
        made, (axes,) = figure(1, 1, height=3.0)
        for place, world in enumerate(worlds):
            for offset, (group, label) in enumerate((("tcp", "TCP"), ("pcc", "PCC"))):
                rows = outcome.data.filter((pl.col("world") == world) & (pl.col("group") == group))
                at = np.full(rows.height, place + 0.3 * offset)
                axes.plot(at, rows["throughput"], "o", color=COLOURS[offset], label=label if place == 0 else None)
        axes.set_xticks([place + 0.15 for place in range(len(worlds))], worlds)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("throughput (kbit/s)")
        axes.legend()
    return made
