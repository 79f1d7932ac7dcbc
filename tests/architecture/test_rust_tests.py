"""``make cargo-test`` fails where a program of tests fails, hangs, or runs no tests: a tool that is silent there would hide all of
them."""

from __future__ import annotations

import json
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.test_checkers import load

tool = load("run_rust_tests")


def program(folder: Path, words: str) -> Any:
    """One that does what these words of the shell say."""
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{words}\n", encoding="utf-8")
    path.chmod(0o755)
    return tool.Program(path, folder, tool.ROOT / "crates" / "core" / "src" / "lib.rs", True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("echo 'running 0 tests'; echo; echo 'test result: ok. 0 passed'", None),
        ("echo; echo 'test result: FAILED. 0 passed; 1 failed'; exit 101", "failed, exit status 101"),
        ("echo 'test one ... '; exec sleep 20", "failed, still running after 0.5 s, and stopped"),
        ("exit 0", "failed, it ran no tests, and does not say that there are none"),
        ("echo; echo 'test result: ok.'; kill -9 $$", "failed, exit status -9"),
    ],
    ids=["good", "failing", "hanging", "empty", "killed"],
)
def test_what_becomes_of_a_program_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, said: str | None
) -> None:
    assert tool.succeeds(program(tmp_path, words), threading.Lock(), 0.5) == (said is None)
    out = capsys.readouterr().out
    assert out.startswith("     Running crates/core/src/lib.rs (program)\n")
    assert out.rstrip().endswith(f"(program): {said}" if said else "test result: ok. 0 passed")
    if "test one" in words:
        assert "test one ... " in out, "what it was at is the first thing to know"


def test_one_that_fails_stops_none_behind_it(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    wanted = [
        program(tmp_path / "first", "exit 1"),
        program(tmp_path / "second", "touch ran; echo; echo 'test result: ok.'"),
    ]
    assert not tool.all_succeed(wanted, threading.Lock())
    assert (tmp_path / "second" / "ran").exists()


GOOD, BAD = "echo; echo 'test result: ok.'", "exit 1"


@pytest.mark.parametrize("failing", ["waits", "computes", "documented", None])
def test_any_failure_is_that_of_the_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failing: str | None) -> None:
    found = []
    for name in ("waits", "computes"):
        (tmp_path / name).mkdir()
        words = BAD if name == failing else GOOD
        found.append(replace(program(tmp_path / name, words), waits=name == "waits"))
    monkeypatch.setattr(tool, "programs", lambda: found)
    monkeypatch.setattr(tool, "CARGO", ["false" if failing == "documented" else "true"])
    with pytest.raises(SystemExit) as ended:
        tool.main()
    assert ended.value.code == (failing is not None)


def built(monkeypatch: pytest.MonkeyPatch, *told: dict[str, object], status: int = 0) -> None:
    """Lets cargo say that it has built these."""
    lines = "\n".join(json.dumps(each) for each in told)
    done: subprocess.CompletedProcess[str] = subprocess.CompletedProcess([], status, lines)
    monkeypatch.setattr(tool.subprocess, "run", lambda *_, **__: done)


def test_no_program_at_all_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    built(monkeypatch, {"reason": "build-finished", "success": True})
    with pytest.raises(SystemExit, match="no program of tests"):
        tool.programs()
    built(monkeypatch, status=101)
    with pytest.raises(SystemExit) as ended:
        tool.programs()
    assert ended.value.code == 101


def test_programs_of_real_sockets_are_told_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def artifact(crate: str, kind: str, executable: str | None, *, is_test: bool = True) -> dict[str, object]:
        folder = tool.ROOT / "crates" / crate
        target = {"src_path": str(folder / "tests" / "all.rs"), "kind": [kind]}
        profile = {"test": is_test}
        said = {"manifest_path": str(folder / "Cargo.toml"), "executable": executable, "target": target}
        return {"reason": "compiler-artifact", "profile": profile, **said}

    built(
        monkeypatch,
        artifact("net", "test", "/target/all-1"),
        artifact("net", "lib", "/target/net-1"),
        artifact("sim", "test", "/target/all-2"),
        artifact("sim", "lib", None),
        artifact("sim", "example", "/target/perf", is_test=False),
    )
    assert {(found.path.name, found.waits) for found in tool.programs()} == {
        ("all-1", True),
        ("net-1", False),
        ("all-2", False),
    }
