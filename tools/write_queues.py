"""Runs the scenarios of RFC 7928 under several disciplines and writes figure and tables into docs/howto/evaluate-queue.md;
`make queues` does this. `make queues ARGS=--quick` makes two runs of each and writes to out/queues."""

from __future__ import annotations

import argparse

import polars as pl

from tailback.plot.style import save
from tools.pages import DOCS, for_a_look, replace, write_cells
from tools.pages import table as markdown_table
from tools.queues import BURSTS, LEVELS, QUEUES, TRIPS, intervals, measure
from tools.queues_figure import draw
from tools.write_home import cell

PAGE = DOCS / "howto" / "evaluate-queue.md"
FIGURE = DOCS / "_static" / "evaluate-queue.svg"
CELLS = DOCS / "_static" / "evaluate-queue.csv"
MARKS = ("<!-- measured, written by make queues -->", "<!-- end of what was measured -->")

Columns = dict[tuple[str, str], str]
"""Headings by case and measure."""

TABLES: dict[str, tuple[str, Columns]] = {
    "Transport protocols (§5)": (
        "One NewReno and one CUBIC, each alone: goodput and mean queueing delay. A file of 40 packets beside a NewReno: its "
        "completion time with an initial window of 3 and of 10 packets. UDP at 12 Mbit/s: mean queueing delay. UDP at "
        "7.5 Mbit/s beside a NewReno, and LEDBAT beside a NewReno: goodput.",
        {
            ("newreno", "rate"): "NewReno, Mbit/s",
            ("newreno", "delay"): "delay, ms",
            ("cubic", "rate"): "CUBIC, Mbit/s",
            ("cubic", "delay"): "delay, ms",
            ("short 3", "time"): "file, IW 3, s",
            ("short 10", "time"): "file, IW 10, s",
            ("udp", "delay"): "UDP, delay, ms",
            ("udp and tcp", "long"): "NewReno beside UDP, Mbit/s",
            ("ledbat", "background"): "LEDBAT, Mbit/s",
        },
    ),
    "Round trips and packet sizes (§6.2, §4.5, §4.4)": (
        "Goodput of a flow with another round trip, divided by that of a flow with 100 ms; with ECN at both; and goodput of "
        "three flows with packets of 500 bytes, divided by that of three with 1500 bytes.",
        {
            **{(f"rtt {trip}", "ratio"): f"{trip} ms" for trip in TRIPS},
            ("rtt 5 ecn", "ratio"): "5 ms, ECN",
            ("rtt 560 ecn", "ratio"): "560 ms, ECN",
            ("sizes", "ratio"): "500 B to 1500 B",
        },
    ),
    "Bursts (§7.2)": (
        "The time until a page of 54 objects is there, in the four cases. In case IV, the 99th percentile of the queueing "
        "delay, and the loss, of the constant bit rate and of the video.",
        {
            **{(f"bursts {case}", "page"): f"page, {case}, s" for case in BURSTS},
            ("bursts IV", "cbr_p99"): "CBR, 99 %, ms",
            ("bursts IV", "cbr_loss"): "CBR, lost, %",
            ("bursts IV", "video_p99"): "video, 99 %, ms",
            ("bursts IV", "video_loss"): "video, lost, %",
        },
    ),
    "Congestion (§8.2.2 to §8.2.4)": (
        "6, 13 and 19 flows: goodput, mean queueing delay and loss at the link.",
        {
            (level, name): f"{level}, {unit}"
            for level in LEVELS
            for name, unit in (("rate", "Mbit/s"), ("delay", "ms"), ("loss", "%"))
        },
    ),
    "Varying congestion (§8.2.5)": (
        "Mean queueing delay in each phase of 20 s.",
        {("varying congestion", f"delay_{phase}"): f"{phase}, ms" for phase in ("mild", "medium", "heavy", "again")},
    ),
    "Capacity (§8.2.6)": (
        "100 and 10 Mbit/s in turn, under 60 flows. With phases of 20 s: utilization and mean queueing delay of the fast and "
        "the slow phases, and the longest delay in 100 ms. With phases of 100 ms: utilization and mean queueing delay.",
        {
            ("varying capacity", "used_fast"): "fast, used, %",
            ("varying capacity", "delay_fast"): "fast, ms",
            ("varying capacity", "used_slow"): "slow, used, %",
            ("varying capacity", "delay_slow"): "slow, ms",
            ("varying capacity", "longest"): "longest, ms",
            ("quick capacity", "used"): "100 ms, used, %",
            ("quick capacity", "delay"): "100 ms, ms",
        },
    ),
    "Traffic mix (§9.1)": (
        "The time of a page; the call's 99th percentile of the queueing delay, and its loss; goodput of the video and of the "
        "five transfers.",
        {
            ("mix", "page"): "page, s",
            ("mix", "call_p99"): "call, 99 %, ms",
            ("mix", "call_loss"): "call, lost, %",
            ("mix", "video"): "video, Mbit/s",
            ("mix", "bulk"): "transfers, Mbit/s",
        },
    ),
    "Both directions, and two queues (§9.2, §10.2)": (
        "Six flows in each direction: goodput. Two queues in a row: goodput of the three flows that pass both, of the three "
        "that pass the second only, and the mean queueing delay in both queues.",
        {
            ("bidirectional", "down"): "down, Mbit/s",
            ("bidirectional", "up"): "up, Mbit/s",
            ("two queues", "A"): "both queues, Mbit/s",
            ("two queues", "B"): "second only, Mbit/s",
            ("two queues", "first"): "first, ms",
            ("two queues", "second"): "second, ms",
        },
    ),
}
"""The tables of the page: what they show, and their columns."""


def rows(table: pl.DataFrame, columns: Columns) -> str:
    """One row per discipline."""
    found = {tuple(row[:3]): row[3:] for row in table.select("case", "queue", "measure", "mean", "half_width").rows()}
    lines = [[queue, *(cell(*found[case, queue, name]) for case, name in columns)] for queue in QUEUES]
    return markdown_table(["queue", *columns.values()], lines)


def markdown(table: pl.DataFrame, seeds: int) -> str:
    """All tables."""
    parts = [
        f"{seeds} runs of each; ± is the half-width of the interval at 95 %. [All cells](../_static/evaluate-queue.csv).",
    ]
    for title, (about, columns) in TABLES.items():
        parts += [f"### {title}", about, rows(table, columns)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Runs, draws and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two seeds instead of ten")
    parser.add_argument("--jobs", type=int, default=None, help="processes (default: all cores)")
    given = parser.parse_args()
    seeds = 2 if given.quick else 10
    runs = measure(seeds, given.jobs)
    table = intervals(runs)
    page, figure, cells = (for_a_look(path, "queues") if given.quick else path for path in (PAGE, FIGURE, CELLS))
    save(draw(runs), figure, salt="queues")
    write_cells(table, cells)
    replace(page, *MARKS, markdown(table, seeds))
    print(page)


if __name__ == "__main__":
    main()
