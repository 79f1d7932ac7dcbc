"""A household behind four access lines, under five pairs of queues: which, how they are run, and what is read from the
runs. The figure is in ``home_figure.py``; ``write_home.py`` writes the page."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import tailback as tb
from tailback.pool import Pool
from tailback.results.completion import completion_times
from tools.over_seeds import over_seeds

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "home.toml"

SHAPED = 0.95
"""The part of a line's rate to which CAKE shapes, so that packets wait before its queues and not behind."""


class Line(NamedTuple):
    """An access line."""

    about: str
    fields: dict[str, Any]
    """Its fields in the scenario, both directions."""
    down: float | None
    """Mbit/s; none where the rate varies."""
    up: float | None


def _line(down: float, up: float, delay: str, buffers: tuple[str, str], **more: Any) -> dict[str, Any]:
    reverse = {"rate": f"{up:g} Mbit/s", "buffer": buffers[1], **more.pop("reverse", {})}
    return {"rate": f"{down:g} Mbit/s", "delay": delay, "buffer": buffers[0], "reverse": reverse, **more}


LINES = {
    "cable": Line(
        "100 Mbit/s down, 20 Mbit/s up, 5 ms one way; buffers of 48 and 240 ms",
        _line(100, 20, "5 ms", ("600 kB", "600 kB")),
        100,
        20,
    ),
    "cellular": Line(
        "2 to 12 Mbit/s down by a trace that is made up, 4 Mbit/s up, 25 ms one way; buffers of 500 kB, about 0.6 and 1 s",
        {
            "delay": "25 ms",
            "buffer": "500 kB",
            "reverse": {"rate": "4 Mbit/s", "buffer": "500 kB"},
            "trace": {"file": str(EXAMPLE.parent / "cellular.trace"), "opportunity": "1500 B"},
        },
        None,
        4,
    ),
    "low orbit": Line(
        "50 to 150 Mbit/s down, 8 to 16 Mbit/s up, 15 to 30 ms one way, all of them new every 15 s; buffers of 1 MB and 400 kB",
        _line(100, 12, "20 ms", ("1 MB", "400 kB")),
        None,
        None,
    ),
    "geostationary": Line(
        "25 Mbit/s down, 3 Mbit/s up, 270 ms one way; buffers of 1.6 MB and 200 kB, half a second",
        _line(25, 3, "270 ms", ("1600 kB", "200 kB")),
        25,
        3,
    ),
}
"""The access lines by name."""

QUEUES = {
    "drop-tail": "drop-tail",
    "FQ-CoDel": "fq-codel",
    "CAKE": "cake",
    "DualPI2": "dualpi2",
    "DualPI2, L4S": "dualpi2",
}
"""The disciplines at both ends of the line. In the last row transfers use Prague, and call and game say ECT(1)."""

MEASURES = {
    "call_p50": "call: median one-way delay, ms",
    "call_p99": "call: 99th percentile of one-way delay, ms",
    "call_jitter": "call: jitter, ms",
    "call_loss": "call: lost, %",
    "call_rate": "call: rate, Mbit/s",
    "game_p99": "game: 99th percentile of one-way delay, ms",
    "game_loss": "game: lost, %",
    "web_p50": "web: median time of a file, s",
    "web_p95": "web: 95th percentile of the time of a file, s",
    "film": "film, one connection: Mbit/s",
    "update": "update, eight connections: Mbit/s",
    "backup": "backup, up: Mbit/s",
}
"""What is measured. Of the call and the game, which go both ways, the worse direction counts."""


def orbit_steps(seed: int, seconds: int, rates: tuple[int, int]) -> list[dict[str, str]]:
    """A new rate and delay every 15 s, as of a satellite network that reassigns its beams and satellites at fixed instants,
    each after 60 ms without service."""
    draw = random.Random(f"{seed} {rates}")
    steps = []
    for at in range(12, seconds, 15):
        steps.append({"at": f"{at} s", "rate": "0 bit/s"})
        rate, delay = draw.uniform(*rates), draw.uniform(15, 30)
        steps.append({"at": f"{at}060 ms", "rate": f"{1000 * rate:.0f} kbit/s", "delay": f"{delay:.1f} ms"})
    return steps


