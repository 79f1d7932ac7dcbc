"""§10: packet-pair over ATM cells, multicast at the slowest receiver, under a window with buffers reserved for it, and run at
the receiver. Each is judged by the ledger's own words; networks of cells and multicast are in ``cells_and_multicast.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.packet_pair import benchmarks
from tailback.papers.packet_pair.cells_and_multicast import (
    BRANCHES,
    CARRIED,
    END,
    LOSS,
    LOSSY,
    SIZES,
    SLOWEST,
    Estimated,
    Shared,
    multicast,
    over_cells,
    tree,
)
from tailback.papers.packet_pair.scenes import (
    BOTTLENECK,
    Source,
    base,
    base_parameters,
    packet_pair,
    transport,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab

RESERVED = 150
"""Packets of each source's window, and of buffer reserved for it: the pipe of 100 and half as much again."""
PROBED = 100_000.0
"""TU: enough for setpoints to grow beyond the reserved buffers."""
WINDOWS = ("no window", "window")
ENDS = ("sender", "receiver")
TRANSFERS = ("base scenario", "table 7", "table 8")
"""What sender and receiver are compared on."""
LIMIT = 0.05
"""The ledger's, of estimates and of the multicast rate."""
RATIO = 0.10
"""The ledger's, of completion times."""


