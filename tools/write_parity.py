"""Runs the standard dumbbells in both worlds and measures the router, and writes what came out into docs/parity.md and
docs/parity-experiments.md; `make parity` does this, in about an hour. With --only the other parts of the pages stay as they are.
With --virtual real packets go through a virtual machine whose clock counts instructions (tools/on-virtual-time), which takes
hours, and into tables of their own."""

import argparse
import json
import math
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tailback.commands.parity import as_data
from tailback.lab import timing
from tailback.lab.hosts import MEASURED
from tailback.lab.parity import Figure, Parity, compare, figures, of_figures, simulate
from tailback.lab.run import LabError, Setup, available
from tailback.plain import plain
from tailback.units import scaled
from tools import pages
from tools.pages import DOCS, table
from tools.parity_cells import Cell, cells
from tools.parity_reasons import reasons

PAGE = DOCS / "parity.md"
EXPERIMENTS = DOCS / "parity-experiments.md"
VIRTUAL = "tools/on-virtual-time"
Data = dict[str, Any]
"""What was measured, as JSON has it."""


SIMULATIONS = 200
"""Simulated runs of a dumbbell."""
_LOAD = re.compile(r", load [0-9.]+ at the end")
"""Differs from run to run, and how late packets were says what matters of it."""


def measured(runs: int, more: int, wanted: str, kept: Path) -> None:
    """Runs the dumbbells with real packets until so many runs of each that count are kept. Where a dumbbell's are late, what is
    there stays, unless it was late, too."""
    kept.mkdir(parents=True, exist_ok=True)
    for cell, setup, file in _dumbbells(kept):
        if wanted not in file.stem:
            continue
        had = _kept(file, setup)
        count = len(had[0].values) if had else 0
        if count >= runs:
            continue
        first = setup.with_seed(json.loads(setup.scenario)["seed"] + count)
        parity = compare(first, replicates=runs - count, more=more, simulations=2)
        if file.exists() and not parity.is_valid and json.loads(file.read_text("utf-8"))["valid"]:
            continue
        data = as_data(parity) | {
            "pair": list(cell.pair),
            "rate": cell.rate,
            "delay": cell.delay,
            "jittered": cell.is_jittered,
            "machine": machine(),
            "setup": setup.scenario,
            "runs": {"measured": len(parity.measured) + count},
            "each": [asdict(figure) for figure in together(had, figures(parity.measured))],
        }
        if had:
            data["hosts"] = json.loads(file.read_text("utf-8"))["hosts"] + data["hosts"]
            data["lateness"] = json.loads(file.read_text("utf-8"))["lateness"] + data["lateness"]
        file.write_text(json.dumps(data) + "\n", "utf-8")
        print(told(data), file=sys.stderr, flush=True)


def _kept(file: Path, setup: Setup) -> list[Figure]:
    """What runs of this very scenario that count have given, as far as they are kept with what hosts took."""
    data: Data = json.loads(file.read_text("utf-8")) if file.exists() else {"valid": False}
    if not (data["valid"] and data.get("hosts")):
        return []
    # As it is read today, with fields that were not there then.
    if as_run(replace(setup, scenario=data["setup"]).checked()) != as_run(setup):
        return []
    return [Figure(**figure) for figure in data["each"]]


def as_run(setup: Setup) -> Data:
    """What of a scenario real packets depend on: of a flow that the kernel carries, not how its counterpart does."""
    scenario: Data = json.loads(setup.scenario)
    for flow in scenario["flows"]:
        if flow["name"] in setup.kernel:
            taken = {field: flow["transport"][field] for field in ("segment_size", "ecn")}
            flow |= {"scheme": setup.kernel[flow["name"]], "receiver": {}, "transport": taken}
    return scenario


def together(former: list[Figure], latter: list[Figure]) -> list[Figure]:
    """The figures of runs, and of further ones."""
    if not former:
        return latter
    return [replace(a, values=a.values + b.values) for a, b in zip(former, latter, strict=True)]


def matrix(kept: Path) -> list[Data]:
    """Every comparison that is kept in a folder, as plain data, beside simulations of today."""
    found = []
    for _, setup, file in _dumbbells(kept):
        if file.exists():
            data = json.loads(file.read_text("utf-8"))
            found.append(beside(data, setup))
            print(told(found[-1]), file=sys.stderr, flush=True)
    return found


