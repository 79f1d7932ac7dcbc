"""The scenarios of RFC 7928 under several disciplines: which, how they are run, and what is read from the runs. The figure is
in ``queues_figure.py``; ``write_queues.py`` writes the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import tailback as tb
from tailback.pool import Pool
from tools.over_seeds import over_seeds

GUIDE = Path(__file__).resolve().parent.parent / "examples" / "rfc7928"

QUEUES: dict[str, Any] = {
    "drop-tail": {"name": "drop-tail"},
    "RED": {"name": "red", "adaptive": True},
    "PIE": {"name": "pie"},
    "CoDel": {"name": "codel"},
    "FQ-CoDel": {"name": "fq-codel"},
    "CAKE": {"name": "cake"},
    "DualPI2": {"name": "dualpi2"},
}
"""The disciplines, with their defaults but for RED, which adapts as Floyd, Gummadi and Shenker say."""
MARKING = {"RED", "PIE", "CoDel"}
"""Those that mark only when told to."""

TRIPS = (5, 50, 100, 200, 560)
"""Round trips of the second category, in milliseconds."""
LEVELS = {"mild": 6, "medium": 13, "heavy": 19}
"""Numbers of transfers of the levels of congestion."""
BURSTS = {"I": {"cbr"}, "II": {"cbr", "bulk"}, "III": {"cbr", "video"}, "IV": {"cbr", "bulk", "video"}}
"""What there is in each case beside the pages."""


class Case(NamedTuple):
    """A scenario and what is read from a run of it."""

    file: str
    read: Callable[[tb.Result], dict[str, float]]
    change: Callable[[tb.Scenario], tb.Scenario] = lambda scenario: scenario
    ecn: bool = False


def _link(result: tb.Result) -> dict[str, Any]:
    return result.links.row(by_predicate=pl.col("link") == result.bottleneck, named=True)


def _rate(result: tb.Result, *groups: str) -> float:
    """Mbit/s of all flows of the groups together."""
    return 1e-6 * float(result.flows.filter(pl.col("group").is_in(groups))["goodput"].sum())


def _trade(result: tb.Result) -> dict[str, float]:
    """What the guideline's figure shows, and what is dropped."""
    link, rate = _link(result), 1e-6 * float(result.flows["goodput"].sum())
    return {"rate": rate, "delay": 1e3 * link["queueing_delay"], "loss": 100 * link["loss_rate"]}


def _short(result: tb.Result) -> dict[str, float]:
    flow = result.flows.row(by_predicate=pl.col("group") == "short", named=True)
    return {"time": flow["finished"] - flow["start"]}


def _mixed(*groups: str) -> Callable[[tb.Result], dict[str, float]]:
    return lambda result: _trade(result) | {group: _rate(result, group) for group in groups}


def _ratio(upper: str, lower: str) -> Callable[[tb.Result], dict[str, float]]:
    return lambda result: _trade(result) | {"ratio": _rate(result, upper) / _rate(result, lower)}


def pages(result: tb.Result) -> float:
    """Seconds until all objects of a page are there, the mean over the pages."""
    found = result.flows.filter(pl.col("group").str.starts_with("page")).group_by("group")
    times = found.agg(time=pl.col("finished").max() - pl.col("start").min())
    return float(times["time"].mean())  # type: ignore[arg-type]  # Of numbers, a number.


def _late(result: tb.Result, group: str) -> dict[str, float]:
    """The longest one-way delays of a group's packets, without the 50 ms of the path, and what it lost."""
    flow = result.flows.row(by_predicate=pl.col("group") == group, named=True)
    late = 1e3 * flow["one_way_delay_p99"] - 50
    # What is on its way at either end of the window makes this a little uncertain, to both sides.
    return {f"{group}_p99": late, f"{group}_loss": 100 * (1 - flow["received_packets"] / flow["sent_packets"])}


def _burst(result: tb.Result) -> dict[str, float]:
    present = set(result.flows["group"])
    found = {"page": pages(result)} | _late(result, "cbr")
    return found | (_late(result, "video") if "video" in present else {})


def _mix(result: tb.Result) -> dict[str, float]:
    rates = {group: _rate(result, group) for group in ("video", "bulk")}
    return {"page": pages(result)} | rates | _late(result, "call")


def phases(result: tb.Result, length: float) -> pl.DataFrame:
    """A row per phase of so many seconds from ``warm_up`` on: mean ``delay`` (Little's law) and the ``longest`` of a bin, in
    ms, and the ``used`` part of the capacity, in %."""
    series = result.series(link=result.bottleneck, after_warm_up=True)
    # A bin's time is its end.
    number = ((pl.col("time") - result.warm_up) / length - 1e-9).floor().cast(pl.Int64).alias("phase")
    width = series["time"][1] - series["time"][0]
    waited, left = pl.col("mean_queue") * width, pl.col("transmitted_packets")
    return (
        series.group_by(number, maintain_order=True)
        .agg(
            delay=1e3 * waited.sum() / left.sum(),
            longest=1e3 * (waited / left).filter(left > 0).max(),
            used=100 * pl.col("transmitted_bytes").sum() / pl.col("capacity_bytes").sum(),
        )
        .sort("phase")
    )


def _levels(result: tb.Result) -> dict[str, float]:
    found = phases(result, 20)
    names = ("mild", "medium", "heavy", "again")
    return dict(zip((f"delay_{name}" for name in names), found["delay"], strict=True))


