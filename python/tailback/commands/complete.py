"""What a shell completes: names of schemes, queues, sources, and items of the ledger. Files are the shell's own affair."""

from __future__ import annotations

from collections.abc import Iterable


def _matching(names: Iterable[str], begun: str) -> list[str]:
    return [name for name in names if name.startswith(begun)]


def schemes(incomplete: str) -> list[str]:
    """Names of schemes."""
    return _registered("schemes", incomplete)


def queues(incomplete: str) -> list[str]:
    """Names of queue disciplines."""
    return _registered("queues", incomplete)


def sources(incomplete: str) -> list[str]:
    """Names of sources."""
    return _registered("sources", incomplete)


def items(incomplete: str) -> list[str]:
    """Items that are built, papers, and ``all``."""
    from tailback.papers import ledger

    names = ["all", *(paper.id for paper in ledger.papers()), *(claim.id for claim in ledger.claims() if claim.built)]
    return _matching(names, incomplete)


def _registered(kind: str, incomplete: str) -> list[str]:
    from tailback.commands.registry import entries

    return _matching((entry["name"] for entry in entries(kind)), incomplete)
