"""Controllers of one's own in the comparison of all schemes: found in their files, and run on the same networks as the others.
What the cells of its table are is tested in ``test_over_seeds.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailback.errors import TailbackError
from tools import comparison

STREAM = """
import tailback as tb

class {name}(tb.Controller):
    def on_feedback(self, now, feedback, cx):
        pass

    def directive(self):
        return tb.Directive(window=10 * self.connection.segment)
"""
DATAGRAM = """
import tailback as tb

class {name}(tb.Controller):
    reliability = "datagram"

    def on_feedback(self, now, feedback, cx):
        pass

    def directive(self):
        return tb.Directive(rate=1e6)
"""
QUEUE = """
import tailback as tb

class {name}(tb.QueueDiscipline):
    def enqueue(self, now, packet, cx):
        cx.drop(packet)

    def dequeue(self, now, cx):
        return None
"""


@pytest.fixture(autouse=True)
def _as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added is added for this test alone."""
    monkeypatch.setattr(comparison, "FAMILIES", {family: dict(each) for family, each in comparison.FAMILIES.items()})
    monkeypatch.setattr(comparison, "DATAGRAMS", set(comparison.DATAGRAMS))


def test_controllers_of_files_run_beside_all_others(tmp_path: Path) -> None:
    before = list(comparison.schemes())
    first, second = tmp_path / "of_comparison_1.py", tmp_path / "of_comparison_2.py"
    first.write_text(STREAM.format(name="TenAtOnce") + QUEUE.format(name="NoneAtAll"), "utf-8")
    second.write_text(DATAGRAM.format(name="OneMegabit"), "utf-8")
    assert comparison.add_own([first, second]) == ["ten-at-once", "one-megabit"]
    assert list(comparison.schemes()) == [*before, "ten-at-once", "one-megabit"]
    assert list(comparison.FAMILIES)[-1] == comparison.OWN

    (row,) = (
        comparison.measure(4, 1, ["ten-at-once", "cubic"], 1)
        .filter(it="ten-at-once", network="10 Mbit/s, 40 ms, 8 BDP")
        .iter_rows(named=True)
    )
    # Ten segments of 1500 bytes per round trip: 36 ms, four times 0.8 to 1.2 ms of access links, and 1.2 ms of transmission. In
    # two seconds there are 49 of them, one more or less.
    assert row["utilization"] == pytest.approx(10 * 12e3 / 0.0412 / 10e6, rel=0.02 + 1 / 49)

    for title, kind in (("ten-at-once", "transport"), ("one-megabit", "datagram")):
        made = comparison.variants(4, [title])
        assert len(made) == 3 * len(comparison.LINKS)
        for variant in made:
            assert variant.scenario is not None
            variant.scenario.check()
            assert kind in variant.scenario.to_dict()["flows"][0]


def test_a_file_without_a_controller_is_told_so(tmp_path: Path) -> None:
    file = tmp_path / "of_comparison_3.py"
    file.write_text(QUEUE.format(name="Nothing"), "utf-8")
    with pytest.raises(
        TailbackError, match=r"of_comparison_3\.py: no controller is in there; expected a subclass of tb"
    ):
        comparison.add_own([file])


def test_a_name_of_the_table_is_not_taken_over(tmp_path: Path) -> None:
    comparison.FAMILIES["of the papers"]["taken-before"] = "reno"
    file = tmp_path / "of_comparison_4.py"
    file.write_text(STREAM.format(name="TakenBefore"), "utf-8")
    with pytest.raises(
        TailbackError, match=r'^taken-before: a scheme has this name; expected .* name = "my-taken-before"'
    ):
        comparison.add_own([file])
    assert comparison.schemes()["taken-before"] == "reno"
