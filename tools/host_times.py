"""How long the laboratory's hosts take from a packet's arrival to what they send because of it, by the router's packet log: of the
kernel's TCP and of ours, at the rates of the standard dumbbells. `python -m tools.host_times` writes what the simulator has of
it, python/tailback/lab/hosts.json. How a run's log tells it is in ``tailback.lab.timing``, what is made of it in
``tailback.lab.hosts``."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tailback.lab.run import LabError, run
from tailback.lab.timing import LONGEST, both_ends, kept, with_log
from tailback.units import number
from tools.parity_cells import CELLS, Cell

FILE = Path(__file__).resolve().parents[1] / "python" / "tailback" / "lab" / "hosts.json"
PAIRS = (("kernel-reno", "kernel-cubic"), ("cubic", "kernel-cubic"))
SECONDS = 20.0
ROUNDS = 2
"""What hosts take differs from one half hour to the next, by up to a fifth."""
Times = dict[str, dict[str, list[NDArray[np.float64]]]]
"""Of the kernel's flows and of ours, by end."""


def measure(known: dict[str, str | None]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """By rate in bit/s, by who carries the flow and by end, in microseconds."""
    told = {}
    for rate, delay, _ in CELLS:
        times: Times = {
            "kernel": {end: [] for end in ("sender", "receiver", "reading")},
            "ours": {"sender": [], "receiver": []},
        }
        for pair in ROUNDS * PAIRS:
            setup = Cell(rate, delay, SECONDS, pair, is_jittered=False).setup(known).checked()
            result = run(with_log(setup))
            if not result.real["valid"]:
                raise LabError(
                    f"{rate}, {pair}: packets were too late for this to count; once more on a quieter machine"
                )
            for index, flow in enumerate(json.loads(setup.scenario)["flows"]):
                who = "kernel" if flow["name"] in setup.kernel else "ours"
                for end, found in both_ends(result, flow["name"], index, is_read=who == "kernel").items():
                    times[who][end].append(found)
        told[str(round(number(rate)))] = {
            who: {end: told_of(np.concatenate([*found, []]), f"{rate}, {who}, {end}") for end, found in ends.items()}
            for who, ends in times.items()
        }
    return told


def told_of(times: NDArray[np.float64], name: str) -> list[float]:
    """Times that stand for all, in microseconds."""
    if not len(times):
        raise LabError(f"{name}: nothing was answered within {1e6 * LONGEST:g} µs")
    micros = 1e6 * times
    print(f"{name}: {len(micros)} times, {micros.mean():.1f} ± {micros.std():.1f} µs", file=sys.stderr, flush=True)
    return [round(1e6 * time, 1) for time in kept(times)]


def main(arguments: Sequence[str] = ()) -> None:
    """Writes the file, or another one that is named."""
    from tailback import _core

    told = measure(dict(_core.kernel_schemes()))
    lines = ",\n".join(f'  "{rate}": {json.dumps(one)}' for rate, one in told.items())
    Path(arguments[0] if arguments else FILE).write_text(f"{{\n{lines}\n}}\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
