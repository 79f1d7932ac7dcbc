"""What lies in a folder: a result or a sweep. How each is written and read is in the ``store.py`` of its kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tailback.calls import checked_call
from tailback.errors import StorageError
from tailback.paths import isfile, why_not
from tailback.results.files import path_of

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.sweeps import Runs


@checked_call
def load(folder: str | Path, *, trust: bool = False) -> Result | Runs:
    """The result or the sweep that was saved in a folder, in this version or an earlier one.

    Args:
        folder: where it was saved.
        trust: whether files are read that have changed since; they may say anything.

    Raises:
        StorageError: where there is neither, it is damaged or of a newer version, or a file has changed.
    """
    from tailback.results.store import ABOUT as RESULT
    from tailback.results.store import load as load_result
    from tailback.sweeps.store import ABOUT as SWEEP
    from tailback.sweeps.store import load as load_sweep

    place = path_of("folder", folder)
    if isfile(place / SWEEP):
        return load_sweep(place, trust=trust)
    if isfile(place / RESULT):
        return load_result(place, trust=trust)
    if isfile(place) and place.suffix == ".toml":
        raise StorageError(
            f"{place}: results and sweeps are folders; `tailback run` and tb.Scenario.from_toml read a scenario"
        )
    nothing = "holds neither a result nor a sweep; `tailback run` and `tailback sweep` write them"
    # In a folder that may not be searched, files are there or not.
    raise StorageError(f"{place}: {why_not(place / RESULT, nothing)}")
