"""``tailback lab``: a scenario with real packets on this machine; its tables on the terminal, its result in a folder. How it is
run is said in ``lab/``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tailback.commands.changes import changes_of, check_once
from tailback.commands.console import stoppable
from tailback.commands.run import keep_and_tell
from tailback.errors import ScenarioError
from tailback.lab.run import Setup, as_written, change, load, run
from tailback.progress import Bar


def lab_file(
    file: Path,
    *,
    seed: int | None,
    out: Path | None,
    changes: Sequence[str],
    plot: bool,
    budget: str,
    as_json: bool,
) -> int:
    """Runs a scenario with real packets, saves its result, and shows it; 1 where the run does not count."""
    from tailback.results.store import expect_room

    setup = read(file, changes)
    number = json.loads(setup.scenario)["seed"] if seed is None else seed
    usual = Path("out") / f"{file.stem}-lab-{number}"
    # A neighbour of the usual place: there, a result of another plan is no hindrance.
    expect_room(out or usual.with_name(f".{usual.name}"))
    with stoppable("nothing was written"):
        duration = json.loads(setup.scenario)["duration"]
        with Bar(f"running {duration} in real time", 1.0) as bar:
            result = run(setup, seed=seed, budget=budget, progress=bar.reach)
    keep_and_tell(result, out, usual, plot=plot, predict=None, as_json=as_json)
    return 0 if result.real["valid"] else 1


def read(file: Path, texts: Sequence[str]) -> Setup:
    """The scenario of a file, with the changes of a command line.

    Raises:
        ScenarioError: everything that is wrong with it, or cannot be had with real packets.
    """
    if not texts:
        return load(file)
    try:
        changes = changes_of(texts)
        check_once(changes, as_written(file))
        return change(file, changes)
    except ScenarioError as error:
        if error.source == str(file):  # As it is, without the changes.
            raise
        raise ScenarioError(error.problems, "--set") from None
