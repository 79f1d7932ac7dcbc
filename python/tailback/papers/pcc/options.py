"""The four options of §3.7, each in the scene that it is meant for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from tailback.analysis import Interval, mean_interval
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.pcc import choices, fig_7, fig_10, scenes
from tailback.papers.pcc.scenes import Run
from tailback.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from tailback.papers.lab import Lab
    from tailback.results import Result

Options = tuple[tuple[str, Any], ...]
FIXED: Options = (("fixed_on_time", True),)
WHILE_OFF: Options = (("probes", (("interval", "100 ms"), ("while_off", True))),)
BEFORE_ON: Options = (
    ("probes", (("interval", "100 ms"), ("before_on", True))),
    ("application_rate", (("name", "fixed"), ("rate", "750 kbit/s"))),
)
CLIP = 20.0
"""Seconds: a news clip."""
CLIPS = 2
"""Runs with fixed on-time: their flows tell the ratio within a few percent."""
STARTS = 80.0
"""Seconds: all flows begin in the first 50."""
LONG = 2000
"""Seconds of runs under loss monitoring."""
END = 500
"""Seconds: a flow that was never on in the last of a run is suspended; the longest off-time that ends is much shorter."""
PROBE, WINDOW = 0.04, 30
"""Seconds between probes, and of each time on and off that loss monitoring compares."""
FACTOR, ERRORS, TIMES = 1.1, 3, 8
"""Beyond this factor in loss, by so many standard errors, loss monitoring suspends a flow, after so many times on at least."""
BIN = 0.01
"""Seconds: of bins in which first data is looked for, a fifth of the way from receiver to sender."""
MONITORING: Options = (
    ("probes", (("interval", f"{1000 * PROBE:g} ms"),)),
    ("loss_monitoring", (("window", f"{WINDOW} s"), ("factor", FACTOR), ("switches", TIMES))),
)


class Monitored(NamedTuple):
    """What is kept of a run under loss monitoring."""

    suspended: int
    """Flows."""
    compared: list[list[float]]
    """Logarithms of the ratios of loss on to loss off, by flow."""
    loss: float
    """At the bottleneck."""


class Begun(NamedTuple):
    """How a flow that came on began, in seconds from its start."""

    opened: float
    """When its receiver passed the first experiment."""
    data: float
    """When the bin began in which its first data left: data that left shortly before the experiment, in the same bin, is not
    taken for later."""


def parameters(fidelity: Fidelity) -> Sequence[Parameter]:
    """Every parameter of the set-up."""
    return (
        *scenes.COMMON,
        Parameter(
            "loss rate monitoring",
            "on Fig. 10's and Fig. 5's scenes; suspended where loss surely rises by a tenth",
            "inferred",
            "§3.7.1 names the idea alone",
        ),
        Parameter("fixed on-time", f"clips of {CLIP:g} s in Fig. 5's scene", "inferred", "§3.4: news clips"),
        Parameter(
            "probe while off",
            "in Fig. 7's scene; ten pairs of probes per second, threshold 25 %",
            "inferred",
            "“at a very low rate”",
        ),
        Parameter("probe before on", "in Fig. 5's scene", "inferred", "§3.7.4: start-up"),
        Parameter(
            "seeds",
            f"{_seeds(fidelity)}; {CLIPS} with fixed on-time and one of loss monitoring in Fig. 5's scene, of 32 flows each",
            "inferred",
            "not given",
        ),
    )


@choices.judged_too
def measure(lab: Lab) -> Outcome:
    """Runs all scenes, with and without the option where that is the question."""
    seeds = range(1, _seeds(lab.fidelity) + 1)
    few = lab.map(monitored, [fig_10.run(seed, options=MONITORING, seconds=LONG) for seed in seeds])
    (ended_many,) = lab.map(suspended, [Run(options=MONITORING, seconds=LONG)])
    clips = [Run(seed=seed, options=FIXED, period=CLIP) for seed in seeds[:CLIPS]]
    plain = [fig_7.run(seed) for seed in seeds]
    probing = [fig_7.run(seed, WHILE_OFF) for seed in seeds]
    seen = iter(lab.once(scenes.simulate, [*clips, *plain, *probing]))
    of_clips, of_plain, of_probing = ([next(seen) for _ in part] for part in (clips, plain, probing))
    ended_few = scenes.mean([one.suspended for one in few])
    fixed = mean_interval([rate / scenes.mean(one.tcp) for one in of_clips for rate in one.pcc])
    without, with_probes = (scenes.mean([_after(one) for one in part]) for part in (of_plain, of_probing))
    start_ups = [Run(seed=seed, options=BEFORE_ON, seconds=STARTS, warm_up=1) for seed in seeds]
    begun = [flow for part in lab.map(starts, start_ups) for flow in part]
    _, loss = fig_10.by_flows_on(lab.once(scenes.simulate, [fig_10.run(seed) for seed in seeds]))
    return Outcome(
        measured={
            "loss_monitoring": {"suspended_fig_10": ended_few, "suspended_fig_5": ended_many},
            "fixed_on_time": {"pcc_over_tcp": fixed.mean},
            "probe_while_off": {"kbps_420_460s": with_probes, "without": without},
            "probe_before_on": {
                "flows": len(begun),
                "data_before_experiment": _early(begun),
                "first_data_s": _soonest(begun),
            },
        },
        checks=(
            dominating([one.suspended for one in few]),
            Check("and of Fig. 5", f"{ended_many:.1f} of 32", "0", ended_many == 0),
            _fair(fixed),
            _faster(with_probes, without),
            _no_data_before(begun),
        ),
        data=_over_time(of_plain, of_probing),
        units={"time": "s", "plain": "kbit/s", "probing": "kbit/s"},
        why=_why(ended_few, loss, few, fixed),
        scenario=scenes.scenario(probing[0]).to_toml(),
        notes=(
            f"Whether data left before an experiment was passed is seen in bins of {1000 * BIN:g} ms, beside the time at which the "
            "receiver noted that the flow is on.",
        ),
    )


def _fair(fixed: Interval) -> Check:
    return Check(
        "fixed on-time: PCC over TCP",
        f"{fixed.mean:.2f} ± {fixed.half_width:.2f}",
        "0.8 to 1.25",
        0.8 <= fixed.mean <= 1.25,
    )


def _faster(with_probes: float, without: float) -> Check:
    return Check(
        "probe while off: PCC in 420-460 s",
        f"{with_probes:.0f} kbit/s",
        f"above {without:.0f} without",
        with_probes > without,
    )


def _early(begun: Sequence[Begun]) -> int:
    return sum(flow.data < flow.opened for flow in begun)


def _soonest(begun: Sequence[Begun]) -> float:
    return min(flow.data for flow in begun)


def _no_data_before(begun: Sequence[Begun]) -> Check:
    early = _early(begun)
    return Check(
        "probe before on: flows with data before a passed experiment",
        f"{early} of {len(begun)} that came on; the first after {_soonest(begun):.1f} s",
        "0, and at least one came on",
        early == 0 and bool(begun),
    )


def _over_time(plain: Sequence[scenes.Seen], probing: Sequence[scenes.Seen]) -> pl.DataFrame:
    """Figure 7's flows without and with probes while off, each the mean over runs."""
    return pl.DataFrame(
        {
            "time": plain[0].time,
            "plain": np.mean([one.pcc_series for one in plain], axis=0),
            "probing": np.mean([one.pcc_series for one in probing], axis=0),
        }
    )


