"""The example of a controller that asks for samples: it fills a link, with a short queue. What samples say is held against
the truth in ``test_wants.py``."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import tailback as tb

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def little_bbr() -> Any:
    """The class."""
    spec = importlib.util.spec_from_file_location("little_bbr", ROOT / "examples" / "little_bbr.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.LittleBbr


def alone(scheme: Any, **changes: Any) -> tb.Result:
    """One flow over the example's link: 10 Mbit/s, 60 ms and a buffer of as much again."""
    base = tb.Scenario.from_toml(ROOT / "examples" / "dumbbell.toml").replace(**changes)
    return base.with_flows(tb.flows(1, scheme)).run()


def test_it_fills_the_link_with_a_short_queue(little_bbr: Any) -> None:
    little, cubic = alone(little_bbr.scheme()), alone("cubic")
    assert little.flows["goodput"][0] > 0.98 * 10e6
    # 0.25 of a round trip time for an eighth of the time, which as long a phase drains; twice that, for the packet's grain.
    assert little.flows["mean_rtt"][0] < 0.0604 * (1 + 2 * 0.25 / 8)
    assert little.links["dropped_overflow_packets"].sum() == 0
    assert cubic.flows["mean_rtt"][0] > 0.0604 * 1.5, "which what follows losses does not"


def test_it_keeps_the_rate_while_it_looks_for_the_round_trip_time(little_bbr: Any) -> None:
    """Ten seconds after the round trip has become longer, four packets per round trip leave for 0.2 s, which are more rounds than
    rates are kept for. As soon as that is over, it sends as before."""
    longer = [{"at": "1 s", "delay": "5.5 ms"}]
    base = tb.dumbbell(rate="100 Mbit/s", delay="5 ms", access={"delay": "0.1 ms"}, duration="14 s", warm_up="1 s")
    one = base.replace(schedule=longer).with_flows(tb.flows(1, little_bbr.scheme())).run()
    received = one.flow_series.filter(one.flow_series["time"] > 5)["received_bytes"]
    slow = (8 * received < 0.9 * 100e6 * 0.1).sum()
    assert 2 <= slow <= 4, "bins of 0.1 s"


def test_random_loss_does_not_move_it(little_bbr: Any) -> None:
    lossy = {"loss": {"name": "independent", "probability": 0.01}}
    little, cubic = alone(little_bbr.scheme(), **lossy), alone("cubic", **lossy)
    assert little.flows["goodput"][0] > 0.9 * 10e6
    assert little.flows["timeouts"][0] == 0
    assert cubic.flows["goodput"][0] < 0.5 * 10e6


def test_a_path_that_changes_is_learned_anew(little_bbr: Any) -> None:
    changes = [{"at": "20 s", "rate": "4 Mbit/s"}, {"at": "40 s", "rate": "10 Mbit/s"}]
    made = alone(little_bbr.scheme(), schedule=changes)
    series = made.flow_series.filter(made.flow_series["flow"] == made.flows["flow"][0])

    def rate(begin: float, end: float) -> float:
        rows = series.filter((series["time"] > begin) & (series["time"] <= end))
        return 8 * float(rows["received_bytes"].sum()) / (end - begin)

    assert rate(25, 40) == pytest.approx(4e6, rel=0.03)
    assert rate(50, 60) > 0.95 * 10e6
