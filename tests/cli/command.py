"""The command, run in this process, and the scenario that its tests begin from."""

from __future__ import annotations

from typer.testing import CliRunner

import tailback as tb
from tailback import cli

SCENARIO = """
name = "small"
duration = "5 s"
[topology]
template = "dumbbell"
rate = "5 Mbit/s"
delay = "5 ms"
buffer = "20 packets"
[[flows]]
name = "sack"
count = 2
scheme = "sack"
"""


def tailback(*words: str) -> tuple[int, str, str]:
    """The status that the command exits with, and what it says on both outputs."""
    result = CliRunner().invoke(cli.app, list(words))
    if isinstance(result.exception, tb.TailbackError):
        return 1, result.stdout, f"tailback: {result.exception}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr
