"""What runs within the namespaces of a laboratory: hosts and router, until the end or the word to stop, then the result in a
folder. Started by ``run.py`` only."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path

STOPPED = 3
"""The exit status where somebody has stopped it: there is no result."""
PART_FAILED = 4
"""The exit status where a custom part has failed: what is to be said of it is in a file of the folder."""


def main() -> int:
    """Runs what the folder that is named first says; 0 where there is a result."""
    from tailback.errors import PartError, TailbackError

    signal.signal(signal.SIGINT, lambda *_: None)  # Whoever started this decides.
    folder, held, memory = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for mine in (held, memory):
        os.set_inheritable(mine, False)
    try:
        return _run(folder, held, memory)
    except PartError as error:
        return _part_failed(folder, str(error))
    except (TailbackError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        _leave(folder, held)


def _part_failed(folder: Path, said: str) -> int:
    """Leaves word of what a custom part did."""
    if folder.exists():  # Whoever made it may be gone.
        (folder / "part-failed").write_text(said, encoding="utf-8")
    return PART_FAILED


def _give_up(folder: Path, held: int, said: str) -> None:
    """Ends it all, since a custom part does not come back."""
    status = _part_failed(folder, said)
    _leave(folder, held)
    os._exit(status)


def _leave(folder: Path, held: int) -> None:
    """Removes the folder where whoever made it will not read it any more."""
    word = select.poll()
    word.register(held, select.POLLHUP)
    if word.poll(0):
        shutil.rmtree(folder, ignore_errors=True)


def _run(folder: Path, held: int, memory: int) -> int:
    from tailback import _core
    from tailback.custom import runs, shipping

    told = json.loads((folder / "told.json").read_text(encoding="utf-8"))
    scenario = (folder / "scenario.json").read_text(encoding="utf-8")
    shipping.unpack((folder / "parts").read_bytes())
    is_prompt = _sooner()
    began, busy = time.monotonic(), _processors()
    raw, text = runs.carry(
        lambda: _core.laboratory(scenario, json.dumps({**told, "held": held, "folder": str(folder)})),
        stuck=lambda said: _give_up(folder, held, said),
    )
    wall = time.monotonic() - began
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    made = {"command": "lab", "kernel": told["kernel"], "budget": told["budget"]}
    report = json.loads(text) | {"is_real_time": is_prompt, "stolen": _stolen(busy, _processors()), "made": made}
    if report["stopped"]:
        return STOPPED
    # Tables take half a second to import, and who waits for word of a part that failed needs none.
    from tailback.lab.folder import hand_over
    from tailback.results.from_core import result_of

    hand_over(result_of(raw, wall, real=report), folder, memory)
    return 0


def _sooner() -> bool:
    """Asks for this thread to be woken before others, and with it those that it starts, which are the flows' ends; whether it
    is granted."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    return True


def _processors() -> list[int]:
    """What the processors have done so far, in ticks: user, nice, system, idle, iowait, irq, softirq, steal."""
    with open("/proc/stat", encoding="ascii") as table:
        return [int(word) for word in table.readline().split()[1:9]]


def _stolen(before: list[int], after: list[int]) -> float:
    """The part of the processors' time that the machine's own host kept from it, where it is a virtual one."""
    spent = [late - early for early, late in zip(before, after, strict=True)]
    return spent[7] / max(sum(spent), 1)
