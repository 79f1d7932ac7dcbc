"""Who saves tokens: the mean number stored by users with endless files and by users with impulses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from tailback.analysis import mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.tdqm import network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tailback.papers.lab import Lab
    from tailback.scenario import Scenario

SECONDS = 60.0
WARM_UP = 20.0
SEEDS = {"quick": 3, "full": 10}
KINDS = ("ftp", "impulse")


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *network.COMMON,
        Parameter("η thresholds", "0.1 and 0.2", "stated", "§IV-B"),
        Parameter(
            "stored tokens", f"mean over time from {WARM_UP:g} s to {SECONDS:g} s, per user", "inferred", "not given"
        ),
        Parameter("runs", str(SEEDS[fidelity]), "inferred", "not given"),
    )


def measure(lab: Lab) -> Outcome:
    """Means of each user of each run."""
    found = lab.map(simulate, range(1, SEEDS[lab.fidelity] + 1))
    data = pl.concat([table.with_columns(pl.lit(seed).alias("seed")) for seed, table in enumerate(found, 1)])
    means = {
        kind: mean_interval(
            data.filter(pl.col("kind") == kind)
            .group_by("seed", maintain_order=True)
            .agg(pl.col("tokens").mean())["tokens"]
        )
        for kind in KINDS
    }
    apart = means["impulse"].low > means["ftp"].high
    return Outcome(
        measured={"tokens_mean": {kind: interval.mean for kind, interval in means.items()}},
        checks=(
            Check(
                "impulse users hold more tokens than users with endless files",
                f"{means['impulse']} against {means['ftp']}",
                "beyond the 95 % intervals of both",
                apart,
            ),
        ),
        data=data,
        units={"tokens": "packets", "limit": "packets"},
        why="",
        scenario=scenario().to_toml(),
        notes=(
            "A user who always has data spends each token as it comes. Only where the receiver's window closes does he save "
            "any; impulse users save between impulses, up to a T_c that η echoes lower.",
        ),
    )


def simulate(seed: int) -> pl.DataFrame:
    """Mean tokens and mean limit of each user."""
    result = scenario().run(seed=seed)
    state = result.state.filter(pl.col("time") > WARM_UP)
    # What is told is the mean since it was last told.
    tokens = (
        state.filter(pl.col("name") == "stored_tokens")
        .sort("flow", "time")
        .with_columns(pl.col("time").diff().over("flow").fill_null(0.0).alias("span"))
        .group_by("flow", maintain_order=True)
        .agg(((pl.col("value") * pl.col("span")).sum() / pl.col("span").sum() / network.PACKET).alias("tokens"))
    )
    limits = (
        state.filter(pl.col("name") == "token_limit")
        .group_by("flow", maintain_order=True)
        .agg((pl.col("value").mean() / network.PACKET).alias("limit"))
    )
    return tokens.join(limits, on="flow", maintain_order="left").with_columns(
        pl.col("flow").cast(pl.String).str.split(" ").list.first().alias("kind")
    )


def scenario() -> Scenario:
    """The network of Figure 5."""
    return network.scenario(
        network.tdqm(),
        seconds=SECONDS,
        warm_up=WARM_UP,
        name="Figure 5's network, tokens watched",
        record={"flows": "all", "state": True},
    )


def draw(outcome: Outcome) -> Figure:
    """Each user's mean tokens."""
    from tailback.plot.style import COLOURS, MARKERS, figure, style

    with style():
        made, (axis,) = figure(height=3.0)
        for index, (kind, label) in enumerate(zip(KINDS, ("endless files", "impulses"), strict=True)):
            rows = outcome.data.filter(pl.col("kind") == kind)
            values = rows["tokens"].sort()
            axis.plot(
                values,
                [(rank + 0.5) / len(values) for rank in range(len(values))],
                linestyle="none",
                marker=MARKERS[index],
                color=COLOURS[index],
                markerfacecolor="none",
                label=label,
            )
        axis.set_xlabel("mean of stored tokens (packets)")
        axis.set_ylabel("part of users below")
        axis.set_ylim(0, 1)
        axis.set_xlim(0, None)
        made.legend(loc="outside lower center", ncols=2)
    return made
