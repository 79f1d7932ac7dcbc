"""What names the project to the world says the same in every place."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
PYTHON = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def cited(key: str) -> str:
    found = re.search(rf"^{key}: (.+)$", CITATION, re.MULTILINE)
    assert found, key
    return found[1]


def test_one_version_everywhere() -> None:
    assert CARGO["version"] == PYTHON["version"] == cited("version")
    assert f"tailback-{PYTHON['version']}-" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_one_address_everywhere() -> None:
    home = CARGO["repository"]
    assert cited("repository-code") == home
    assert all(url.startswith(home) for url in PYTHON["urls"].values())


def test_one_licence_everywhere() -> None:
    assert CARGO["license"] == PYTHON["license"]
    for name in CARGO["license"].split(" OR "):
        assert f"  - {name}\n" in CITATION
