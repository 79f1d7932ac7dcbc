"""``tailback capture``: a run as files of other programs. How those files are made is the business of ``capture/``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tailback.commands.changes import changed, read_changed
from tailback.commands.console import stoppable
from tailback.commands.custom import part_errors
from tailback.errors import ArgumentError, StorageError, refused
from tailback.paths import isdir

if TYPE_CHECKING:
    from tailback.results import Result

KINDS = (".pcapng", ".qlog", ".trace")
POINTS = ("senders", "receivers")


def capture_run(
    source: Path,
    files: Sequence[Path],
    *,
    at: str,
    flow: str | None,
    seed: int | None,
    changes: Sequence[str],
    trust: bool = False,
) -> None:
    """Writes what the endings of ``files`` say, of a scenario that is run for it or of a saved result.

    Raises:
        TailbackError: for another ending, a flow or a point that there is none of, or packets that a result lacks.
    """
    for file in files:
        if file.suffix not in KINDS:
            raise refused("OUT", str(file), f"a file that ends in {', '.join(KINDS)}")
    result = _saved(source, seed, changes, trust=trust) if isdir(source) else _ran(source, seed, changes)
    for file in files:
        _expect(result, file, at, flow)
    for file in files:
        typer.echo(str(_write(result, file, at, flow)))


def _ran(source: Path, seed: int | None, changes: Sequence[str]) -> Result:
    from tailback.progress import Bar

    scenario = changed(read_changed(source, changes), ["packets=true"])
    with stoppable("nothing was written"), Bar(f"simulating {scenario.duration}", 1.0) as bar, part_errors():
        return scenario.run(seed=seed, progress=bar.reach)


def _saved(source: Path, seed: int | None, changes: Sequence[str], *, trust: bool) -> Result:
    from tailback.saved import load
    from tailback.sweeps import Runs

    if seed is not None or changes:
        raise refused("SOURCE", str(source), "a scenario where --seed or --set change it, not a saved result")
    found = load(source, trust=trust)
    if isinstance(found, Runs):
        raise StorageError(f"{source}: is a sweep, which keeps no packets; expected a scenario or a saved result")
    return found


def _expect(result: Result, file: Path, at: str, flow: str | None) -> None:
    """Complains of what a file cannot be made of, before any is written."""
    from tailback.capture.pcapng import seen_at

    if file.suffix == ".pcapng":
        seen_at(result, at, flow)
    elif file.suffix == ".qlog":
        result.series(flow=flow if flow is not None else _only_flow(result))
    elif at not in POINTS:
        result.series(link=at)


def _write(result: Result, file: Path, at: str, flow: str | None) -> Path:
    from tailback.capture import write_mahimahi, write_pcapng, write_qlog
    from tailback.capture.mahimahi import of_link
    from tailback.results.files import make_folder

    make_folder(file.parent)
    if file.suffix == ".pcapng":
        return write_pcapng(result, file, at=at, flow=flow)
    if file.suffix == ".qlog":
        return write_qlog(result, file, flow if flow is not None else _only_flow(result))
    return write_mahimahi(file, of_link(result, None if at in POINTS else at))


def _only_flow(result: Result) -> str:
    names = result.flows["flow"].to_list()
    if len(names) != 1:
        raise ArgumentError(f"--flow is missing; expected the flow that a .qlog file is of, one of {', '.join(names)}")
    return str(names[0])
