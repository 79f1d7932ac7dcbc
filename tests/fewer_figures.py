"""Reports with fewer figures than they have, for tests of something else: to draw is most of what a report costs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tailback.report import sweep
from tailback.report.drawn import Drawn


def leave(monkeypatch: pytest.MonkeyPatch, chosen: Callable[[list[Drawn]], list[Drawn]]) -> None:
    """From now on a report of a result or of a sweep has of its figures those that are ``chosen``."""
    for which in ("figures_of_sweep", "figures_of_result"):
        every = getattr(sweep, which)
        monkeypatch.setattr(sweep, which, lambda *of, every=every: chosen(every(*of)))
