"""The tables of items on the documentation's pages: an item that was not run keeps its lines."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tailback.papers.item import ChangedTest, Check, Outcome
from tailback.papers.ledger import select
from tailback.papers.reproduce import Verdict
from tools import item_table
from tools.pages import DOCS, between

PAGES = {"accumulation": "", "mtsc": "At full fidelity: ", "probabilistic": "", "tdqm": ""}
"""What stands before the count."""


def marks(page: str) -> tuple[str, str]:
    return f"<!-- items, written by make {page} -->", f"<!-- end of {'' if page == 'tdqm' else 'the '}items -->"


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_is_read_and_written_alike(page: str) -> None:
    text = between(DOCS / f"{page}.md", *marks(page))
    told = list(item_table.entries(text).values())
    assert PAGES[page] + item_table.written(told) == text.strip()


def test_an_item_that_was_run_has_new_lines_and_the_others_keep_theirs(tmp_path: Path) -> None:
    page = tmp_path / "tdqm.md"
    page.write_text((DOCS / "tdqm.md").read_text(encoding="utf-8"), encoding="utf-8")
    before = item_table.entries(between(page, *marks("tdqm")))
    claim = select(["tdqm/rho-loop"])[0]
    check = Check("a claim | with a bar", "1", "2", True)
    outcome = Outcome(
        {}, [replace(check, holds=False)], pl.DataFrame(), {}, "Why.", changed=ChangedTest([check], "Other.")
    )
    item_table.write(page, marks("tdqm"), "tdqm", [Verdict(claim, "full", outcome=outcome)])
    after = item_table.entries(between(page, *marks("tdqm")))
    assert list(after) == list(before)
    assert after.pop(claim.id) == item_table.Entry(
        "fails",
        True,
        (
            "| `tdqm/rho-loop` **fails**; test changed: holds | a claim \\| with a bar | 1 | 2 | **no** |",
            "|  | *Changed test, not counted:* a claim \\| with a bar | 1 | 2 | yes |",
        ),
        ("**tdqm/rho-loop: fails.** Why.", "**tdqm/rho-loop, test changed.** Other."),
    )
    before.pop(claim.id)
    assert after == before


def test_an_item_of_which_nothing_is_known_ends_the_tool(tmp_path: Path) -> None:
    page = tmp_path / "tdqm.md"
    page.write_text("\n".join(marks("tdqm")), encoding="utf-8")
    with pytest.raises(SystemExit, match="tdqm/metrics"):
        item_table.write(page, marks("tdqm"), "tdqm", [])
