"""How soon both metrics settle after a start, and how the bucket's limit comes down from its maximum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import mean_interval, tdqm
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.tdqm import network

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SECONDS = 30.0
LATE = 10.0
"""Seconds, from which the band is taken."""
SEEDS = {"quick": 10, "full": 40}
PER_ROUND = 4
"""Bins of a round trip."""
ROUNDS = 12
"""§IV-B."""
RHO, ETA = (0.9, 1.0), (0.1, 0.2)


class Seen(NamedTuple):
    """Time series of one run, bin by bin."""

    rho: list[float]
    eta: list[float]
    window: list[float]
    """Packets: the mean of all users' ``W_p``."""
    limit: list[float]
    """Packets: the mean of ``T_c`` of users with endless files."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("η thresholds", "0.1 and 0.2", "stated", "§IV-B"),
        Parameter(
            "runs", f"{SEEDS[fidelity]}; their mean is watched, in which chance averages out", "inferred", "not given"
        ),
        Parameter(
            "starts", "all users in the first 82 ms, a round trip", "inferred", "a step is needed to see it settle"
        ),
        Parameter(
            "settled",
            "from when the router's average, in the mean over runs, stays within its thresholds: 0.9 to 1.0, 0.1 to 0.2",
            "inferred",
            "“reach stable states”, not defined; the ledger's “their band”",
        ),
    )


def measure(lab: Lab) -> Outcome:
    """Runs that begin at once, and their mean."""
    return _judged(lab.map(simulate, range(1, SEEDS[lab.fidelity] + 1)))


def simulate(seed: int) -> Seen:
    """One run."""
    result = scenario().run(seed=seed)
    series = result.series(link=network.LINK)
    grid = series["time"].to_numpy()
    notes = result.state

    def mean(name: str, kind: str, first: float) -> list[float]:
        """The mean over users of what each published last."""
        found = []
        for _, rows in notes.filter((pl.col("name") == name) & pl.col("flow").str.starts_with(kind)).group_by(
            "flow", maintain_order=True
        ):
            index = np.searchsorted(rows["time"].to_numpy(), grid, "right")
            found.append(np.concatenate([[first], rows["value"].to_numpy() / network.PACKET])[index])
        return list(np.mean(found, axis=0))

    return Seen(
        series["rho"].to_list(),
        series["eta"].to_list(),
        mean("virtual_window", "", 10.0),
        mean("token_limit", "ftp", float(network.BUFFER)),
    )


def scenario() -> Scenario:
    """The network of Figure 5, all users beginning within a round trip."""
    return network.scenario(
        network.tdqm(),
        seconds=SECONDS,
        warm_up=0.0,
        start=network.ROUND_TRIP,
        name="Figure 5's network from the start",
        record={"bin": f"{1000 * network.ROUND_TRIP / PER_ROUND:.3f} ms", "flows": "all", "state": True},
    )


def settled(values: NDArray[np.float64], low: float, high: float) -> float:
    """Round trips until values stay between two others; infinite where they do not."""
    outside = np.flatnonzero((values < low) | (values > high))
    if not outside.size:
        return 0.0
    return float(outside[-1] + 1) / PER_ROUND if outside[-1] + 1 < values.size else float("inf")


def decay(limit: NDArray[np.float64]) -> tuple[float, int]:
    """How well the logarithm of the limit falls on a line from its maximum to where it first stops falling, in means over a
    round trip, and in how many bins."""
    running = np.convolve(limit, np.ones(PER_ROUND) / PER_ROUND, "valid")
    first = int(np.flatnonzero(running >= 0.95 * running.max())[-1])
    rising = np.flatnonzero(np.diff(running[first:]) > 0.0)
    last = first + (int(rising[0]) if rising.size else running.size - 1 - first)
    if last - first < 3:
        return float("nan"), last - first
    x, y = np.arange(first, last + 1, dtype=float), np.log(running[first : last + 1])
    slope, start = np.polyfit(x, y, 1)
    rest = y - (slope * x + start)
    return float(1.0 - (rest**2).sum() / ((y - y.mean()) ** 2).sum()), last - first


def _judged(seen: Sequence[Seen]) -> Outcome:
    mean = {name: np.mean([getattr(found, name) for found in seen], axis=0) for name in Seen._fields}
    rho, eta = settled(mean["rho"], *RHO), settled(mean["eta"], *ETA)
    first = {name: float(np.argmax(mean[name] >= low)) / PER_ROUND for name, (low, _) in (("rho", RHO), ("eta", ETA))}
    r2, bins = decay(mean["limit"])
    each = [decay(np.array(found.limit))[0] for found in seen]
    floor = float(np.median(mean["limit"][int(LATE / network.ROUND_TRIP * PER_ROUND) :]))
    times = (np.arange(mean["rho"].size) + 1.0) / PER_ROUND
    near = {name: tdqm.settling(times, mean[name], 8.0) for name in ("rho", "eta")}
    return Outcome(
        measured={
            "settle_rtts_rho": rho,
            "settle_rtts_eta": eta,
            "tc_decay_fit_r2": r2,
            "tc_decay_fit_r2_of_each_run": mean_interval(np.nan_to_num(each)).mean,
            "tc_stable_packets": floor,
            "first_inside_rtts": first,
            "within_a_tenth_rtts": near,
        },
        checks=(
            Check("ρ settles", _told(rho, first["rho"]), "within 12", rho <= ROUNDS),
            Check(
                "η settles",
                _told(eta, first["eta"]),
                "within 12",
                eta <= ROUNDS,
            ),
            Check(
                "T_c decreases exponentially from its maximum to a stable range",
                f"r² {r2:.3f} over {bins / PER_ROUND:.1f} round trips, to {floor:.0f} packets",
                "at least 0.9",
                r2 >= 0.9,
            ),
        ),
        data=pl.DataFrame({"round_trips": times, **mean}),
        units={"window": "packets", "limit": "packets", "round_trips": "RTT"},
        why="" if max(rho, eta) <= ROUNDS and r2 >= 0.9 else _why(mean),
        scenario=scenario().to_toml(),
        notes=(
            "Means over eight round trips stay within a tenth of what they come to after "
            f"{near['rho']:.0f} (ρ) and {near['eta']:.0f} (η) round trips.",
        ),
    )


def _told(last: float, first: float) -> str:
    return f"first inside after {first:.1f} round trips, " + (
        f"to stay after {last:.1f}" if np.isfinite(last) else "but never to stay"
    )


def _why(mean: Mapping[str, NDArray[np.float64]]) -> str:
    """Why ρ settles later than the paper says, with what was measured."""
    top = int(np.argmax(mean["window"]))
    after = slice(top, top + 20 * PER_ROUND)
    late = mean["rho"][2 * ROUNDS * PER_ROUND :]
    return (
        "Slow start goes on until echoes and losses come back: the mean of W_p rises to "
        f"{mean['window'][top]:.0f} packets, the buffer overflows, and W_p falls to {mean['window'][after].min():.0f}, about three "
        f"halvings, and ρ to {mean['rho'][after].min():.2f}. ρ is back some twenty round trips after the start. From there on "
        f"its average is {late.mean():.3f} and moves about the lower threshold: marks begin there, overflows by impulses take it "
        f"further down, and {100 * (late < RHO[0]).mean():.0f} % of the time is spent below. In a buffer ten times as large "
        "nothing overflows: ρ is near its final value within twelve round trips, and stays inside the thresholds (the "
        "table of readings "
        "on the page). η and T_c do settle in time. The paper does not say from which state its twelve round trips "
        "count, nor what it calls stable."
    )


def draw(outcome: Outcome) -> Figure:
    """Both metrics, and the window and the limit, from the start."""
    from tailback.plot.style import COLOURS, FAINT, figure, style

    rows = outcome.data.filter(pl.col("round_trips") <= 60)
    with style():
        made, axes = figure(1, 2, height=3.2)
        for index, (name, label) in enumerate((("rho", r"$\rho$"), ("eta", r"$\eta$"))):
            axes[0].plot(rows["round_trips"], rows[name], color=COLOURS[index], linewidth=1.0, label=label)
        for index, (name, label) in enumerate((("limit", r"$T_c$"), ("window", r"$W_p$"))):
            axes[1].plot(rows["round_trips"], rows[name], color=COLOURS[index + 2], linewidth=1.0, label=label)
        axes[0].axhspan(*RHO, color=FAINT, alpha=0.25, linewidth=0, label=r"between the $\rho$ thresholds")
        for axis in axes:
            said = f"{ROUNDS} round trips" if axis is axes[0] else None
            axis.axvline(ROUNDS, color=FAINT, linewidth=0.8, label=said)
            axis.set_xlabel("round trips from the start")
        axes[0].set_ylim(0, 1.02)
        axes[1].set_yscale("log")
        axes[1].set_ylabel("packets")
        made.legend(loc="outside lower center", ncols=3)
    return made
