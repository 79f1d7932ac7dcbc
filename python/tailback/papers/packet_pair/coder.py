"""What a coder's frames are worth to a viewer: quality by quantiser, and what losses and skipped frames do to it. The coder
itself is the source ``video``, which runs inside the simulation.

Quality is in dB of peak signal to noise: ``ANCHOR`` at the quantiser ``REFERENCE``, ``SLOPE`` less for every doubling of it, and
``CONCEALED`` for a frame that is not whole in time and for all frames predicted from it (those up to the group's end
after an I or P frame, none after a B frame), and for a frame that the coder skipped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PATTERN = "IBBPBBPBBPBB"
"""A group of pictures."""
FRAME_RATE = 24.0
"""Frames per second."""
GROUP = len(PATTERN) / FRAME_RATE
"""Seconds per group."""
REFERENCE = 8.0
"""The quantiser of ``ANCHOR`` dB."""
ANCHOR, SLOPE, WORST, BEST, CONCEALED = 36.0, 5.0, 24.0, 45.0, 18.0
"""dB."""


def quality(quantiser: NDArray[np.float64]) -> NDArray[np.float64]:
    """dB of frames coded with these quantisers."""
    return np.clip(ANCHOR - SLOPE * np.log2(quantiser / REFERENCE), WORST, BEST)


def seen(coded: NDArray[np.float64], hit: NDArray[np.bool_]) -> NDArray[np.float64]:
    """dB of frames (groups × frames) as they are shown: ``coded`` is not a number for a frame that was skipped, ``hit`` says
    which were not whole in time."""
    anchors = np.array([kind in "IP" for kind in PATTERN])
    spoilt = np.logical_or.accumulate(hit & anchors, axis=1) | hit
    return np.where(spoilt | np.isnan(coded), CONCEALED, coded)