def _capacity(result: tb.Result) -> dict[str, float]:
    found = phases(result, 20)
    fast, slow = found.gather_every(2), found.gather_every(2, 1)
    means = {
        "used_fast": fast["used"],
        "used_slow": slow["used"],
        "delay_fast": fast["delay"],
        "delay_slow": slow["delay"],
    }
    read = {name: float(values.mean()) for name, values in means.items()}  # type: ignore[arg-type]  # polars tells no type; columns of numbers.
    return read | {"longest": float(slow["longest"].max())}  # type: ignore[arg-type]  # polars tells no type; columns of numbers.


def _quick(result: tb.Result) -> dict[str, float]:
    return {"used": 100 * _link(result)["utilization"], "delay": 1e3 * _link(result)["queueing_delay"]}


def quick(scenario: tb.Scenario) -> tb.Scenario:
    """The second experiment on capacity: a phase every 100 ms."""
    rates = cycle(["10 Mbit/s", "100 Mbit/s"])
    steps = [{"at": f"{at} ms", "rate": rate} for at, rate in zip(range(20_100, 60_000, 100), rates, strict=False)]
    return scenario.replace(duration="60 s", schedule=steps)


def _set(**fields: Any) -> Callable[[tb.Scenario], tb.Scenario]:
    return lambda scenario: scenario.replace(**fields)


def _only(groups: set[str]) -> Callable[[tb.Scenario], tb.Scenario]:
    return lambda whole: whole.with_flows(
        *(flow for flow in whole.flows if flow.name in groups or flow.name[:4] == "page")
    )


def _two(result: tb.Result) -> dict[str, float]:
    waits = result.links.filter(pl.col("link").is_in(["L->M", "M->R"]))["queueing_delay"]
    rates = {"A": _rate(result, "A"), "B": _rate(result, "B")}
    return {**rates, "first": 1e3 * waits[0], "second": 1e3 * waits[1]}


def _both(result: tb.Result) -> dict[str, float]:
    return {"down": _rate(result, "down"), "up": _rate(result, "up"), "delay": 1e3 * _link(result)["queueing_delay"]}


def _trip(milliseconds: int) -> str:
    return f"{500 * milliseconds - 1000} us"


CASES: dict[str, Case] = {
    "newreno": Case("tcp_friendly", _trade),
    **{
        f"short {window}": Case(
            "tcp_friendly_short", _short, _set(**{"flows[1].transport.initial_window": f"{window} packets"})
        )
        for window in (3, 10)
    },
    "cubic": Case("aggressive", _trade),
    "udp": Case("unresponsive", _trade),
    "udp and tcp": Case("unresponsive_mix", _mixed("long", "udp")),
    "ledbat": Case("less_than_best_effort", _mixed("long", "background")),
    **{
        f"rtt {trip}": Case(
            "rtt_fairness", _ratio("category-2", "category-1"), _set(**{"access.delay[1]": _trip(trip)})
        )
        for trip in TRIPS
    },
    **{
        f"rtt {trip} ecn": Case(
            "rtt_fairness", _ratio("category-2", "category-1"), _set(**{"access.delay[1]": _trip(trip)}), ecn=True
        )
        for trip in (TRIPS[0], TRIPS[-1])
    },
    "sizes": Case("packet_sizes", _ratio("category-1", "category-2")),
    **{f"bursts {case}": Case("bursts", _burst, _only(there)) for case, there in BURSTS.items()},
    **{level: Case("congestion", _trade, _set(**{"flows[0].count": count})) for level, count in LEVELS.items()},
    "varying congestion": Case("varying_congestion", _levels),
    "varying capacity": Case("varying_capacity", _capacity),
    "quick capacity": Case("varying_capacity", _quick, quick),
    "mix": Case("traffic_mix", _mix),
    "bidirectional": Case("bidirectional", _both),
    "two queues": Case("two_queues", _two),
}
"""All scenarios by name."""


def scenario(case: str, queue: str, seed: int) -> tb.Scenario:
    """A scenario of the guideline under this discipline."""
    told = CASES[case]
    made = told.change(tb.Scenario.from_toml(GUIDE / f"{told.file}.toml")).replace(seed=seed)
    marking = {"ecn": True} if told.ecn and queue in MARKING else {}
    discipline = {**QUEUES[queue], **marking}
    if told.ecn:
        made = made.replace(**{f"flows[{index}].transport.ecn": "ect0" for index in range(len(made.flows))})
    if told.file == "two_queues":
        return made.replace(**{f"topology.links[{index}].queue": discipline for index in range(2)})
    return made.replace(queue=discipline)


def measured(task: tuple[str, str, int]) -> list[dict[str, Any]]:
    """One run's figures, a row each."""
    case, queue, seed = task
    found = CASES[case].read(scenario(case, queue, seed).run())
    return [{"case": case, "queue": queue, "seed": seed, "measure": name, "value": found[name]} for name in found]


def _tasks(seeds: int) -> Iterator[tuple[str, str, int]]:
    for case in CASES:
        for queue in QUEUES:
            for seed in range(1, seeds + 1):
                yield case, queue, seed


def measure(seeds: int, jobs: int | None = None) -> pl.DataFrame:
    """One row per ``case``, ``queue``, ``seed`` and ``measure``, with its ``value``."""
    with Pool(jobs) as pool:
        return pl.DataFrame([row for rows in pool.map(measured, list(_tasks(seeds))) for row in rows])


def intervals(table: pl.DataFrame) -> pl.DataFrame:
    """One row per ``case``, ``queue`` and ``measure``: ``mean`` and the ``half_width`` of its interval at 95 %, infinite of
    one seed."""
    found = over_seeds(table.rename({"measure": "of"}), ("case", "queue", "of"), ["value"])
    return found.drop("measure").rename({"of": "measure"})
