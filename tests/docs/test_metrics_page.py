"""The table of metrics: every call in it is one that works on the result the page makes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "howto" / "metrics.md").read_text(encoding="utf-8")
CALLS = re.findall(r"`((?:metrics|losses|fairness|dynamics|completion)\.[^`]*\))`", TEXT)


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the page's first block defines."""
    made: dict[str, Any] = {}
    first = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert first is not None
    exec(first[1], made)
    return made


@pytest.mark.parametrize("call", CALLS)
def test_calls_of_the_table_work(names: dict[str, Any], call: str) -> None:
    assert eval(call, names) is not None


def test_every_metric_stands_in_the_table(names: dict[str, Any]) -> None:
    told = {call.split("(", 1)[0] for call in CALLS}
    for module in ("metrics", "losses", "fairness", "dynamics", "completion"):
        for name, thing in vars(names[module]).items():
            public = callable(thing) and getattr(thing, "__module__", "") == names[module].__name__
            if public and not name.startswith("_") and name not in LEFT_OUT:
                assert f"{module}.{name}" in told


LEFT_OUT = {"summary", "delays_of_series", "mean_queue", "coefficient_of_variation", "longest_scale", "by_size"}
"""Those that stand elsewhere, that another one of the table makes several of, or that say what others can be asked for."""
