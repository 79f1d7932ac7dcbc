"""The search that corrects by runs what theory misses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tailback import tuning_runs
from tailback.tuning import Tuned
from tailback.tuning_runs import Round, corrected


def searched(found: Tuned, carried: Callable[[float], float], monkeypatch: pytest.MonkeyPatch) -> list[Round]:
    """What a search tries where runs would carry this with a probability."""
    monkeypatch.setattr(tuning_runs, "_round", lambda tuned, *_: Round(tuned, carried(tuned.rho.max_p)))
    return corrected(found, [1])


@pytest.mark.parametrize("factor", [0.1, 0.5, 1.0, 2.0, 10.0])
def test_the_search_ends_near_the_target(one_tuned: Tuned, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    right = one_tuned.rho.max_p * factor
    rounds = searched(one_tuned, lambda max_p: 0.95 - 0.05 * np.log(max_p / right), monkeypatch)
    assert abs(rounds[-1].missed) <= tuning_runs.ENOUGH
    assert len(rounds) <= 1 + tuning_runs.ROUNDS
    assert (len(rounds) == 1) == (factor == 1.0)


def test_the_search_closes_in_between_what_is_too_little_and_too_much(
    one_tuned: Tuned, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = one_tuned.rho.max_p / 3.0
    rounds = searched(one_tuned, lambda max_p: 0.95 - 0.08 * np.tanh(8.0 * np.log(max_p / right)), monkeypatch)
    assert abs(rounds[-1].missed) <= 0.08
    tried = [one.tuned.rho.max_p for one in rounds]
    assert min(tried) < right < max(tried)
    assert abs(np.log(tried[-1] / right)) < abs(np.log(one_tuned.rho.max_p / right))


def test_the_search_ends_where_rarer_marks_carry_less(one_tuned: Tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    top = one_tuned.rho.max_p / 1.5
    rounds = searched(one_tuned, lambda max_p: 0.9 - 0.01 * np.log(max_p / top) ** 2, monkeypatch)
    assert len(rounds) < 1 + tuning_runs.ROUNDS
    assert rounds[-1].carried == max(one.carried for one in rounds)


def test_a_target_is_not_bought_with_losses(one_tuned: Tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    start = one_tuned.rho.max_p

    def run(found: Tuned, *_: object) -> Round:
        rarer = float(np.log(start / found.rho.max_p))
        return Round(found, 0.90 + 0.02 * rarer, 0.03 if rarer > 1.0 else 0.001)

    monkeypatch.setattr(tuning_runs, "_round", run)
    rounds = corrected(one_tuned, [1])
    assert [one.lost > tuning_runs.MOST_LOST for one in rounds].count(True) <= 1
    assert rounds[-1].lost <= tuning_runs.MOST_LOST
    assert rounds[-1].carried == max(one.carried for one in rounds if one.lost <= tuning_runs.MOST_LOST)


def test_the_search_ends_where_every_packet_is_marked(one_tuned: Tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = searched(one_tuned, lambda max_p: 0.99 - 1e-4 * np.log(max_p), monkeypatch)
    assert max(one.tuned.rho.max_p for one in rounds) == 1.0
    assert rounds[-1].carried == 0.99


def test_no_round_beyond_those_allowed(one_tuned: Tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning_runs, "_round", lambda tuned, *_: Round(tuned, 0.5 - 1e-3 * tuned.rho.max_p))
    counted: list[int] = []
    rounds = corrected(one_tuned, [1], rounds=2, done=lambda: counted.append(1))
    assert len(rounds) == len(counted) == 3
