"""The network of Figure 5 of Li and Mills as the library has it, beside its second writing, for tools/write_tdqm.py. Processes
of a pool import what they run, so that it cannot be in the program that is started."""

from tailback.analysis import mean_interval
from tailback.papers.lab import Lab
from tailback.papers.tdqm import readings
from tests.newark_network_by_paper import Seen, World


def world(seed: int) -> Seen:
    """The second writing of the paper, a minute long."""
    return World(seed).run(readings.SECONDS, readings.WARM_UP)


def second(lab: Lab, seeds: int) -> list[list[str]]:
    """The network of Figure 5 as the library has it, and as it was written a second time."""
    ours = lab.map(readings.simulate, [readings.Run(seed=seed) for seed in range(1, seeds + 1)])
    theirs = lab.map(world, range(1, seeds + 1))
    rows = {
        "this library": [(one.utilization, one.queue, 100 * one.loss) for one in ours],
        "the second writing": [(one.rho, one.queue, 100 * one.loss) for one in theirs],
    }
    return [
        [name, *(str(mean_interval(column)) for column in zip(*values, strict=True))] for name, values in rows.items()
    ]