def _why(ended: float, loss: Mapping[int, float], few: Sequence[Monitored], fixed: Interval) -> str:
    return (
        f"In Fig. 10's scene loss monitoring suspended {ended:.1f} of 4 flows within {LONG} s. A flow that is "
        f"switched on raises the loss there by a factor of {loss[2] / loss[1]:.1f} to {loss[3] / loss[2]:.1f} "
        f"(Fig. 10: {', '.join(f'{100 * loss[count]:.1f}' for count in (1, 2, 3))} % with one, two, three flows on), "
        f"but three others are switched meanwhile, and {_compared(few)} Only what probes lose is compared, and only "
        "around times at which a flow is switched on: a small packet behind another does not meet the loss that data "
        "meets, and a flow is switched off when loss is high by chance. "
        f"Fixed on-time gives {fixed.mean:.2f} of TCP's rate: a clip's price is computed by the mean of the estimates, "
        "which no least one undercuts."
    )


def dominating(counts: Sequence[int]) -> Check:
    """Whether the flow that dominates Figure 10's link was suspended, by how many were in each run. The four are alike, so which
    one dominates is not settled beforehand; but with all of them suspended no flow is left that another one dominates."""
    return Check(
        "loss monitoring suspends the flow that dominates the link of Fig. 10",
        f"{', '.join(map(str, counts))} of 4 flows, run by run",
        "in each run at least one, not all four, which are alike",
        all(0 < count < 4 for count in counts),
    )


