"""Where a page is written: over nothing but a page, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailback as tb


@pytest.mark.usefixtures("one_figure")
def test_a_report_writes_over_nothing_but_a_report(result: tb.Result, tmp_path: Path) -> None:
    runs = (
        tb.Scenario.model_validate(result.scenario.to_dict())
        .replace(duration="2 s", warm_up="0 s")
        .sweep(buffer=["5 packets"], seeds=1, progress=False)
    )
    (tmp_path / "flows.csv").write_text("mine\n", encoding="utf-8")
    for told in (result, runs):
        with pytest.raises(tb.StorageError, match="exists and holds something else; expected a new or empty folder"):
            told.report(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["flows.csv"]
    assert (tmp_path / "flows.csv").read_text(encoding="utf-8") == "mine\n"
    assert result.report(tmp_path / "one") == runs.report(tmp_path / "one")
    result.save(tmp_path / "kept")
    with pytest.raises(tb.StorageError, match="exists and holds something else"):  # It is ours, and no report.
        result.report(tmp_path / "kept")


def test_a_file_in_the_way_of_a_report_is_told(result: tb.Result, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(tb.StorageError, match="taken: cannot be written"):
        result.report(tmp_path / "taken")
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.usefixtures("one_figure")
def test_a_report_that_is_stopped_leaves_nothing_and_is_in_nobodys_way(
    result: tb.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tailback.report import sweep as pages

    runs = tb.dumbbell(rate="5 Mbit/s", delay="5 ms", duration="2 s").with_flows(tb.flows(2, "cubic")).sweep(seeds=2)

    def stopped(*_: object, **__: object) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(pages, "write_page", stopped)
        for one in (result, runs):
            with pytest.raises(KeyboardInterrupt):
                one.report(tmp_path / "page")
            assert list(tmp_path.iterdir()) == []
    for one, saved in ((result, "result"), (runs, "runs")):
        page = one.report(tmp_path / saved)
        assert page == tmp_path / saved / "index.html"
        # What draws a figure again names the place where the page lies, not where it was made.
        assert f"tailback plot {tmp_path / saved / saved} " in page.read_text(encoding="utf-8")
        assert tb.load(tmp_path / saved / saved) is not None
        (tmp_path / saved / "mine.txt").write_text("kept")
        one.report(tmp_path / saved)
        assert (tmp_path / saved / "mine.txt").read_text() == "kept"
