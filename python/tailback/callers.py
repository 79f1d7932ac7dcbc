"""Who called us: which code is of this package, and warnings at the line of the nearest that is not."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

from tailback.errors import TailbackWarning

_HERE = f"{Path(__file__).parent}/"


def is_ours(filename: str) -> bool:
    """Whether a file is of this package."""
    return filename.startswith(_HERE)


def warn(message: str) -> None:
    """Warns of something, at the line that called us: the nearest one that is none of this package's."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, TailbackWarning, stacklevel=level)
