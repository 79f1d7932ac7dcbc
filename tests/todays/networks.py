"""What the tests of today's schemes share: one link between two routers, one flow alone on it, and what is read from a result."""

from __future__ import annotations

from typing import Any

import polars as pl

import tailback as tb
from tests.random_marks import RandomMarks

SEGMENT = {"segment_size": "1500 B"}
ACCESS = {"rate": "1 Gbit/s", "delay": "1 ms"}
PACKET = 1500 * 8
"""Bits."""


def run(rate: str, trip: float, seconds: tuple[float, float], flows: list[tb.Flow], **more: Any) -> tb.Result:
    """Flows over one link, whose round trip takes so many milliseconds with two access links of 1 ms; measured from the first of
    `seconds` until the last."""
    link = {"delay": f"{trip / 2 - 2:.6g} ms", "buffer": "4 BDP", "access": ACCESS}
    link |= {"warm_up": f"{seconds[0]} s", "duration": f"{seconds[1]} s"}
    return tb.dumbbell(**{**link, "rate": rate, "flows": flows, **more}).run()


def alone(scheme: Any, **fields: Any) -> tb.Result:
    """One flow at 10 Mbit/s and 40 ms, unless fields say otherwise."""
    link = {"rate": "10 Mbit/s", "delay": "18 ms", "buffer": "4 BDP", "duration": "30 s", "warm_up": "10 s", **fields}
    return tb.dumbbell(
        access=ACCESS,
        flows=[tb.flows(1, scheme, name="one")],
        record={"bin": "10 ms", "flows": "all", "state": True},
        **link,
    ).run()


def marked_at_random(scheme: Any, chance: float, trip: float, seconds: tuple[float, float], **flow: Any) -> tb.Result:
    """One flow on a path without any other limit than marks."""
    return run(
        "1 Gbit/s",
        trip,
        seconds,
        [tb.flows(1, scheme, name="one", **flow)],
        delay=f"{trip / 2 - 0.2:.6g} ms",
        buffer="10000 packets",
        queue=RandomMarks.queue(chance=chance),
        access={"rate": "10 Gbit/s", "delay": "0.1 ms"},
        record={"bin": "100 ms"},
    )


def bottleneck(result: tb.Result) -> dict[str, Any]:
    """The row of the link between the routers."""
    return result.links.filter(pl.col("link") == "r0->r1").row(0, named=True)


def waiting(result: tb.Result, since: float) -> pl.Series:
    """Packets in the bottleneck's queue."""
    return result.series(link="r0->r1").filter(pl.col("time") > since)["queue_packets"]


def latest_of_l4s(result: tb.Result, since: float) -> float:
    """The 99th percentile of the delay in the bottleneck's L4S queue, in seconds."""
    delays = result.series(link="r0->r1").filter(pl.col("time") > since)["l4s_seconds"]
    return float(delays.quantile(0.99))  # type: ignore[arg-type]  # Of numbers, a number.


def noted(result: tb.Result, name: str, since: float = 0.0, until: float = 1e9) -> pl.DataFrame:
    """What the flows of the group "one" noted under a name, in the order of time."""
    ours = (pl.col("name") == name) & pl.col("flow").str.starts_with("one") & pl.col("time").is_between(since, until)
    return result.state.filter(ours).sort("time")


def mean(values: pl.Series) -> float:
    """As a float, which Polars does not promise."""
    return float(values.to_numpy().mean())


def fairness(result: tb.Result) -> float:
    """Jain's index of the flows' goodputs."""
    rates = result.flows["goodput"].to_numpy()
    return float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))


def share(result: tb.Result, group: str) -> float:
    """A group's part of all goodput."""
    ours = result.flows.filter(pl.col("group") == group)["goodput"]
    return float(ours.sum()) / float(result.flows["goodput"].sum())
