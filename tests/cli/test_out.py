"""Where ``plot`` and ``report`` write to: a folder, which is not called like a file, and is not left empty."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import tailback as tb
from tests.cli.command import tailback


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    link = tb.dumbbell(rate="4 Mbit/s", delay="10 ms", duration="1 s")
    return link.with_flows(tb.flows(1, "reno")).run().save(tmp_path / "saved")


@pytest.mark.parametrize(
    ("words", "name"),
    [(("plot", "overview"), "a.pdf"), (("plot", "overview"), "a.PNG"), (("report",), "page.html")],
)
def test_a_file_in_the_place_of_a_folder_is_refused(saved: Path, words: tuple[str, ...], name: str) -> None:
    """A folder of this name was made, with the figure in it."""
    out = saved.parent / name
    command, *figures = words
    status, _, said = tailback(command, str(saved), *figures, "--out", str(out))
    assert (status, out.exists()) == (1, False)
    assert said.startswith(f"tailback: --out: '{out}' is not allowed; expected a folder, in which ")


def test_a_folder_of_this_name_that_is_there_is_one(saved: Path) -> None:
    out = saved.parent / "b.svg"
    out.mkdir()
    status, said, _ = tailback("plot", str(saved), "queue", "--out", str(out))
    assert (status, said) == (0, f"{out / 'queue.svg'}\n")


@pytest.mark.parametrize("is_there", [True, False])
def test_where_no_figure_can_be_written_no_empty_folder_is_left(
    saved: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    """As on a full disk: the message says that nothing was changed."""

    def full(_: object, target: Path) -> None:
        raise tb.StorageError(f"{target}: cannot be written, no space is left; nothing was changed there")

    out = saved.parent / "figures"
    if is_there:
        out.mkdir()
    monkeypatch.setattr(importlib.import_module("tailback.plot.style"), "save", full)
    status, _, said = tailback("plot", str(saved), "queue", "--out", str(out))
    assert (status, out.exists()) == (1, is_there)
    assert said.endswith("no space is left; nothing was changed there")