def _dumbbells(kept: Path) -> Iterable[tuple[Cell, Setup, Path]]:
    """All that can be run here, with their scenarios and the files in which runs are kept."""
    from tailback import _core

    known = dict(_core.kernel_schemes())
    for cell in cells(known):
        setup = cell.setup(known).checked()
        yield cell, setup, kept / cell.file(setup)


def beside(data: Data, setup: Setup) -> Data:
    """What was measured, beside simulations of today."""
    if "each" not in data:
        return data
    own = [timing.from_data(hosts, MEASURED) for hosts in data.get("hosts", [])]
    simulated = simulate(setup, SIMULATIONS, own or MEASURED, each=bool(own))
    rows = of_figures(figures(simulated), [Figure(**figure) for figure in data["each"]])
    parity = Parity(data["scenario"], data["kernel"], rows, [], [], 0)
    return data | {"rows": plain(parity.table().to_dicts()), "verdict": parity.verdict}


def told(data: Data) -> str:
    """One comparison as a row of a table."""

    def rows(metric: str) -> list[Data]:
        return [row for row in data["rows"] if row["metric"] == metric]

    def both(row: Data, factor: float = 1.0, digits: int = 3) -> str:
        width = row["difference_half_width"]
        half = "" if width is None or not math.isfinite(width) else f" ± {width * factor:.2g}"
        difference = row["difference"] * factor
        return f"{row['simulated'] * factor:.{digits}g}, {difference:+.2g}{half}"

    shares = "; ".join(both(row, 100) for row in rows("share"))
    apart = 100 * max(abs(row["relative"] or 0) for row in rows("share"))
    rtts = "; ".join(both(row, 1000) for row in rows("mean_rtt"))
    (loss,), (queue,) = rows("loss_rate"), rows("mean_queue")
    runs = data["runs"]["measured"]
    mark = "" if data["valid"] else " **late**"
    verdict = data["verdict"] if data["verdict"].startswith("within") else f"**{data['verdict']}**"
    cells = [
        ", ".join(data["pair"]) + ("" if data["jittered"] else ", no jitter"),
        f"{data['rate']}, {data['delay']}",
        f"{runs}{mark}",
        shares,
        f"{apart:.1f} %",
        verdict,
        both(loss, 100),
        both(queue),
        rtts,
    ]
    return "| " + " | ".join(cells) + " |"


def matrix_page(found: list[Data]) -> str:
    """The table and what it says."""
    head = [
        "flows a, b",
        "rate, delay",
        "real runs",
        "shares of the rate, %",
        "apart",
        "shares",
        "loss, %",
        "mean queue, packets",
        "round trip, ms",
    ]
    lines = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head), *map(told, found)]
    valid = [data for data in found if data["valid"]]
    counts = {
        word: sum(data["verdict"] == word for data in valid) for word in ("within 10 %", "not decided", "beyond 10 %")
    }
    near = sum(
        max(abs(row["relative"] or 0) for row in data["rows"] if row["metric"] == "share") <= 0.1 for data in valid
    )
    said = [
        f"{len(valid)} of {len(found)} dumbbells have real runs within the budget of lateness. Of these, shares are within 10 % "
        f"at the mean in {near}; with the intervals looked at, {counts['within 10 %']} are surely within, "
        f"{counts['beyond 10 %']} surely beyond, and {counts['not decided']} are not decided by so few runs. "
        + " ".join(dict.fromkeys(_LOAD.sub("", data.get("machine", machine())) for data in found))
    ]
    return "\n".join([*said, "", *lines]) + "\n"


def machine() -> str:
    """Where it was measured."""
    if os.environ.get("ON_VIRTUAL_TIME"):
        return counted(platform.release())
    cores = os.cpu_count()
    load = os.getloadavg()[0]
    return f"Linux {platform.release()}, {cores} cores, load {load:.1f} at the end."


def counted(system: str) -> str:
    """The machine of ``tools/on-virtual-time``."""
    return f"Linux {system}, 1 core of 10⁹ instructions per second."


def router(profile: str) -> str:
    """What the router does here, measured by its example program."""
    program = _router_program(profile)
    figures = []
    for what in ("speed", "served", "delay"):
        # Who pours without a pause would take a core from everybody else.
        before = [] if what == "speed" else ["chrt", "--fifo", "1"]
        figures += _told([*before, program, what])
    return router_page(figures, machine())


