"""How long calls of Python classes take in the laboratory, and how late packets are because of them, beside what is built in:
the rows of the table in docs/custom-controller.md. What hosts take is measured as by ``tailback.lab.timing``."""

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tailback as tb
from tailback.commands.custom import use_files
from tailback.lab.run import Setup, run
from tailback.lab.timing import both_ends
from tests.custom.custom_parts import Fifo

SECONDS = "15 s"
RATES = ("10 Mbit/s", "100 Mbit/s")
FILES = [Path(__file__).parents[1] / "examples" / name for name in ("gentle.py", "little_bbr.py")]


def scenarios() -> Iterator[tuple[str, str, tb.Scenario]]:
    """What carries the packets, the rate, and the scenario."""
    of_class = {"part": "gentle", "name": "custom"}, {"part": "little-bbr", "name": "custom"}
    whose: list[tuple[str, int, Any, Any]] = [
        ("`sack`, built in", 1, "sack", "drop-tail"),
        ("`bbr1`, built in", 1, "bbr1", "drop-tail"),
        ("`examples/gentle.py`", 1, of_class[0], "drop-tail"),
        ("four flows of it", 4, of_class[0], "drop-tail"),
        ("`examples/little_bbr.py`", 1, of_class[1], "drop-tail"),
        ("a drop-tail queue as a class, under `sack`", 1, "sack", Fifo.queue()),
    ]
    for rate in RATES:
        for name, count, scheme, queue in whose:
            link: dict[str, Any] = {"rate": rate, "delay": "5 ms", "buffer": "1 BDP", "access": {"delay": "0.1 ms"}}
            flows = tb.flows(count, scheme, name="a", transport={"segment_size": "1500 B"})
            base = tb.dumbbell(**link, queue=queue, duration=SECONDS, warm_up="1 s", record={"packets": True})
            yield name, rate, base.with_flows(flows)


def row(name: str, rate: str, scenario: tb.Scenario) -> str:
    """One run's figures, as a line of the table; times in microseconds."""
    setup = Setup(scenario.to_json()).checked()
    result = run(setup)
    # Members of a group have names of their own; the first one has the first hosts.
    host = 1e6 * both_ends(result, result.flows["flow"][0], 0, is_read=False)["sender"].mean()
    calls, late = (_micros(result.real[what]) for what in ("calls", "lateness"))
    valid = "yes" if result.real["valid"] else "no"
    goodput = float(result.flows["throughput"].sum()) / 1e6
    answer = "—" if math.isnan(host) else f"{host:.0f}"
    return f"| {rate} | {name} | {goodput:.3g} | {calls} | {answer} | {late} | {valid} |"


def _micros(spans: dict[str, float]) -> str:
    if not spans["packets"]:
        return "—"
    return ", ".join(f"{1e6 * spans[f'{name}_seconds']:.3g}" for name in ("p50", "p99", "greatest"))


if __name__ == "__main__":
    use_files(FILES)
    wanted = sys.argv[1:]
    for name, rate, scenario in scenarios():
        if not wanted or any(word in f"{rate} {name}" for word in wanted):
            print(row(name, rate, scenario), flush=True)
