"""What the command line lists: schemes, queues, sources, items, versions, completions and its own help."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import tailback as tb
from tailback.commands import complete
from tailback.results.versions import versions
from tests.cli.command import tailback


@pytest.mark.parametrize(("kind", "known"), [("schemes", "cubic"), ("queues", "red"), ("sources", "files")])
def test_lists_what_there_is(kind: str, known: str) -> None:
    status, out, _ = tailback(kind)
    assert status == 0
    assert known in out
    status, out, _ = tailback(kind, "--json")
    assert known in {json.loads(line)["name"] for line in out.splitlines()}
    status, out, _ = tailback(kind, known, "--json")
    assert json.loads(out)["parameters"]
    status, one, _ = tailback(kind, known)
    assert one.startswith(known)
    parameter = json.loads(out)["parameters"][0]["name"]
    assert parameter in one
    status, _, err = tailback(kind, known + "x")
    assert status == 1
    assert f"did you mean {known}?" in err


def test_a_source_shows_the_distributions_that_it_may_draw_from() -> None:
    _, shown, _ = tailback("sources", "on-off")
    assert "What on and off may be" in shown
    assert re.search(r"pareto +mean, min, shape", shown)
    assert "pareto" not in tailback("sources", "voice")[1]


def test_what_is_a_table_is_shown_with_its_fields() -> None:
    _, shown, _ = tailback("queues", "priority")
    assert re.search(r"^ +classes .*\n(?s:.*)^ +flows +\[\] ", shown, re.MULTILINE)
    assert re.search(r"^ +lane +0 ", shown, re.MULTILINE)
    assert re.search(r"^ +weight +1\.0 ", tailback("queues", "deficit-round-robin")[1], re.MULTILINE)
    assert re.search(r"^ +while_off +false ", tailback("schemes", "probabilistic")[1], re.MULTILINE)
    assert re.search(r"^ +at ", tailback("sources", "replay")[1], re.MULTILINE)


def test_ledger_is_listed() -> None:
    status, out, _ = tailback("reproduce", "--list")
    assert status == 0
    assert "mtsc/fig-5" in out
    status, out, _ = tailback("reproduce", "pcc", "--list", "--json")
    listed = [json.loads(line) for line in out.splitlines()]
    assert {entry["id"].split("/")[0] for entry in listed} == {"pcc"}
    assert all(entry["built"] for entry in listed)


def test_shells_complete_names() -> None:
    assert complete.schemes("cub") == ["cubic"]
    assert "red" in complete.queues("r")
    assert "files" in complete.sources("")
    assert {"mtsc", "mtsc/fig-5"} <= set(complete.items("mtsc"))
    status, out, _ = tailback("--help")
    assert status == 0
    assert "--install-completion" in out


@pytest.mark.parametrize(
    "command", ["run", "sweep", "compare", "plot", "report", "capture", "reproduce", "validate", "schemes"]
)
def test_every_command_has_help(command: str) -> None:
    status, out, _ = tailback(command, "--help")
    assert status == 0
    assert "--help" in out


def test_version() -> None:
    status, out, _ = tailback("--version")
    assert (status, out.split()[0]) == (0, "tailback")


def test_results_say_the_revision_of_the_source() -> None:
    root = Path(tb.__file__).resolve().parents[2]
    if not (root / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a clone")
    head = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert head.stdout.startswith(versions()["revision"].removesuffix("+changes"))


def test_who_stops_us_while_git_works_finds_no_lock_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tailback.results import versions as module

    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, "0123456789ab", "")

    monkeypatch.setattr("tailback.results.versions.subprocess.run", run)
    module._git("git", Path(), "status")
    assert "--no-optional-locks" in asked[0]
