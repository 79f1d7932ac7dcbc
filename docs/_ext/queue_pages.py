"""A page per queue discipline, with a picture of its queue under one standard bursty load, from a run made here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tailback._core import Result

BOTTLENECK = "r0->r1"
SECONDS = 8
RATE = 10_000_000
"""Bit/s."""
BIN = 0.02
"""Seconds."""
LOAD = """The load is the same on every page: eight sources over 10 Mbit/s that send 4 Mbit/s while on, for 200 ms on
average and 400 ms off, both exponential; half of them ECN-capable; and room for 100 packets. It offers slightly more
than the link carries, in bursts, from datagrams that do not react: what is seen is the discipline alone."""

FAIR = """The queue as a whole is that of drop-tail: a fair server changes whose packets wait and whose are lost, not how
many, as long as it does not leave the line idle."""
FRAMED = ("framed-round-robin", "hierarchical-round-robin")
IDLING = """By default each of the eight sources may use a tenth of the line and no more, be the line idle: while on, it
sends four times as much, and what does not fit its allotment waits or is lost."""
SPECIAL: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "priority": (
        {"classes": [{"flows": [0, 1], "lane": 0}]},
        "All packets of this load are of one lane, so here two of the eight sources are put into the lane ahead.",
    ),
    "token-bucket": (
        {"rate": "8 Mbit/s"},
        "By default the bucket fills at the link's own rate, which changes nothing: here it fills at 8 Mbit/s.",
    ),
    "policer": (
        {"rate": "8 Mbit/s", "burst": "100 kB"},
        "The default is 1 Mbit/s, a tenth of the line: here it is 8 Mbit/s with a burst of 100 kB.",
    ),
}
"""Parameters without which the standard load would not show what a discipline does, and a word about them."""
TOGETHER = {
    "rho": ("eta",),
    "lane_0_packets": ("lane_1_packets",),
    "sparse_queues": ("bulk_queues",),
    "best_effort_packets": ("bulk_packets", "voice_packets"),
}
"""States that one strip shows beside the first."""
UNITS = {"_bits": ("Mbit/s", 1e-6), "_bytes": ("kB", 1e-3), "_seconds": ("ms", 1e3), "_packets": ("packets", 1.0)}
"""How a state's name tells its unit, the unit that is drawn, and the factor between."""


def labelled(state: str) -> tuple[str, str, float]:
    """A state's name in words, its unit if any, and the factor that takes it there."""
    for ending, (unit, factor) in UNITS.items():
        if state.endswith(ending):
            return state.removesuffix(ending).replace("_", " "), unit, factor
    return state.replace("_", " "), "", 1.0


def scenario(queue: str) -> dict[str, Any]:
    """The standard load through one discipline with its defaults."""
    burst = {
        "count": 4,
        "scheme": {"name": "fixed-rate", "rate": "50 Mbit/s"},
        "source": {
            "name": "on-off",
            "rate": "4 Mbit/s",
            "on": {"name": "exponential", "mean": "200 ms"},
            "off": {"name": "exponential", "mean": "400 ms"},
            "pause_first": True,
        },
    }
    return {
        "name": queue,
        "duration": f"{SECONDS} s",
        "topology": {
            "template": "dumbbell",
            "rate": "10 Mbit/s",
            "delay": "10 ms",
            "buffer": "100 packets",
            "queue": {"name": queue, **SPECIAL.get(queue, ({}, ""))[0]},
            "access": {"rate": "100 Mbit/s", "delay": "1 ms"},
        },
        "flows": [{**burst, "name": "plain"}, {**burst, "name": "capable", "datagram": {"ecn": "ect0"}}],
        "record": {"bin": "20 ms", "flows": "none", "queue_state": True},
    }


def run(queue: str) -> Result:
    """Runs the standard load."""
    from tailback import _core

    return _core.run(json.dumps(scenario(queue)))


def figures(result: Result) -> dict[str, float]:
    """What the bottleneck's counters say."""
    links = result.links
    at = list(links["name"]).index(BOTTLENECK)

    def read(column: str) -> float:
        return float(links[column][at])

    return {
        "utilization, %": read("busy_seconds") / SECONDS * 100,
        "lost, %": read("dropped_packets") / read("arrived_packets") * 100,
        "marks": read("marks"),
        "mean queue, packets": read("mean_queue_packets"),
        "mean queueing delay, ms": read("mean_queue_packets") / (read("transmitted_packets") / SECONDS) * 1e3,
    }


def at_bottleneck(result: Result) -> dict[str, NDArray[Any]]:
    """The bottleneck's columns, a value per bin, of those of all links one behind another."""
    bins, series = len(result.times), result.link_series
    first = result.watched_links.index(BOTTLENECK) * bins
    return {name: series[name][first : first + bins] for name in series}


