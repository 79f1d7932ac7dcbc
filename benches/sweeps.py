"""What a sweep costs beyond its runs: the wall time of 400 short runs as a sweep on two cores, less what the runs took, and
beside the same runs with nothing around them. Speed of single runs is measured in `compare.py`.

    python -m benches.sweeps
"""

import json
import resource
import subprocess
import sys
import tempfile
import time

import tailback as tb
from tailback import _core

RUNS, SEEDS, JOBS = 400, 10, 2
DURATION = "80 s"
"""Simulated: about 0.1 s of a core per run."""


def base() -> tb.Scenario:
    """Sixteen flows over one bottleneck."""
    made = tb.dumbbell(rate="32 Mbit/s", delay="20 ms", duration=DURATION, warm_up="2 s")
    return made.with_flows(tb.flows(8, "reno"), tb.flows(8, "cubic"))


def buffers() -> list[str]:
    """The swept values."""
    return [f"{10 + place} packets" for place in range(RUNS // SEEDS)]


def bare(part: int) -> float:
    """Seconds of a process that makes every `JOBS`-th run and nothing else."""
    runs = [(base().replace(buffer=buffer).to_json(), seed) for buffer in buffers() for seed in range(1, SEEDS + 1)]
    began = time.perf_counter()
    for scenario, seed in runs[part::JOBS]:
        _core.run(scenario, seed=seed)
    return time.perf_counter() - began


def both_bare() -> list[float]:
    """Seconds of as many bare processes as the sweep has, side by side."""
    command = [sys.executable, "-m", "benches.sweeps", "--bare"]
    started = [
        subprocess.Popen([*command, str(part)], stdout=subprocess.PIPE, text=True)  # One line: the pipe never fills.
        for part in range(JOBS)
    ]
    return [float(process.communicate()[0]) for process in started]


def own_cpu() -> float:
    """CPU seconds of this process, user and system, without those of others that it began."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Prints both, and what follows."""
    alone = sum(both_bare())
    scenario = base()  # Types are imported by now, as in any session.
    with tempfile.TemporaryDirectory() as folder:
        began, used = time.perf_counter(), own_cpu()
        runs = scenario.sweep(buffer=buffers(), seeds=SEEDS, jobs=JOBS, cache=folder)
        wall, parent = time.perf_counter() - began, own_cpu() - used
    assert runs.failed.is_empty()
    within = sum(runs.table["wall"])
    told = {
        "runs": RUNS,
        "sweep_wall_s": wall,
        "ms_per_run": within / RUNS * 1e3,
        "overhead_ms_per_run": (JOBS * wall - within) / RUNS * 1e3,
        # What this process itself did, whatever else the machine had to do.
        "parent_cpu_ms_per_run": parent / RUNS * 1e3,
        "busy": within / (JOBS * wall),
        # Against a machine that does nothing else but the same runs, which it may do faster or slower at another minute.
        "bare_ms_per_run": alone / RUNS * 1e3,
        "overhead_against_bare_ms_per_run": (JOBS * wall - alone) / RUNS * 1e3,
    }
    print(json.dumps({name: round(value, 4) for name, value in told.items()}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bare"]:
        print(bare(int(sys.argv[2])))
    else:
        main()
