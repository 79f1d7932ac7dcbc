"""The test cases of RFC 8867 under schemes for media: which, how they are run, and what is read from the runs, by RFC 8868
§3. The figures are in ``media_figure.py``; ``write_media.py`` writes the page."""

from __future__ import annotations

import math
import warnings
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tailback as tb
from tailback.errors import TailbackWarning
from tailback.pool import Pool
from tailback.results import dynamics
from tailback.sweeps.design import made
from tailback.units import number
from tools.over_seeds import over_seeds

CASES = Path(__file__).resolve().parent.parent / "examples" / "rfc8867"
SEEDS = 10

_RANGE = {"min_rate": "150 kbit/s", "max_rate": "1500 kbit/s"}
SCHEMES: dict[str, dict[str, Any]] = {
    "nada": {"name": "nada", **_RANGE},
    "gcc": {"name": "gcc", "start_rate": "150 kbit/s", **_RANGE},
    "scream2": {"name": "scream2", **_RANGE},
}
"""All with the rates of RFC 8867 §4.3."""


ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "5.1": ("5.1", {}),
    "5.1 without jitter": ("5.1", {"access.coalescing": None, "receiver_access.coalescing": None}),
    "5.1, 100 ms": ("5.1", {"delay": "100 ms"}),
    "5.1 by UDP": ("5.1-udp", {}),
    "5.1, PIE marks (6.2)": ("5.1", {"queue": {"name": "pie", "ecn": True}, "flows[0].datagram.ecn": "ect0"}),
    "5.2": ("5.2", {}),
    "5.2 by UDP": ("5.2-udp", {}),
    "5.3": ("5.3", {}),
    "5.3, the reference": ("5.3", {"reverse.schedule": []}),
    "5.3 by UDP": ("5.3-udp", {}),
    "5.4": ("5.4", {}),
    "5.5": ("5.5", {}),
    "5.6": ("5.6", {}),
    "5.6, 1000 ms": ("5.6", {"buffer": "250 kB"}),
    "5.7": ("5.7", {}),
    "5.8": ("5.8", {}),
    "6.3": ("6.3", {}),
}
"""The cases as they are run, each by its file and what is changed in it: all but §6.1, which only NADA can do."""

MEASURES = {
    "rate": "goodput of a call's video, headers included, mean over calls, Mbit/s",
    "lost": "part of the videos' packets that was lost, %",
    "delay_p50": "median one-way delay of the videos' packets, mean over calls, ms",
    "delay_p95": "95th percentile of the one-way delay, the worst call's, ms",
    "uneven": "standard deviation of the rate over its mean, in seconds of the second halves of times without a change, %",
    "steady": "time after a change until the rate is stable (dynamics.steady_after), mean over calls and changes, s",
    "ratio": "largest over least goodput of all videos and long TCP flows, from the last change on",
    "reports": "bytes on the way back over bytes of video, %; where nothing but reports takes that way",
}
"""What is measured."""
SHORTEST = 15.0
"""Seconds without a change that are long enough to be looked at."""


def scenario(row: str, scheme: str, *, synthetic: bool = False) -> tb.Scenario:
    """A case under a scheme; with RFC 8593's synthetic coder in the place of the files' own if so wanted."""
    file, changed = ROWS[row]
    base = tb.Scenario.from_toml(CASES / f"{file}.toml").replace(**changed)
    if synthetic:
        base = base.replace(**_synthetic(base))
    return made(base, {"scheme": SCHEMES[scheme]}, "nada")


def _synthetic(case: tb.Scenario) -> dict[str, Any]:
    """The change that gives every video RFC 8593's synthetic coder, of the rates of RFC 8867 §4.3, and leaves its pauses."""
    flows = case.to_dict()["flows"]
    return {
        f"flows[{place}].source": {"name": "synthetic-video", **_RANGE, "pauses": _pauses(flow)}
        for place, flow in enumerate(flows)
        if flow["name"].startswith("video")
    }


def changes(case: tb.Scenario) -> list[float]:
    """When the capacity or the number of flows changes in a case, its begin and its end among them, in seconds. Files that
    come and go are no changes."""
    data = case.to_dict()
    directions = (data["topology"], data["topology"].get("reverse", {}))
    steps = [step["at"] for direction in directions for step in direction.get("schedule", ())]
    starts = [flow.get("start", "0 s") for flow in data["flows"]]
    pauses = [pause[end] for flow in data["flows"] for pause in _pauses(flow) for end in ("from", "to")]
    end = number(data["flows"][0].get("stop", data["duration"]))
    return [*sorted({0.0, *(number(at) for at in (*steps, *starts, *pauses))}), end]


