"""What lies at a path, also where this process may not look: the methods of pathlib raise there, and for names that no system has.
Files are read and written elsewhere."""

from __future__ import annotations

import os
from os.path import exists, isdir, isfile
from pathlib import Path

__all__ = ["exists", "isdir", "isfile", "why_not"]


def why_not(path: Path, missing: str = "there is no such file") -> str:
    """Why nothing can be read at a path: nothing is there, or the system's reason; empty where something is."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return missing
    except (OSError, ValueError) as error:
        return f"cannot be read, {getattr(error, 'strerror', None) or error}"
    return ""
