"""What a result was made with: the versions that have a say in its numbers."""

from __future__ import annotations

import platform
from functools import lru_cache
from importlib import metadata


@lru_cache(maxsize=1)
def _found() -> tuple[tuple[str, str], ...]:
    names = ("tailback", "numpy", "polars")
    found = [("python", platform.python_version())]
    for name in names:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, "unknown"))
    return tuple(sorted(found, key=lambda pair: pair[0] != "tailback"))


def versions() -> dict[str, str]:
    """Versions by name, Tailback's own first."""
    return dict(_found())
