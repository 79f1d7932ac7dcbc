"""Writes the reference vectors of the Kalman filter by filterpy (R. Labbe), an implementation that knows nothing of ours. To be
run by hand, with ``pip install filterpy`` in an environment of its own; its output is checked in."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parent.parent / "crates/control/src/estimators/vectors/kalman.csv"
STEPS = 60
CASES = ((0.25, 1.5), (1e-4, 0.04), (4.0, 0.01))
"""Variances of the service rate's change and of its observation."""


def vectors() -> list[str]:
    """One line per epoch: the case's variances, what was observed, sent and how long it took, then state and covariance."""
    import filterpy
    from filterpy.kalman import KalmanFilter

    rng = np.random.default_rng(39)
    lines = [
        f"# Made by tools/kalman_vectors.py with filterpy {filterpy.__version__}.",
        "system,observation,observed,sent,epoch,queue,rate,before,"
        + ",".join(f"p{row}{column}" for row in range(3) for column in range(3)),
    ]
    for system, observation in CASES:
        kalman = KalmanFilter(dim_x=3, dim_z=1, dim_u=1)
        kalman.x = np.array([[2.0], [1.0], [1.0]])
        kalman.P = np.diag([0.5, 1.0, 2.0])
        kalman.H = np.array([[0.0, 0.0, 1.0]])
        kalman.Q = np.diag([0.0, system, 0.0])
        kalman.R = np.array([[observation]])
        for _ in range(STEPS):
            observed, sent, epoch = rng.uniform(0.2, 3.0), rng.uniform(0.0, 3.0), rng.uniform(0.05, 2.0)
            # What was seen at the end of an epoch is taken in first; then the epoch passes (Keshav 1994, §4.4).
            kalman.update(np.array([[observed]]))
            transition = np.array([[1.0, -epoch, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
            kalman.predict(u=np.array([[sent]]), F=transition, B=np.array([[epoch], [0.0], [0.0]]))
            numbers = [system, observation, observed, sent, epoch, *kalman.x.ravel(), *kalman.P.ravel()]
            lines.append(",".join(repr(float(number)) for number in numbers))
    return lines


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=TARGET)
    parser.parse_args().out.write_text("\n".join(vectors()) + "\n")


if __name__ == "__main__":
    main()