def _pauses(flow: dict[str, Any]) -> list[dict[str, str]]:
    source = flow.get("source")
    found: list[dict[str, str]] = source.get("pauses", []) if isinstance(source, dict) else []
    return found


def measured(task: tuple[str, str, int], *, synthetic: bool = False) -> dict[str, Any]:
    """One run's figures."""
    row, scheme, seed = task
    case = scenario(row, scheme, synthetic=synthetic)
    result = case.run(seed=seed)
    flows = result.flows
    # Of calls in both directions, what goes forward counts: the way back is what impairs it (§5.3).
    videos = flows.filter(pl.col("group").str.starts_with("video") & (pl.col("group") != "video back"))
    lives = number(case.to_dict()["flows"][0].get("stop", case.duration)) - videos["start"].to_numpy()
    uneven, steady = _steadiness(result, case, videos)
    found = {
        "rate": float(np.mean(8e-6 * videos["goodput_bytes"].to_numpy() / lives)),
        "lost": 100 * (1 - float(videos["received_packets"].sum()) / float(videos["sent_packets"].sum())),
        "delay_p50": 1e3 * float(np.mean(videos["one_way_delay_p50"].to_numpy())),
        "delay_p95": 1e3 * float(np.max(videos["one_way_delay_p95"].to_numpy())),
        "uneven": 100 * uneven,
        "steady": steady,
        "ratio": _ratio(result, case),
        "reports": _reports(result, videos),
    }
    return {"case": row, "scheme": scheme, "seed": seed, **found}


def _steadiness(result: tb.Result, case: tb.Scenario, videos: pl.DataFrame) -> tuple[float, float]:
    """How much rates vary in the second halves of times without a change, and how long after changes they do more. A rate
    that is not stable before the next change counts with all the time until then."""
    uneven, steady = [], []
    for since, until in pairwise(changes(case)):
        if until - since < SHORTEST:
            continue
        for name, start in videos.select("flow", "start").iter_rows():
            rates = dynamics.windows(result, name, (since + until) / 2, until)
            if start > since or not rates.mean() > 0:
                continue
            uneven.append(float(rates.std() / rates.mean()))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TailbackWarning)  # That it is not stable is counted, below.
                after = dynamics.steady_after(result, name, since, until)
            steady.append(until - since if np.isnan(after) else after)
    return float(np.mean(uneven)), float(np.mean(steady))


def _ratio(result: tb.Result, case: tb.Scenario) -> float:
    """Of goodputs from the last change on, largest over least; not a number with one flow."""
    since, until = changes(case)[-2:]
    long = pl.col("group").str.contains("^(video|tcp)") & (pl.col("group") != "video back")
    shares = [float(dynamics.windows(result, name, since, until).mean()) for name in result.flows.filter(long)["flow"]]
    return max(shares) / max(min(shares), 1.0) if len(shares) > 1 else math.nan


def _reports(result: tb.Result, videos: pl.DataFrame) -> float:
    """What reports take of the way back, over what the videos send."""
    back = result.links.filter(link="r1->r0")
    alone = not result.flows["group"].str.contains("tcp|web|back").any()
    return (
        100 * float(back["transmitted_bytes"][0]) / float(videos["sent_bytes"].sum())
        if alone and len(back)
        else math.nan
    )


def measure(seeds: int = SEEDS, jobs: int | None = None, *, synthetic: bool = False) -> pl.DataFrame:
    """One row per case, scheme and seed, a column per measure; under the synthetic coder if so wanted."""
    tasks = [(row, scheme, seed) for row in ROWS for scheme in SCHEMES for seed in range(1, seeds + 1)]
    with Pool(jobs) as pool:
        return pl.DataFrame(pool.map(partial(measured, synthetic=synthetic), tasks))


def intervals(table: pl.DataFrame) -> pl.DataFrame:
    """One row per ``case``, ``scheme`` and ``measure``: ``mean`` and the ``half_width`` of its interval at 95 %."""
    # What a case does not have, such as a second call to share with, no run of it has.
    has = [pl.col(name).is_finite().fill_null(value=False).all().over("case", "scheme") for name in MEASURES]
    known = [pl.when(one).then(pl.col(name)).alias(name) for name, one in zip(MEASURES, has, strict=True)]
    return over_seeds(table.with_columns(known), ("case", "scheme"), MEASURES)
