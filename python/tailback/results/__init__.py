"""Results of runs as tidy tables that describe themselves, their metrics, and their way in and out of files."""

from tailback.results.result import Result

__all__ = ["Result"]
