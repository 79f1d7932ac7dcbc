"""A model of an MPEG coder: groups of I, P and B frames of bursty sizes, and what their pictures are worth at a given number of
bits and with losses. Networks are the item ``video``'s business.

Quality is in dB of peak signal to noise: ``ANCHOR`` at the bits that a group's content needs, ``SLOPE`` more or less for every
doubling of bits, ``CONCEALED`` for a frame that lost a packet and for all frames predicted from it: those up to the group's
end after an I or P frame, none after a B frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PATTERN = "IBBPBBPBBPBB"
"""A group of pictures."""
WEIGHTS = np.array([{"I": 5.0, "P": 2.0, "B": 1.0}[kind] for kind in PATTERN])
"""Relative sizes of its frames at one quantiser."""
SHARES = WEIGHTS / WEIGHTS.sum()
GROUP = 0.5
"""Seconds per group: 24 frames per second."""
ANCHOR, SLOPE, WORST, BEST, CONCEALED = 36.0, 5.0, 24.0, 45.0, 18.0
"""dB."""
JITTER = 0.25
"""Standard deviation of the logarithm of a frame's size."""
SCENE = 0.08
"""Chance that a group begins a new scene."""
SPREAD = 0.35
"""Standard deviation of the logarithm of scenes' complexity."""


class Film(NamedTuple):
    """What one source shows."""

    complexity: NDArray[np.float64]
    """Per group: bits needed for the anchor's quality, relative to the mean."""
    frames: NDArray[np.float64]
    """Per group and frame: the part of the group's bits."""


def film(groups: int, rng: np.random.Generator) -> Film:
    """A film of scenes: complexity is constant in a scene but for a little noise, frames vary around the pattern."""
    scene = rng.random(groups) < SCENE
    scene[0] = True
    drawn = rng.normal(0.0, SPREAD, groups)
    level = drawn[np.maximum.accumulate(np.where(scene, np.arange(groups), 0))]
    complexity = np.exp(level + rng.normal(0.0, 0.05, groups) - 0.5 * SPREAD**2)
    frames = SHARES * np.exp(rng.normal(0.0, JITTER, (groups, len(PATTERN))))
    return Film(complexity, frames / frames.sum(axis=1, keepdims=True))


def quality(bits: NDArray[np.float64], needed: NDArray[np.float64]) -> NDArray[np.float64]:
    """dB of groups coded in so many bits that would need so many for the anchor's quality."""
    ratio = np.maximum(bits, 1.0) / needed
    return np.clip(ANCHOR + SLOPE * np.log2(ratio), WORST, BEST)


def with_losses(coded: NDArray[np.float64], hit: NDArray[np.bool_]) -> NDArray[np.float64]:
    """dB of every frame (groups × frames) whose group is coded at so many dB, where ``hit`` says which lost a packet."""
    anchors = np.array([kind in "IP" for kind in PATTERN])
    spoilt = np.logical_or.accumulate(hit & anchors, axis=1) | hit
    return np.where(spoilt, CONCEALED, coded[:, None])
