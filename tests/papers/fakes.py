"""Items made for tests, and their reproduction. No tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tailback.papers import ledger, reproduce
from tailback.papers.item import Check, Fidelity, Outcome, Parameter
from tailback.papers.lab import Lab


class Fake:
    """An item made for a test."""

    def __init__(self, measured: Any, holds: bool | None = True, **more: Any) -> None:
        self.measured, self.holds, self.more = measured, holds, more

    def parameters(self, fidelity: Fidelity) -> Sequence[Parameter]:
        """Some parameters."""
        return (Parameter("fidelity", fidelity, "inferred", "for the test"),)

    def measure(self, lab: Lab) -> Outcome:
        """Some measurement, in the pool."""
        squares = lab.map(square, [1, 2, 3])
        if isinstance(self.measured, Exception):
            raise self.measured
        data = pl.DataFrame({"x": [1, 2, 3], "square": squares})
        check = Check("squares", str(squares), "[1, 4, 9]", self.holds)
        return Outcome(self.measured, [check], data, {"x": "s"}, "made up", **self.more)

    def draw(self, outcome: Outcome) -> Any:
        """Some figure."""
        from tailback.plot import figure

        made, (axis,) = figure()
        axis.plot(outcome.data["x"], outcome.data["square"])
        return made


def square(number: int) -> int:
    return number * number


def claims(monkeypatch: pytest.MonkeyPatch, **items: Fake) -> list[ledger.Claim]:
    made = [ledger.Claim(f"pcc/{name}", name, "§0", "set-up", ("value",), "always", {"value": 1.5}) for name in items]
    monkeypatch.setattr(ledger.Claim, "item", lambda claim: items[claim.id.split("/")[1]])
    return made


def run(claims: Sequence[ledger.Claim], out: Path) -> dict[str, reproduce.Verdict]:
    verdicts = reproduce.reproduce(claims, "quick", out, jobs=1, show_progress=False)
    return {verdict.claim.id: verdict for verdict in verdicts}