def router_on_virtual_time(profile: str, kept: Path) -> str:
    """The same without what is not a matter of time, in a virtual machine."""
    program = _router_program(profile)
    script = f"uname -r; for what in served delay; do chrt --fifo 1 {program} $what; done"
    done = subprocess.run([VIRTUAL, str(kept), "bash", "-c", script], check=True, capture_output=True, text=True)
    system, *lines = done.stdout.splitlines()
    return router_page([json.loads(line) for line in lines], counted(system))


def _router_program(profile: str) -> str:
    build = ["cargo", "build", "--profile", profile, "--quiet", "-p", "tailback-net", "--example", "router_figures"]
    subprocess.run(build, check=True)
    return f"target/{profile}/examples/router_figures"


def _told(command: list[str]) -> list[Data]:
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def router_page(figures: list[Data], where: str) -> str:
    """The router's figures as tables."""

    def those(what: str) -> list[Data]:
        return [figure for figure in figures if figure["figure"] == what]

    def time(seconds: float | None) -> str:
        if seconds is None:
            return "—"
        value, unit = scaled(seconds, "s")
        return f"{value:.3g} {unit}"

    lines = [where, ""]
    if those("speed"):
        lines += _speeds(those("speed"))
    lines += ["| rate | by | served | off | late, 99 % |", "| --- | --- | --- | --- | --- |"]
    for figure in those("served"):
        lines.append(
            f"| {figure['rate'] / 1e6:g} Mbit/s | {figure['of']} | {figure['served'] / 1e6:.2f} Mbit/s | "
            f"{100 * figure['difference']:+.2f} % | {time(figure['late_p99_seconds'])} |"
        )
    lines += [
        "",
        "| rate | by | delay asked | added, median | added, 99 % | of that late in the router |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for figure in those("delay"):
        late = ", ".join(time(figure[f"late_{name}_seconds"]) for name in ("p50", "p99"))
        lines.append(
            f"| {figure['rate'] / 1e6:g} Mbit/s | {figure['of']} | {time(figure['asked_seconds'])} | "
            f"{time(figure['added_p50_seconds'])} | {time(figure['added_p99_seconds'])} | {late} |"
        )
    return "\n".join(lines) + "\n"


def _speeds(figures: list[Data]) -> list[str]:
    head = ["queue", "packet", "packets per second of a core's time", "of that in the kernel"]
    rows = [
        [
            figure["queue"],
            f"{figure['packet_bytes']} B",
            f"{figure['packets_per_cpu_second']:,.0f}",
            f"{100 * figure['in_the_kernel']:.0f} %",
        ]
        for figure in figures
    ]
    return [table(head, rows), ""]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("matrix", "reasons", "router"))
    runs = "runs with real packets of each dumbbell, kept ones included; default 3; with 0 simulations only"
    parser.add_argument("--runs", type=int, default=3, help=runs)
    parser.add_argument("--profile", default="release", help="how the router's program is built; default release")
    parser.add_argument(
        "--cells", default="", help="only dumbbells whose names contain this; the others stay as they were"
    )
    parser.add_argument("--virtual", action="store_true", help="real packets on a clock that counts instructions")
    parser.add_argument("--into", type=Path, help="only real packets of the dumbbells, kept in this folder; no page")
    given = parser.parse_args()
    try:
        available()
    except LabError as error:
        sys.exit(f"skipped: {error}")
    if given.into:
        measured(given.runs, given.runs, given.cells, given.into)
        return
    kept = Path("out/parity-virtual" if given.virtual else "out/parity")
    kept.mkdir(parents=True, exist_ok=True)
    apart = [VIRTUAL, str(kept)] if given.virtual else []
    where = "on virtual time, " if given.virtual else ""
    if given.only in {None, "matrix"}:
        if given.runs:
            words = [sys.executable, "-m", "tools.write_parity", "--into", str(kept)]
            subprocess.run([*apart, *words, "--runs", str(given.runs), "--cells", given.cells], check=True)
        _write(f"matrix, {where}", matrix_page(matrix(kept)))
    if given.only in {None, "reasons"}:
        _write(f"reasons, {where}", reasons(kept), EXPERIMENTS)
    if given.only in {None, "router"}:
        found = router_on_virtual_time(given.profile, kept) if given.virtual else router(given.profile)
        _write(f"router, {where}", found)


def _write(part: str, text: str, page: Path = PAGE) -> None:
    end = part.removesuffix(", ")
    pages.replace(page, f"<!-- {part}written by make parity -->", f"<!-- end of the {end} -->", text)


if __name__ == "__main__":
    main()
