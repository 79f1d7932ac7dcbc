"""A run with custom parts in it: whatever they raise becomes a :class:`PartError`. Registering parts is the business of
``registry.py``."""

from __future__ import annotations

from collections.abc import Callable

from tailback import _core
from tailback.custom.registry import explained, has_parts
from tailback.errors import PartError, TailbackError


def run(
    scenario: str,
    seed: int | None = None,
    progress: Callable[[float], object] | None = None,
    memory: int | None = None,
) -> _core.Result:
    """Simulates a scenario written as JSON, as :func:`tailback._core.run` does.

    Raises:
        ScenarioError: where the scenario makes no sense.
        PartError: where a custom part raised something or answered what is not allowed; what was raised is the cause.
    """
    others: list[BaseException] = []
    try:
        return _core.run(scenario, seed=seed, progress=progress and _kept(progress, others), memory=memory)
    except (TailbackError, KeyboardInterrupt):
        raise
    # Whatever it is, SystemExit too: it ends this run and nothing else.
    except BaseException as error:
        if any(error is other for other in others) or not has_parts():
            raise
        raise PartError(explained(error)) from error


def _kept(progress: Callable[[float], object], others: list[BaseException]) -> Callable[[float], object]:
    """Who follows the progress, whose errors are no part's."""

    def follow(share: float) -> None:
        try:
            progress(share)
        except BaseException as error:
            others.append(error)
            raise

    return follow
