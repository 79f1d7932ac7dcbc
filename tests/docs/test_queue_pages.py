"""The documentation's pages of disciplines can be made: `make docs` writes and draws one for each."""

import json
import sys
from pathlib import Path

import pytest

from tailback import _core

EXTENSIONS = Path(__file__).resolve().parents[2] / "docs" / "_ext"


def test_pages_of_disciplines_have_a_picture_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one with several states, of one with none, and of one whose load is its own."""
    monkeypatch.setattr(sys, "path", [str(EXTENSIONS), *sys.path])
    import queue_pages  # type: ignore[import-not-found]  # It lies beside the pages, and in no package.

    queues = json.loads(_core.registry())["queues"]
    known = [entry for entry in queues if entry["name"] in {"drop-tail", "pie", "token-bucket"}]
    queue_pages.write(known, tmp_path / "queues", lambda _: "")
    for entry in known:
        name = entry["name"]
        assert f"{name}.svg" in (tmp_path / "queues" / f"{name}.md").read_text()
        assert (tmp_path / "queues" / f"{name}.svg").stat().st_size > 10_000
    index = (tmp_path / "queues" / "index.md").read_text()
    assert index.count(".md)") == len(known)
