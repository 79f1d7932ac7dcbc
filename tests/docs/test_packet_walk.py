"""The walk through the code names files and functions that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WALK = (ROOT / "docs" / "packet-walk.md").read_text(encoding="utf-8")
FILES = sorted(set(re.findall(r"`((?:crates|python)/[\w/.-]+\.(?:rs|py))`", WALK)))


def test_files_exist() -> None:
    assert FILES
    assert [name for name in FILES if not (ROOT / name).is_file()] == []


def test_functions_exist() -> None:
    code = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in FILES)
    named = re.findall(r"`([A-Z]\w+)::([a-z]\w+)`", WALK)
    assert named
    missing = [f"{owner}::{name}" for owner, name in named if not re.search(rf"\bfn {name}\b", code)]
    assert missing == []
    owners = {owner for owner, _ in named}
    assert [owner for owner in sorted(owners) if not re.search(rf"\b(?:struct|enum|trait) {owner}\b", code)] == []
