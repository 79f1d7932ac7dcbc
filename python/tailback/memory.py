"""How much memory runs may take: a share of what this process can have, unless somebody says otherwise. What a scenario
needs, and that a run keeps to its budget, is the core's business."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tailback.errors import refused
from tailback.units import number

SHARE: Final = 0.5
"""Of what this process can have. The rest is for what is not counted: Python, figures, and a moment in which what grows
is there twice."""
VARIABLE: Final = "TAILBACK_MEMORY"
_UNKNOWN: Final = 8 * 10**9
"""Bytes that a machine is taken to have that does not say."""


def budget(asked: str | int | None = None) -> int:
    """The bytes that the runs of this process may take together.

    Args:
        asked: ``"4 GB"``, or a number of bytes; where absent, what the variable ``TAILBACK_MEMORY`` says; else half of what
            this process can have: of the machine's memory, of its control group's, of its address space.

    Raises:
        ArgumentError: where it is no amount of memory.
    """
    name, said = ("memory", asked) if asked is not None else (VARIABLE, os.environ.get(VARIABLE))
    if said is None or said == "":
        return int(SHARE * _available())
    try:
        found = int(number(said, "data")) if isinstance(said, str) else int(said)
    except (ValueError, TypeError, OverflowError):
        found = 0
    if found <= 0 or isinstance(said, bool):
        raise refused(name, said, 'an amount of memory, as in "4 GB", above zero')
    return min(found, 2**63 - 1)


def _available() -> int:
    limits = [_machine(), _control_group(), _address_space()]
    return min(limit for limit in limits if limit is not None)


def _machine() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Not on every system.
        return _UNKNOWN


def _control_group() -> int | None:
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            return int(Path(file).read_text(encoding="ascii"))
        except (OSError, ValueError):  # None of this kind, or without a limit ("max").
            continue
    return None


def _address_space() -> int | None:
    """What is left of the address space that this process may have."""
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        pages = 0
    return max(limit - pages * os.sysconf("SC_PAGE_SIZE"), 1)
