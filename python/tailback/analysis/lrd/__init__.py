"""Long-range dependence: generators of known H, estimators of H, and how predictable traffic is at which time scale.
Pictures of them are drawn in ``plot/lrd.py``.

    >>> import numpy as np
    >>> from tailback.analysis import lrd
    >>> noise = lrd.fractional_noise(0.8, 1 << 14, np.random.default_rng(1))
    >>> round(lrd.local_whittle(noise).hurst, 1)
    0.8

A whole trace at once: ``lrd.study(lrd.read_trace("trace.pcapng"))``, which is what ``tailback lrd`` does.
"""

from tailback.analysis.lrd.bursts import hurst_of, m_g_infinity, on_off
from tailback.analysis.lrd.dfa import dfa
from tailback.analysis.lrd.estimate import Estimate
from tailback.analysis.lrd.fractional_noise import autocovariance, fractional_noise
from tailback.analysis.lrd.levels import edges, quantise
from tailback.analysis.lrd.prediction import Prediction, Table, counted, predict
from tailback.analysis.lrd.rescaled_range import rescaled_range
from tailback.analysis.lrd.spectrum import local_whittle, log_periodogram, periodogram
from tailback.analysis.lrd.study import Study, study
from tailback.analysis.lrd.time_scales import by_time_scale
from tailback.analysis.lrd.trace import Trace, read_trace
from tailback.analysis.lrd.variance_time import variance_time
from tailback.analysis.lrd.wavelet import wavelet

__all__ = [
    "Estimate",
    "Prediction",
    "Study",
    "Table",
    "Trace",
    "autocovariance",
    "by_time_scale",
    "counted",
    "dfa",
    "edges",
    "fractional_noise",
    "hurst_of",
    "local_whittle",
    "log_periodogram",
    "m_g_infinity",
    "on_off",
    "periodogram",
    "predict",
    "quantise",
    "read_trace",
    "rescaled_range",
    "study",
    "variance_time",
    "wavelet",
]
