"""Models of the throughput of a long TCP transfer under a given loss rate and round trip time.

The simulator does not use these: they are what its results are held against, and what equation-based controllers
are described by. All give bits per second for a packet size in bytes and times in seconds. Roots are taken before quotients
with a loss: 1 / loss is no number below 6e-309, its root is one for every loss.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tailback.analysis.arguments import expect_positive
from tailback.calls import checked_call
from tailback.errors import ArgumentError, refused

Floats = NDArray[np.float64]


def _loss(loss: ArrayLike) -> Floats:
    p = np.asarray(loss, dtype=np.float64)
    wrong = p[~((p > 0.0) & (p < 1.0))]
    if wrong.size:
        raise ArgumentError(f"loss: {wrong[0]:g} is not allowed; expected probabilities above 0 and below 1")
    return p


@checked_call
def square_root(loss: ArrayLike, rtt: float, packet: float, *, acked: float = 1.0) -> Floats:
    """The square-root law of Mathis, Semke, Mahdavi and Ott (1997): ``packet / rtt * sqrt(3 / (2 acked loss))``.

    Args:
        loss: probability that a packet is lost.
        rtt: round trip time, in seconds.
        packet: packet size, in bytes.
        acked: packets per acknowledgement; 2 with delayed acknowledgements.

    Raises:
        ValueError: for a loss outside 0 to 1 (or its ends), or others that are not finite and above 0.
    """
    p = _loss(loss)
    expect_positive(rtt=rtt, packet=packet, acked=acked)
    return np.asarray(8.0 * packet / rtt * (np.sqrt(1.5 / acked) / np.sqrt(p)), dtype=np.float64)


@checked_call
def pftk_simple(loss: ArrayLike, rtt: float, packet: float, *, rto: float, acked: float = 1.0) -> Floats:
    """The approximate model of Padhye, Firoiu, Towsley and Kurose (1998), Eq. (33), without a window limit.

    Args:
        loss: probability that a packet starts a loss event.
        rtt: round trip time, in seconds.
        packet: packet size, in bytes.
        rto: first retransmission timeout of a series, in seconds.
        acked: packets per acknowledgement; 2 with delayed acknowledgements.

    Raises:
        ValueError: as :func:`square_root`.
    """
    p = _loss(loss)
    expect_positive(rtt=rtt, packet=packet, rto=rto, acked=acked)
    root = np.sqrt(p)
    timeouts = rto * np.minimum(1.0, 3.0 * np.sqrt(3.0 * acked / 8.0) * root) * p * (1.0 + 32.0 * p**2)
    return np.asarray(8.0 * packet / (rtt * (np.sqrt(2.0 * acked / 3.0) * root) + timeouts), dtype=np.float64)


@checked_call
def pftk(
    loss: ArrayLike,
    rtt: float,
    packet: float,
    *,
    rto: float,
    acked: float = 1.0,
    window_limit: float = np.inf,
) -> Floats:
    """The full model of Padhye, Firoiu, Towsley and Kurose (1998), Eq. (32): sending rate of a Reno transfer.

    Args:
        loss: probability that a packet is lost, given that the one before it in its round was not.
        rtt: round trip time, in seconds.
        packet: packet size, in bytes.
        rto: first retransmission timeout of a series, in seconds.
        acked: packets per acknowledgement; 2 with delayed acknowledgements.
        window_limit: the receiver's window, in packets.

    Raises:
        ValueError: as :func:`square_root`; the window may be infinite.
    """
    p, b = _loss(loss), acked
    expect_positive(rtt=rtt, packet=packet, rto=rto, acked=acked)
    if not window_limit > 0.0:
        raise refused("window_limit", window_limit, "more than 0 packets")
    offset, root = (2.0 + b) / (3.0 * b), np.sqrt(p)
    unlimited = offset + np.sqrt(8.0 * (1.0 - p) / (3.0 * b) + offset**2 * p) / root
    limited = unlimited >= window_limit
    window = np.where(limited, window_limit, unlimited)
    # Probability that a loss indication is a timeout: fewer than three duplicate acknowledgements come back. Powers of 1 - p
    # are taken as 1 plus something, so that the rarest losses leave digits.
    kept = np.log1p(-p)
    with np.errstate(under="ignore"):
        some, beyond, any_lost = (-np.expm1(count * kept) for count in (3.0, window - 3.0, window))
        by_timeout = np.minimum(1.0, some * (1.0 + (1.0 - p) ** 3 * beyond) / any_lost)
    backoff = 1.0 + p + 2.0 * p**2 + 4.0 * p**3 + 8.0 * p**4 + 16.0 * p**5 + 32.0 * p**6
    # Packets and seconds between two losses, both times the root of p.
    between = (1.0 - p) / root
    rounds = np.where(limited, root * (b / 8.0 * window + 2.0) + between / window, root * (b / 2.0 * unlimited + 1.0))
    packets = between + root * (window + by_timeout / (1.0 - p))
    seconds = rtt * rounds + root * by_timeout * rto * backoff / (1.0 - p)
    return np.asarray(8.0 * packet * packets / seconds, dtype=np.float64)


@checked_call
def tcp_friendly_rate(loss: ArrayLike, rtt: float, packet: float) -> Floats:
    """The TCP-friendly rate of Widmer, Mauve and Damm's probabilistic congestion control, Eq. (1).

    ``packet / (rtt * (sqrt(2 l / 3) + 12 sqrt(3 l / 8) l (1 + 32 l**2)))``, which is :func:`pftk_simple` with a
    timeout of four round trip times, one packet per acknowledgement, and without the cut at one; TFRC (RFC 5348)
    uses the same.

    Raises:
        ValueError: as :func:`square_root`.
    """
    p = _loss(loss)
    expect_positive(rtt=rtt, packet=packet)
    per_rtt = np.sqrt(p) * (np.sqrt(2.0 / 3.0) + 12.0 * np.sqrt(3.0 / 8.0) * p * (1.0 + 32.0 * p**2))
    return np.asarray(8.0 * packet / (rtt * per_rtt), dtype=np.float64)