def draw(outcome: Outcome) -> Figure:
    """Figure 7's scene with and without probes while off."""
    from tailback.plot.style import COLOURS, figure, style

    data = outcome.data
    with style():
        made, (axes,) = figure(1, 1, height=3)
        fig_7.shade(axes)
        axes.plot(data["time"], data["plain"], color=COLOURS[1], label="without probes")
        axes.plot(data["time"], data["probing"], color=COLOURS[0], label="probes while off")
        axes.set_xlim(100, 500)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("mean of 32 PCC flows (kbit/s)")
        axes.legend()
    return made


def _compared(runs: Sequence[Monitored]) -> str:
    """What loss monitoring had to go by, as a sentence."""
    by_flow = [samples for one in runs for samples in one.compared]
    samples = np.concatenate(by_flow)
    count = len(samples) / len(by_flow)
    enough = sum(len(each) >= TIMES for each in by_flow)
    scatter = float(np.std(samples, ddof=1))
    error = scatter / np.sqrt(TIMES)
    lost = WINDOW / PROBE * scenes.mean([one.loss for one in runs])
    return (
        f"{WINDOW} s of probes meet about {lost:.0f} losses, so that single comparisons scatter by a factor of "
        f"{np.exp(scatter):.1f} (one standard deviation) about a mean of {np.exp(np.mean(samples)):.2f}. A flow has {count:.0f} "
        f"of them in {LONG} s, and {enough} of {len(by_flow)} flows have the {TIMES} that are asked for. {TIMES} leave their "
        f"mean uncertain by {100 * np.expm1(error):.0f} % (standard error), and the test asks for {ERRORS} of these beyond "
        f"{FACTOR}, so for a factor of {FACTOR * np.exp(ERRORS * error):.2f}."
    )


def _after(seen: scenes.Seen) -> float:
    return float(np.mean(seen.pcc_series[420:460]))


def suspended(run: Run) -> int:
    """How many flows loss monitoring suspended."""
    return _suspended(_watched(run, state=False), run)


def monitored(run: Run) -> Monitored:
    """A run under loss monitoring with all that this has to go by."""
    result = _watched(run, state=True)
    means = result.state.filter(pl.col("name") == "loss_factor").sort("flow", "time")
    flows = [means.filter(pl.col("flow") == f"pcc-{flow}") for flow in range(run.pcc)]
    loss = float(result.links.filter(pl.col("link") == "r0->r1")["loss_rate"][0])
    return Monitored(_suspended(result, run), [_samples(flow["value"].log().to_numpy()) for flow in flows], loss)


def _watched(run: Run, *, state: bool) -> Result:
    data = scenes.scenario(run).to_dict()
    data["record"] |= {"flows": [f"pcc-{flow}" for flow in range(run.pcc)], "links": "none", "state": state}
    return Scenario.of(data).run(seed=run.seed)


def _suspended(result: Result, run: Run) -> int:
    last = result.flow_series.filter(pl.col("time") > run.seconds - END)
    on = last.group_by("flow", maintain_order=True).agg((pl.col("sent_bytes") > 0.5 * run.rate * 125).any().alias("on"))
    return on.filter(~pl.col("on")).height


def _samples(means: NDArray[np.float64]) -> list[float]:
    """The values whose running mean this is: it is told often, and changes with each of them."""
    changed = means[np.flatnonzero(np.diff(means, prepend=0.0))]
    sums = changed * np.arange(1, len(changed) + 1)
    found: list[float] = np.diff(sums, prepend=0.0).tolist()
    return found


def starts(run: Run) -> list[Begun]:
    """Of the flows that came on within the run."""
    data = scenes.scenario(run).to_dict()
    flows = [f"pcc-{flow}" for flow in range(run.pcc)]
    data["record"] = {"flows": flows, "links": "none", "state": True, "bin": f"{1000 * BIN:g} ms"}
    result = Scenario.of(data).run(seed=run.seed)
    notes = result.state.filter((pl.col("name") == "on") & (pl.col("value") == 1.0))
    opened = dict(notes.group_by("flow", maintain_order=True).agg(pl.col("time").min()).iter_rows())
    # A packet of data is larger than all probes of a bin together, and larger than what the application makes in one.
    sends = result.flow_series.filter(pl.col("sent_bytes") > 0.5 * scenes.PACKET)
    first = dict(sends.group_by("flow", maintain_order=True).agg(pl.col("time").min() - BIN).iter_rows())
    began = dict(result.flows.select("flow", "start").iter_rows())
    never = float("inf")
    return [Begun(opened.get(flow, never) - began[flow], at - began[flow]) for flow, at in first.items()]


def _seeds(fidelity: Fidelity) -> int:
    return 4 if fidelity == "full" else 2