class Counted(NamedTuple):
    """With or without a window."""

    losses: int
    utilization: float
    largest: float
    """Packets: the fullest that the bottleneck's queue was at the end of a bin."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    del fidelity
    sizes = ", ".join(f"{size} B" for size in SIZES)
    lines = ", ".join(f"{rate / 1e6:g}" for rate in BRANCHES.values())
    return (
        *base_parameters(),
        Parameter(
            "over cells",
            f"three sources with packets of {sizes}, cut into 53-byte cells by AAL 5; cells in turn; 1700 cells of buffer",
            "inferred",
            "§10.1 gives no figures; different sizes tell cells from packets",
        ),
        Parameter(
            "multicast",
            f"three receivers behind {lines} Mbit/s, another conversation on the first; "
            f"{100 * LOSS:g} % loss on the line to the last",
            "inferred",
            "§10.2 gives no figures; the slowest branch is slow for its company, not for its line",
        ),
        Parameter(
            "window",
            f"two sources, {RESERVED} packets of window and of reserved buffer each, setpoints probed",
            "inferred",
            "§10.3: buffers for a window",
        ),
        Parameter(
            "at the receiver",
            "a report of 40 B after every pair; 2000 packets in the base scenario, and all connections of tables 7 and 8",
            "inferred",
            "§10.4 leaves the messages' frequency open",
        ),
    )


def windowed(kind: str) -> Counted:
    """Losses over reserved buffers, with or without the window that they are reserved for."""
    import tailback as tb

    queue: dict[str, Any] = {"name": "weighted-fair-queueing", "buffer": {"per_flow": f"{RESERVED} packets"}}
    limit = {"window_limit": f"{RESERVED} packets"} if kind == "window" else {}
    record = {"bin": "100 ms", "flows": "none", "links": [BOTTLENECK]}
    plain = base([Source(None, 0)] * 2, PROBED, buffer=2 * RESERVED, queue=queue, name=kind, record=record)
    flows = [tb.flows(1, packet_pair(), name=f"{index}", transport={**transport(), **limit}) for index in (1, 2)]
    result = plain.model_copy(update={"flows": flows}).run()
    link = result.links.filter(pl.col("link") == BOTTLENECK).row(0, named=True)
    queued = result.series(link=BOTTLENECK)["queue_packets"].max()
    return Counted(int(link["dropped_packets"]), float(link["utilization"]), float(str(queued)))


class Transfer(NamedTuple):
    """One transfer with the control at one end."""

    name: str
    end: str


def controlled(run: Transfer) -> float:
    """Milliseconds that it takes."""
    scheme = packet_pair(controlled_at=run.end)
    if run.name == "base scenario":
        return benchmarks.completion(base([Source(2000, 0)], END, scheme=scheme).run())
    spacing = benchmarks.ROUND_TRIP if run.name == "table 7" else 4.0
    flows = [
        benchmarks.transfer("1", benchmarks.PRIMARY, scheme=scheme),
        *benchmarks.cross_streams(spacing, scheme=scheme),
    ]
    return benchmarks.completion(benchmarks.shared(flows, name=f"{run.name}, controlled at the {run.end}").run())


def measure(lab: Lab) -> Outcome:
    """All four extensions."""
    sources = [source for found in lab.map(over_cells, CARRIED) for source in found]
    quiet, lossy = lab.map(multicast, (0, 1))
    windows = dict(zip(WINDOWS, lab.map(windowed, WINDOWS), strict=True))
    runs = [Transfer(name, end) for name in TRANSFERS for end in ENDS]
    times = dict(zip(runs, lab.map(controlled, runs), strict=True))
    return Outcome(
        measured={
            "atm_estimate_error": round(_worst(sources, "cells"), 4),
            "multicast_rate_over_slowest": round(min(quiet.rates.values()) / SLOWEST, 4),
            "window_losses": windows["window"].losses,
            "receiver_based_completion_ratio": round(_furthest(_ratios(times).values()), 4),
        },
        checks=(_over_cells(sources), *_multicast(quiet, lossy), *_windowed(windows), _controlled(times)),
        data=pl.DataFrame(sources, schema=Estimated._fields, orient="row"),
        units={"size": "B", "estimated": "bit/s", "spread": "fraction", "served": "bit/s"},
        why="",
        scenario=tree(loss=False).to_toml(),
        notes=(_on_cells(sources),),
    )


def _worst(sources: Sequence[Estimated], carried: str) -> float:
    return max(abs(one.estimated / one.served - 1.0) for one in sources if one.carried == carried)


def _over_cells(sources: Sequence[Estimated]) -> Check:
    shown = ", ".join(
        f"{one.size} B: {one.estimated / 1e6:.4f} for {one.served / 1e6:.4f} Mbit/s"
        for one in sources
        if one.carried == "cells"
    )
    return Check("over cells the estimate is the rate served", shown, "within 5 %", _worst(sources, "cells") <= LIMIT)


def _on_cells(sources: Sequence[Estimated]) -> str:
    """Why a server that only counts cells is not one that sends them."""
    spread = {name: max(one.spread for one in sources if one.carried == name) for name in CARRIED}
    return (
        "Cells must really interleave. A server that sends whole packets in the order in which their last cells would leave "
        f"(the discipline cell-round-robin) makes estimates {100 * _worst(sources, 'whole packets'):.1f} % off: a packet of "
        "32 cells holds the line for 32 turns at a stretch, and falls between the two packets of another's pair or does not. So "
        f"spacings vary by up to {100 * spread['whole packets']:.0f} % (standard deviation); pairs that leave in step with the "
        "long packets meet more of one kind than of the other, and the mean of rates, of reciprocals of these spacings, is "
        "above the rate. Cell by cell every packet takes as many rounds as it has cells: spacings vary by "
        f"{100 * spread['cells']:.1f} %, and padding and headers drop out of a rate that is counted in packets. The paper's "
        "claim holds; the first model of a cell server did not."
    )


def _multicast(quiet: Shared, lossy: Shared) -> tuple[Check, Check]:
    shown = ", ".join(f"{name}: {rate / 1e6:.3f}" for name, rate in quiet.rates.items())
    off = max(abs(rate / SLOWEST - 1.0) for rate in quiet.rates.values())
    alone = lossy.lost > 0 and lossy.again == lossy.lost and lossy.elsewhere == 0
    return (
        Check(
            "all receivers get the slowest branch's rate", f"{shown} Mbit/s, {SLOWEST / 1e6:g} to be had", "within 5 %",
            off <= LIMIT,
        ),
        Check(
            "what a receiver misses is retransmitted to it alone",
            f"{lossy.lost} packets lost on the way to {LOSSY}, {lossy.again} retransmitted, {lossy.elsewhere} reached others",
            "as many retransmitted as lost, none reaches others",
            alone,
        ),
    )  # fmt: skip


def _windowed(windows: Mapping[str, Counted]) -> tuple[Check, Check]:
    capped, free = windows["window"], windows["no window"]
    return (
        Check(
            "no loss under the window", f"{capped.losses} packets; without it {free.losses}", "0", capped.losses == 0
        ),
        Check(
            "the window costs nothing",
            f"utilization {capped.utilization:.3f}, {free.utilization:.3f} without it; "
            f"queues up to {capped.largest:.0f} and {free.largest:.0f} packets",
            "at least 0.99, and losses without it",
            capped.utilization >= 0.99 and free.losses > 0,
        ),
    )


def _furthest(ratios: Iterable[float]) -> float:
    """From 1."""
    return max(ratios, key=lambda ratio: abs(ratio - 1.0))


def _ratios(times: Mapping[Transfer, float]) -> dict[str, float]:
    return {name: times[Transfer(name, "receiver")] / times[Transfer(name, "sender")] for name in TRANSFERS}


def _controlled(times: Mapping[Transfer, float]) -> Check:
    shown = "; ".join(
        f"{name}: {times[Transfer(name, 'receiver')]:.1f} to {times[Transfer(name, 'sender')]:.1f} ms"
        for name in TRANSFERS
    )
    ok = all(abs(ratio - 1.0) <= RATIO for ratio in _ratios(times).values())
    return Check("completion controlled at the receiver, to that at the sender", shown, "within 10 %", ok)


def draw(outcome: Outcome) -> Figure:
    """Estimate and truth per source, over cells and over whole packets."""
    from tailback.plot.style import COLOURS, figure, style

    with style():
        made, axes = figure(columns=2, height=3.2, sharey=True)
        for axis, carried in zip(axes, CARRIED, strict=True):
            data = outcome.data.filter(pl.col("carried") == carried)
            for index, (column, label) in enumerate((("estimated", "estimated"), ("served", "served"))):
                places = [place + 0.36 * (index - 0.5) for place in range(data.height)]
                axis.bar(places, data[column] / 1e6, width=0.33, color=COLOURS[index], label=label)
            axis.set_xticks(range(data.height), labels=[f"{size} B" for size in data["size"]])
            axis.set_xlabel(carried)
        axes[0].set_ylabel("service rate (Mbit/s)")
        axes[0].set_ylim(0, 1.8)
        axes[0].legend(loc="upper left", ncols=2)
    return made
