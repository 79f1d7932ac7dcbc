"""How long the result of a run of 10 000 s with bins of 10 ms takes from its folder into pandas, imports excluded.

python -m benches.loading
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tailback as tb

TABLES = ("flow_series", "link_series")


def save(folder: Path) -> None:
    """Two flows and two directions of the bottleneck: two million rows in each table."""
    base = tb.dumbbell(rate="2 Mbit/s", delay="20 ms", duration="10000 s", record={"bin": "10 ms"})
    base.with_flows(tb.flows(1, "cubic"), tb.flows(1, "reno")).run().save(folder)


def load(folder: Path) -> None:
    """Prints what one loading in this new process takes."""
    import pandas  # noqa: F401 (imports are not what is measured)

    from tailback.results import Result

    wall, cpu = time.perf_counter(), time.process_time()
    result = Result.load(folder)
    frames = [result.to_pandas(name) for name in TABLES]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"rows": sum(map(len, frames)), "wall_s": round(wall, 3), "cpu_s": round(cpu, 3)}))


if __name__ == "__main__":
    if sys.argv[1:]:
        load(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            save(Path(made) / "run")
            for _ in range(3):
                subprocess.run([sys.executable, "-m", "benches.loading", f"{made}/run"], check=True)
