"""The Rust template stands alone: the manifest that the documentation gives it names all that it uses."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_manifest_of_the_page_names_what_the_template_uses() -> None:
    page = (ROOT / "docs" / "custom-controller.md").read_text(encoding="utf-8")
    block = re.search(r"```toml\n(\[package\].*?)```", page, re.DOTALL)
    assert block is not None
    manifest = tomllib.loads(block[1])
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    assert manifest["package"]["edition"] == workspace["edition"]
    used = re.findall(r"^use (\w+)", (ROOT / "crates/scenario/examples/custom_scheme.rs").read_text(), re.MULTILINE)
    outside = {name.replace("_", "-") for name in used} - {"std", "core"}
    assert outside == set(manifest["dependencies"])
    for dependency in manifest["dependencies"].values():
        assert (ROOT / dependency["path"].removeprefix("../tailback/") / "Cargo.toml").is_file()
