"""Many runs: a grid or list over scenario fields, schemes and seeds, run on all cores or on any executor, cached and
resumable, with confidence intervals. One run is the business of ``tailback.run``."""

from tailback.sweeps.design import Variant, grid
from tailback.sweeps.runs import Runs
from tailback.sweeps.sweep import compare, sweep

__all__ = ["Runs", "Variant", "compare", "grid", "sweep"]
