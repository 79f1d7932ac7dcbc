"""Theory beside the simulator: queueing formulas, TCP throughput models, fairness and confidence intervals.

Nothing here runs a simulation. Everything takes and returns plain numbers and NumPy arrays in base units (seconds,
bits per second, bytes), so that it can be used on any data.
"""

from tailback.analysis.confidence import Interval, batch_means, mean_interval, paired_interval
from tailback.analysis.fairness import epsilon_fairness, jain, product_measure
from tailback.analysis.queueing import MD1, MG1, MM1n, md1, mg1, mm1n, penalised_throughput
from tailback.analysis.tcp import pftk, pftk_simple, square_root, tcp_friendly_rate

__all__ = [
    "MD1",
    "MG1",
    "Interval",
    "MM1n",
    "batch_means",
    "epsilon_fairness",
    "jain",
    "md1",
    "mean_interval",
    "mg1",
    "mm1n",
    "paired_interval",
    "penalised_throughput",
    "pftk",
    "pftk_simple",
    "product_measure",
    "square_root",
    "tcp_friendly_rate",
]
