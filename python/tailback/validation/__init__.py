"""Tailback's TCP and queues beside ns-2's figures, row by row.

What ns-2 measured is in ``reference/``; ``settings`` says the same network to Tailback, ``measure`` runs it, ``judge``
applies the tolerances, ``differences`` explains what lies outside them, and ``table`` lays everything out.
"""

from tailback.validation.judge import Comparison, Verdict, compare
from tailback.validation.reference import Row, rows
from tailback.validation.table import frame, markdown, summary
from tailback.validation.validate import run_count, validate

__all__ = ["Comparison", "Row", "Verdict", "compare", "frame", "markdown", "rows", "run_count", "summary", "validate"]
