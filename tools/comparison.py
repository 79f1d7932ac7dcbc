"""The comparison of all schemes on one set of scenarios: which, how they are run, and what is read from the runs. The figure
is in ``comparison_figure.py``; ``write_comparison.py`` writes the page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import tailback as tb
from tailback.commands.custom import use_files
from tailback.custom.registry import registered
from tailback.custom.registry import table as as_scheme
from tailback.errors import TailbackError
from tailback.sweeps.design import Variant
from tailback.sweeps.make import run_all
from tools.over_seeds import over_seeds

FAMILIES: dict[str, dict[str, Any]] = {
    "of the papers": {
        "monaco": "monaco",
        "packet-pair": "packet-pair",
        "sac over reno": {"name": "sac", "over": {"name": "reno"}},
        "probabilistic": "probabilistic",
        "newark": "newark",
    },
    "of the textbooks": {"sack": "sack", "cubic": "cubic", "vegas": "vegas", "tfrc": "tfrc"},
    "of today": {
        "bbr1": "bbr1",
        "bbr3": "bbr3",
        "copa": "copa",
        "prague": "prague",
        "dctcp": "dctcp",
        "highspeed": "highspeed",
        "westwood-plus": "westwood-plus",
        "illinois": "illinois",
        "compound": "compound",
        "ledbat": "ledbat",
        "ledbat-plus-plus": "ledbat-plus-plus",
        "nada": "nada",
        "gcc": "gcc",
        "scream2": "scream2",
        "vivace": "vivace",
    },
}
"""The schemes by their origin: what the tables call them, and what the scenarios do."""

MEDIA = {"nada", "gcc", "scream2"}
"""Those for media, which have a largest rate."""
DATAGRAMS = {"probabilistic", "tfrc"} | MEDIA
"""Those of datagrams; the others carry reliable streams."""
PACKETS = {"segment_size": "1500 B"}

ROUND_TRIP = {"10 Mbit/s, 40 ms": 0.040, "50 Mbit/s, 80 ms": 0.080, "50 Mbit/s, 20 ms": 0.020}
LINKS: dict[str, dict[str, Any]] = {
    "10 Mbit/s, 40 ms, 1 BDP": {"rate": "10 Mbit/s", "delay": "18 ms", "buffer": "1 BDP"},
    "10 Mbit/s, 40 ms, 8 BDP": {"rate": "10 Mbit/s", "delay": "18 ms", "buffer": "8 BDP"},
    "50 Mbit/s, 80 ms, 0.2 BDP": {"rate": "50 Mbit/s", "delay": "38 ms", "buffer": "0.2 BDP"},
    "50 Mbit/s, 20 ms, CoDel": {"rate": "50 Mbit/s", "delay": "8 ms", "buffer": "1000 packets", "queue": "codel"},
    "50 Mbit/s, 20 ms, FQ-CoDel": {"rate": "50 Mbit/s", "delay": "8 ms", "buffer": "1000 packets", "queue": "fq-codel"},
    "50 Mbit/s, 20 ms, DualPI2": {"rate": "50 Mbit/s", "delay": "8 ms", "buffer": "1000 packets", "queue": "dualpi2"},
}
"""Rate, round trip time and buffer; drop-tail where no queue is named."""

MEASURES = {
    "utilization": "alone: part of the link used",
    "queueing": "alone: mean queueing delay, seconds",
    "loss": "alone: part of the packets lost",
    "jain": "two of it: Jain's index",
    "share": "beside one CUBIC: its part of what both got",
    "harm": "beside one CUBIC: part of CUBIC's lone goodput that it took",
}
"""What is measured of each scheme on each link."""


def schemes() -> dict[str, Any]:
    """All of them, in the order of the tables."""
    return {title: scheme for family in FAMILIES.values() for title, scheme in family.items()}


OWN = "of your own"


def add_own(files: Sequence[Path]) -> list[str]:
    """Adds the controllers of Python files to the schemes; what they are called.

    Raises:
        TailbackError: for a file that is none, without a controller, or with one that is called as another scheme is.
    """
    before = set(registered())
    use_files(files)
    own = {
        name: part for (place, name), part in registered().items() if place == "scheme" and (place, name) not in before
    }
    if not own:
        raise TailbackError(
            f"{', '.join(map(str, files))}: no controller is in there; expected a subclass of tb.Controller"
        )
    for name, part in own.items():
        if name in schemes():
            raise TailbackError(
                f'{name}: a scheme has this name; expected another, such as name = "my-{name}" in the class'
            )
        FAMILIES.setdefault(OWN, {})[name] = as_scheme(part, {})
        if getattr(part, "reliability", "") == "datagram":
            DATAGRAMS.add(name)
    return list(own)


def _rate(link: str) -> float:
    return float(link.split(" Mbit/s", maxsplit=1)[0])


def _group(count: int, title: str, link: str, name: str) -> Any:
    """A group of flows. What sends at a rate of its own, or up to a largest one, gets one that suits the link."""
    scheme = schemes()[title]
    start = {"from": "0 s", "to": "0.2 s"}
    if title == "probabilistic":
        # It switches flows that cannot adapt; each asks for half of the link.
        source = {"name": "datagrams", "rate": f"{_rate(link) / 2:g} Mbit/s"}
        return tb.flows(count, scheme, source, name=name, start=start, datagram=PACKETS)
    if title in MEDIA:
        scheme = {"name": title, "max_rate": f"{_rate(link):g} Mbit/s"}
    kind = "datagram" if title in DATAGRAMS else "transport"
    return tb.flows(count, scheme, name=name, start=start, **{kind: PACKETS})


def variants(seconds: int, titles: Collection[str]) -> list[Variant]:
    """Each of these schemes alone, with itself and with one CUBIC, on every link; the first half of the time is not counted."""
    made = []
    access = {"rate": "1 Gbit/s", "delay": {"from": "0.8 ms", "to": "1.2 ms"}}
    for link, fields in LINKS.items():
        base = tb.dumbbell(**fields, duration=f"{seconds} s", warm_up=f"{seconds / 2:g} s", access=access)
        for title in titles:
            companies = {
                "alone": [_group(1, title, link, "it")],
                "itself": [_group(2, title, link, "it")],
                "cubic": [_group(1, title, link, "it"), _group(1, "cubic", link, "other")],
            }
            for company, groups in companies.items():
                labels = {"network": link, "it": title, "company": company}
                made.append(Variant(labels, base.with_flows(*groups)))
    return made


def measure(seconds: int, seeds: int, titles: Collection[str], jobs: int | None = None) -> pl.DataFrame:
    """One row per ``network``, ``it`` (one of these schemes) and seed, a column per measure. CUBIC must be among them: harm is
    counted against what it gets alone.

    Raises:
        RuntimeError: where a run failed.
    """
    runs = run_all(variants(seconds, titles), range(1, seeds + 1), jobs=jobs)
    if runs.failed.height:
        failed = runs.failed.row(0, named=True)
        raise RuntimeError(f"{failed['it']} on {failed['network']}, {failed['company']}: {failed['error']}")
    by = ["network", "it", "seed"]
    alone = runs.table.filter(pl.col("company") == "alone").select(
        *by, "utilization", queueing="queueing_delay", loss="loss_rate"
    )
    itself = runs.table.filter(pl.col("company") == "itself").select(*by, "jain")
    beside = runs.flows.filter(pl.col("company") == "cubic")
    mine = beside.filter(pl.col("group") == "it").select(*by, mine="goodput")
    other = beside.filter(pl.col("group") == "other").select(*by, other="goodput")
    lone = runs.flows.filter((pl.col("company") == "alone") & (pl.col("it") == "cubic"))
    table = alone.join(itself, on=by).join(mine, on=by).join(other, on=by)
    table = table.join(lone.select("network", "seed", lone="goodput"), on=["network", "seed"])
    return table.with_columns(
        share=pl.col("mine") / (pl.col("mine") + pl.col("other")),
        harm=(1 - pl.col("other") / pl.col("lone")).clip(0, 1),
    ).select(*by, *MEASURES)


def intervals(table: pl.DataFrame) -> pl.DataFrame:
    """One row per ``network``, ``it`` and ``measure``: ``mean`` and the ``half_width`` of its interval at 95 %, infinite of
    one seed."""
    return over_seeds(table, ("network", "it"), MEASURES).filter(pl.col("mean").is_not_nan())


class Worst(NamedTuple):
    """Where a scheme is at its worst."""

    badness: float
    """0 is none, 1 is as bad as can be."""
    network: str
    words: str


def worst(table: pl.DataFrame, it: str) -> Worst:
    """The cell of a scheme with the largest badness. What is bad, each from 0 to 1: the part of the link left unused;
    queueing delay over round trip time with it; ten times the part of the packets lost; how far two of it are from equal
    shares; the harm to CUBIC beyond what a second CUBIC does; and how much less than half it gets beside CUBIC."""
    means = {(row["network"], row["it"], row["measure"]): row["mean"] for row in table.iter_rows(named=True)}

    def mean(network: str, measure_: str, of: str = it) -> float:
        return float(means.get((network, of, measure_), float("nan")))

    found = []
    for network in LINKS:
        usual = mean(network, "harm", "cubic")
        harm, share, queueing = mean(network, "harm"), mean(network, "share"), mean(network, "queueing")
        loss, jain, used = mean(network, "loss"), mean(network, "jain"), mean(network, "utilization")
        found += [
            Worst(1 - used, network, f"alone it uses {used:.0%}"),
            Worst(
                queueing / (queueing + ROUND_TRIP[network.rsplit(", ", 1)[0]]),
                network,
                f"{queueing * 1e3:.0f} ms queued",
            ),
            Worst(min(1.0, 10 * loss), network, f"{loss:.1%} of its packets lost"),
            Worst(2 * (1 - jain), network, f"two of it share unequally, Jain {jain:.2f}"),
            Worst((harm - usual) / max(1 - usual, 0.01), network, f"a CUBIC beside it loses {harm:.0%}"),
            Worst(1 - 2 * share, network, f"beside CUBIC it gets {share:.0%}"),
        ]
    return max((one for one in found if one.badness == one.badness), key=lambda one: one.badness)
