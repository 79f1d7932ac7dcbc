"""The smallest scenario that still does something, found by trying ever smaller ones. What is smaller is said in
``smaller.py``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tailback import _core
from tailback.shrinking.smaller import Data, smaller


def shrink(
    data: Mapping[str, Any],
    still: Callable[[str], bool],
    tries: int = 1000,
    told: Callable[[int], object] | None = None,
) -> Data:
    """The smallest scenario found, as plain data without defaults.

    Args:
        data: the scenario to begin with, of which ``still`` is true.
        still: whether a scenario, as JSON, does what is looked for; asked of such alone that make sense.
        tries: how often it is asked at most.
        told: called with the number of questions after each.
    """
    best: Data = json.loads(_core.lean(_core.canonical(json.dumps(dict(data)))))
    asked, found = 0, True
    seen = {json.dumps(best, sort_keys=True)}
    while found and asked < tries:
        found = False
        for candidate in smaller(best):
            text = json.dumps(candidate, sort_keys=True)
            if text in seen:
                continue
            seen.add(text)
            if _core.check(text):
                continue
            asked += 1
            holds = still(text)
            if told:
                told(asked)
            if holds:
                best, found = candidate, True
                break  # From here on: what could go before may go now too.
            if asked >= tries:
                break
    return best