def draw(entry: Mapping[str, Any], result: Result, other: Result, path: Path) -> None:
    """The queue against time, drop-tail's in grey behind it, drops and marks below, then the first of what the
    discipline tells of its state, or how much of the line is used where it tells nothing."""
    from tailback.plot.style import COLOURS, FAINT, figure, save, style

    name = entry["name"]
    series, behind = at_bottleneck(result), at_bottleneck(other)
    with style():
        made, axes = figure(3, height=4.2, sharex=True, height_ratios=(3, 1, 1))
        axes[0].fill_between(
            other.times, behind["mean_queue_packets"], color=FAINT, alpha=0.35, lw=0, label="drop-tail"
        )
        axes[0].plot(result.times, series["mean_queue_packets"], color=COLOURS[0], lw=1.1, label=name)
        axes[0].set_ylabel("waiting (packets)")
        axes[0].set_ylim(bottom=0)
        axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
        axes[1].vlines(result.times, 0, series["dropped_packets"], color=COLOURS[3], lw=1, label="dropped")
        axes[1].vlines(
            result.times, 0, [-float(n) for n in series["marks"]], color=COLOURS[1], lw=1, label="marked (downwards)"
        )
        axes[1].axhline(0, color=FAINT, lw=0.5)
        # Marks point downwards; both are counts.
        axes[1].yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
        axes[1].set_ylabel("packets\nin 20 ms")
        axes[1].legend(loc="lower right", bbox_to_anchor=(1, 0.95), ncols=2)
        _strip(axes[2], entry, result)
        axes[-1].set_xlabel("time (s)")
        axes[-1].set_xlim(0, SECONDS)
        save(made, path, salt=name)


def _strip(axis: Axes, entry: Mapping[str, Any], result: Result) -> None:
    from tailback.plot.style import COLOURS

    series = at_bottleneck(result)
    if not entry.get("state"):
        used = [float(sent) * 8 / (RATE * BIN) * 100 for sent in series["transmitted_bytes"]]
        axis.plot(result.times, used, color=COLOURS[4], lw=1.1)
        axis.set_ylabel("used (%)")
        axis.set_ylim(0, 105)
        return
    first = entry["state"][0]
    several = [first, *TOGETHER.get(first, ())]
    words, unit, _ = labelled(first)
    for index, told in enumerate(several):
        label, _, factor = labelled(told)
        values = [float(value) * factor for value in series[told]]
        axis.plot(result.times, values, color=COLOURS[4 - 2 * index], lw=1.1, label=label)
    if len(several) > 1:
        axis.legend(loc="lower right", bbox_to_anchor=(1, 0.95), ncols=len(several))
        axis.set_ylabel(unit or " and ".join(several))
    else:
        axis.set_ylabel(words.replace(" ", "\n", 1) + (f"\n({unit})" if unit else ""))
    # No offset that the eye has to add.
    axis.ticklabel_format(axis="y", useOffset=False, style="plain")


def write(entries: list[dict[str, Any]], folder: Path, parameters: Callable[[Mapping[str, Any]], str]) -> None:
    """Writes the pages and their index."""
    folder.mkdir(exist_ok=True)
    reference = run("drop-tail")
    index = [
        "# Queue disciplines\n\nAny link takes any of these by name. `tailback queues` prints the same.\n",
        "| discipline | lost, % | marks | mean queue, packets | what it does |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    # A custom part has no behaviour to draw.
    entries = [entry for entry in entries if entry["name"] != "custom"]
    for entry in entries:
        name = entry["name"]
        result = run(name)
        seen = figures(result)
        draw(entry, result, reference, folder / f"{name}.svg")
        index.append(
            f"| [{name}]({name}.md) | {seen['lost, %']:.1f} | {seen['marks']:.0f} | {seen['mean queue, packets']:.1f} "
            f"| {entry['summary'].rstrip('.').replace('|', '/')} |"
        )
        (folder / f"{name}.md").write_text(page(entry, seen, parameters(entry)), encoding="utf-8")
    names = "\n".join(entry["name"] for entry in entries)
    index.append(f"\n{LOAD}\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n")
    (folder / "index.md").write_text("\n".join(index), encoding="utf-8")


def page(entry: Mapping[str, Any], seen: Mapping[str, float], table: str) -> str:
    """One discipline's page."""
    name, source = entry["name"], entry["source"]
    lines = [f"# {name}\n\n{entry['summary'].rstrip('.')}."]
    if source:
        lines.append(f"Source: {source}.")
    state = ", ".join(f"`{name}`" for name in entry.get("state", []))
    told = f"With `record.queue_state`, the link's series also has, at the end of each bin: {state}."
    words = [IDLING if name in FRAMED else FAIR] if entry["family"] == "fair" else []
    if name in SPECIAL:
        words.append(SPECIAL[name][1])
    numbers = "\n".join(f"| {key} | {value:.1f} |" for key, value in seen.items())
    return "\n\n".join(
        [
            *lines,
            f"![The queue of {name} under the standard load]({name}.svg)",
            f"| under this load | |\n| --- | ---: |\n{numbers}",
            LOAD,
            *words,
            f"## Parameters\n\n{table}",
            *([f"## State\n\n{told}"] if state else []),
            f'In a scenario: `queue = "{name}"`, or a table with `name = "{name}"` and parameters.\n',
        ]
    )
