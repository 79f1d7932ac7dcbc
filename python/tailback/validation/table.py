"""The comparison as a data frame and as a page of Markdown. Judging happens in ``judge``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from tailback.validation.differences import BEYOND
from tailback.validation.judge import Comparison, Verdict

if TYPE_CHECKING:
    import polars as pl

_UNITS = {
    "throughput": "Mbit/s",
    "utilization": "",
    "loss": "%",
    "mean_queue": "packets",
    "goodput": "Mbit/s",
    "tcp_goodput": "Mbit/s",
    "constant_goodput": "Mbit/s",
    "crossing_goodput": "Mbit/s",
    "reverse_goodput": "Mbit/s",
    "completion": "s",
}


def frame(comparisons: Iterable[Comparison]) -> pl.DataFrame:
    """One line per figure of each row."""
    import polars as pl

    return pl.DataFrame(
        [
            {
                "row": item.row.name,
                "figure": item.figure,
                "unit": "fraction" if item.figure == "loss" else unit(item.figure),
                "ns2": item.reference.mean,
                "ns2_sd": item.reference.deviation,
                "tailback": item.measured.mean if item.measured else None,
                "tailback_sd": item.measured.deviation if item.measured else None,
                "difference": item.difference,
                "allowed": item.allowed,
                "verdict": str(item.verdict),
                "reason": item.reason,
            }
            for item in comparisons
        ],
        infer_schema_length=None,
    )


def unit(figure: str) -> str:
    """The unit in which a figure is shown."""
    return "Mbit/s" if figure.startswith("flow_") else _UNITS.get(figure, "")


def summary(comparisons: Sequence[Comparison]) -> str:
    """How many figures agree, in one sentence."""
    counts = {verdict: sum(item.verdict is verdict for item in comparisons) for verdict in Verdict}
    compared = counts[Verdict.AGREES] + counts[Verdict.DIFFERS]
    text = f"{counts[Verdict.AGREES]} of {compared} figures agree within their tolerance"
    left = len({item.row.name for item in comparisons if item.verdict is Verdict.NOT_COMPARED})
    return text + (f"; {left} rows were not compared." if left else ".")


def markdown(comparisons: Sequence[Comparison]) -> str:
    """The page's table, one section per group, with every reason below its table."""
    parts = [summary(comparisons), ""]
    titles = {
        "dumbbell": "## Congested dumbbell",
        "bernoulli": "## Independent loss",
        "fair": "## Fair queueing",
        "further": "## Further configurations",
    }
    for group, items in groupby(comparisons, key=lambda item: item.row.group):
        parts += [titles[group], "", *_section(list(items)), ""]
    parts += beyond()
    return "\n".join(parts).rstrip() + "\n"


def beyond() -> list[str]:
    """Differences found in configurations that are no rows."""
    lines = [
        "## Beyond the rows",
        "",
        "Small windows, where the two differ most: 64 flows over 10 Mbit/s, found after the rows were chosen.",
        "",
        "| options of `benches/ns2/oracle.tcl` | ns-2 | Tailback | |",
        "| --- | --- | --- | --- |",
    ]
    lines += [f"| `{one.options}` | {one.ns2} | {one.tailback} | ({at}) |" for at, one in enumerate(BEYOND, 1)]
    return [*lines, "", *(f"{at}. {one.reason}" for at, one in enumerate(BEYOND, 1)), ""]


def _section(comparisons: Sequence[Comparison]) -> list[str]:
    run = [item for item in comparisons if item.measured is not None]
    lines = [
        "| row | figure | ns-2 | Tailback | difference | allowed | |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    notes: dict[str, int] = {}
    for item in run:
        mark = "agrees"
        if item.verdict is Verdict.DIFFERS:
            number = notes.setdefault(item.reason, len(notes) + 1)
            mark = f"**differs** ({number})"
        lines.append(
            f"| {item.row.name} | {quantity(item.figure)} | {shown(item.figure, item.reference.mean)} "
            f"± {shown(item.figure, item.reference.deviation)} "
            f"| {shown(item.figure, item.measured.mean if item.measured else 0)} "
            f"± {shown(item.figure, item.measured.deviation if item.measured else 0)} "
            f"| {shown(item.figure, item.difference or 0, sign=True)} | {shown(item.figure, item.allowed)} | {mark} |"
        )
    if not run:
        lines = []
    lines += ["", *(f"{number}. {reason}" for reason, number in notes.items())] if notes else []
    missing: dict[str, list[str]] = {}
    for item in comparisons:
        if item.measured is None and item.row.name not in missing.setdefault(item.reason, []):
            missing[item.reason].append(item.row.name)
    for reason, names in missing.items():
        lines += ["", f"Not compared, {reason}: {', '.join(names)}."]
    return lines


def quantity(figure: str) -> str:
    """A figure's name with the unit in which it is shown."""
    name, suffix = figure.replace("_", " "), unit(figure)
    return f"{name}, {suffix}" if suffix else name


def shown(figure: str, value: float, *, sign: bool = False) -> str:
    """A value in the unit that ``quantity`` names."""
    plus = "+" if sign else ""
    if figure == "loss":
        return f"{value * 100:{plus}.3f}"
    digits = {"mean_queue": 2, "utilization": 4}.get(figure, 3)
    return f"{value:{plus}.{digits}f}"
