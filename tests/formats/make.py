"""Makes the small result and sweep that `test_formats.py` reads, once per version of the format: a folder that is there is
never made again, for it stands for what users have on their disks.

    python -m tests.formats.make
"""

from pathlib import Path

import tailback as tb
from tailback.results.store import FORMAT
from tailback.sweeps.store import FORMAT as SWEEP_FORMAT

HERE = Path(__file__).parent


def scenario() -> tb.Scenario:
    """Two seconds of everything that results can hold."""
    files = {"name": "files", "size": {"name": "constant", "value": "10 kB"}}
    made = tb.dumbbell(
        rate="2 Mbit/s", delay="10 ms", buffer="10 packets", duration="2 s", warm_up="200 ms", name="small"
    )
    flows = (tb.flows(1, "cubic"), tb.flows(1, "sack", files, name="pages"))
    return made.replace(record={"packets": True, "state": True, "bin": "100 ms"}).with_flows(*flows)


if __name__ == "__main__":
    if not (result := HERE / f"result-{FORMAT}").exists():
        scenario().run(seed=1).save(result)
    if not (sweep := HERE / f"sweep-{SWEEP_FORMAT}").exists():
        scenario().sweep(buffer=["5 packets", "20 packets"], seeds=2).save(sweep)