def _queue(name: str, rate: float | None) -> dict[str, Any]:
    """A discipline on a line of this rate; CAKE shapes where there is one to shape to."""
    shaped = {"rate": f"{1000 * SHAPED * rate:.0f} kbit/s"} if name == "cake" and rate else {}
    return {"name": name, **shaped}


def scenario(line: str, queue: str, seed: int, seconds: int) -> tb.Scenario:
    """The household of the example behind this line."""
    described, name = LINES[line], QUEUES[queue]
    base = tb.Scenario.from_toml(EXAMPLE).to_dict()
    topology = {**base["topology"], **described.fields}
    topology["queue"] = _queue(name, described.down)
    topology["reverse"] = {**topology["reverse"], "queue": _queue(name, described.up)}
    if "trace" in topology:
        del topology["rate"]
    if line == "low orbit":
        topology["schedule"] = orbit_steps(seed, seconds, (50, 150))
        topology["reverse"]["schedule"] = orbit_steps(seed, seconds, (8, 16))
    flows = base["flows"]
    if queue == "DualPI2, L4S":
        for flow in flows:
            kind = "datagram" if "datagram" in flow else "transport"
            flow["scheme"] = "prague" if flow["scheme"] == "cubic" or kind == "transport" else flow["scheme"]
            if kind == "datagram":
                flow[kind] = {**flow[kind], "ecn": "ect1"}
    changed = {"seed": seed, "duration": f"{seconds} s", "record": {"delays": True, "links": "none", "flows": "none"}}
    return tb.Scenario.model_validate({**base, "topology": topology, "flows": flows, **changed})


def measured(task: tuple[str, str, int, int]) -> dict[str, Any]:
    """One run's figures."""
    line, queue, seed, _seconds = task
    result = scenario(*task).run()
    flows = result.flows
    found: dict[str, float] = {}
    for group in ("call", "game"):
        both = flows.filter(pl.col("group").is_in([f"{group}-down", f"{group}-up"]))
        sent, received = both["sent_packets"], both["received_packets"]
        found[f"{group}_p50"] = 1e3 * _worst(both["one_way_delay_p50"])
        found[f"{group}_p99"] = 1e3 * _worst(both["one_way_delay_p99"])
        found[f"{group}_jitter"] = 1e3 * _worst(both["jitter"])
        # What is on its way at either end of the window makes this a little uncertain, to both sides.
        found[f"{group}_loss"] = 100 * _worst(1 - received / sent)
        found[f"{group}_rate"] = -1e-6 * _worst(-both["goodput"])
    web = completion_times(result, (50, 95)).filter(pl.col("group") == "web")
    found |= {"web_p50": float(web["completion_time_p50"][0]), "web_p95": float(web["completion_time_p95"][0])}
    for group in ("film", "update", "backup"):
        found[group] = 1e-6 * float(flows.filter(pl.col("group") == group)["goodput"].sum())
    return {"line": line, "queue": queue, "seed": seed, **{name: found[name] for name in MEASURES}}


def _worst(values: pl.Series) -> float:
    return float(values.max())  # type: ignore[arg-type]  # Of numbers, a number.


def _tasks(seconds: int, seeds: int) -> Iterator[tuple[str, str, int, int]]:
    for line in LINES:
        for queue in QUEUES:
            for seed in range(1, seeds + 1):
                yield line, queue, seed, seconds


def measure(seconds: int, seeds: int, jobs: int | None = None) -> pl.DataFrame:
    """One row per line, discipline and seed, a column per measure."""
    with Pool(jobs) as pool:
        return pl.DataFrame(pool.map(measured, list(_tasks(seconds, seeds))))


def intervals(table: pl.DataFrame) -> pl.DataFrame:
    """One row per ``line``, ``queue`` and ``measure``: ``mean`` and the ``half_width`` of its interval at 95 %, infinite of
    one seed."""
    return over_seeds(table, ("line", "queue"), MEASURES)
