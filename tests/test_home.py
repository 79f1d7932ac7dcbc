"""A household behind an access line: every row of the page can be run, and what it is made of is what it says."""

import sys
from pathlib import Path

import polars as pl
import pytest

import tailback as tb
from tools import write_home
from tools.home import LINES, MEASURES, QUEUES, measured, orbit_steps, scenario


@pytest.mark.parametrize("line", LINES)
def test_every_row_is_a_scenario(line: str) -> None:
    for queue in QUEUES:
        scenario(line, queue, 1, 30).check()


def test_only_shaped_lines_have_a_shaper() -> None:
    rates = {line: scenario(line, "CAKE", 1, 30).to_dict()["topology"]["queue"].get("rate") for line in LINES}
    assert rates == {"cable": "95000 kbit/s", "cellular": None, "low orbit": None, "geostationary": "23750 kbit/s"}


def test_orbits_change_every_quarter_of_a_minute() -> None:
    steps = orbit_steps(1, 60, (50, 150))
    assert [step["at"] for step in steps[::2]] == ["12 s", "27 s", "42 s", "57 s"]
    assert all(step["rate"] == "0 bit/s" for step in steps[::2])
    rates = [float(step["rate"].split()[0]) for step in steps[1::2]]
    assert len(set(rates)) == len(rates)
    assert all(50_000 <= rate <= 150_000 for rate in rates)
    assert steps != orbit_steps(2, 60, (50, 150))


def test_a_call_hears_of_the_queue() -> None:
    plain, cake = (measured(("cable", queue, 1, 19)) for queue in ("drop-tail", "CAKE"))
    assert set(MEASURES) <= set(plain)
    # Milliseconds: the drop-tail buffer alone is 240 of them, the path of the call 20 to 50.
    late, soon = 150, 60
    assert plain["call_p99"] > late
    assert cake["call_p99"] < soon
    assert plain["game_p99"] > 3 * cake["game_p99"]
    assert plain["backup"] > 15
    assert cake["backup"] > 12


def test_cake_forgives_one_overflow() -> None:
    """The first slow start overflows the buffer, so that BLUE begins to drop. A flow that answers has the link again soon."""
    topology = {"template": "dumbbell", "rate": "50 Mbit/s", "delay": "15 ms", "queue": "cake"}
    flows = [{"scheme": "cubic"}]
    one = tb.Scenario.of({"duration": "60 s", "warm_up": "20 s", "topology": topology, "flows": flows})
    link = one.run().links.row(0, named=True)
    assert link["dropped_packets"] > 0
    assert link["utilization"] > 0.9


def test_a_look_leaves_the_documentation_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {file: file.read_bytes() for file in (write_home.PAGE, write_home.FIGURE, write_home.CELLS)}
    table = pl.DataFrame(
        [
            {"line": line, "queue": queue, "measure": name, "mean": 1.0, "half_width": 0.1}
            for line in LINES
            for queue in QUEUES
            for name in MEASURES
        ]
    )
    monkeypatch.setattr(write_home, "measure", lambda *_: table)
    monkeypatch.setattr(write_home, "intervals", lambda found: found)
    monkeypatch.setattr(sys, "argv", ["write_home", "--quick"])
    monkeypatch.chdir(tmp_path)
    write_home.main()
    assert before == {file: file.read_bytes() for file in before}
    assert "1.00 ± 0.10" in (tmp_path / "out" / "home" / "home.md").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "home" / "_static" / "home.svg").exists()
