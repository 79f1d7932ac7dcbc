"""The folder through which a laboratory and its process exchange what they know: gone with both, and only then. What becomes of it
when parts hang is tested in ``custom/test_real_packets.py``."""

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import tailback as tb
from tailback.errors import StorageError
from tailback.lab.folder import hand_over, handed_over, shared, tell


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where such folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_goes_with_its_contents(temporary: Path) -> None:
    with shared() as (folder, _):
        assert folder.parent == temporary
        (folder / "told.json").write_text("{}")
    assert list(temporary.iterdir()) == []


def test_where_nothing_can_be_written_the_folder_is_named(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path, __: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with shared() as (folder, _), pytest.raises(StorageError, match=f"{folder}: cannot be written, no space is left"):
        tell(folder, {"told.json": b"{}"})
    assert list(temporary.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "none"))
    with pytest.raises(StorageError, match="no temporary folder can be made: No such file"), shared():
        pass


def test_what_is_in_use_stays_and_what_nobody_holds_goes(temporary: Path) -> None:
    abandoned = temporary / "tailback-lab-abandoned"
    abandoned.mkdir()
    (abandoned / "part-failed").write_text("enough")
    (temporary / "tailback-lab-file").write_text("no folder")
    (temporary / "tailback-lab-link").symlink_to(abandoned)
    (temporary / "another").mkdir()
    with shared() as (first, _):
        with shared() as (second, _):
            assert sorted(path.name for path in temporary.iterdir()) == sorted(
                [first.name, second.name, "tailback-lab-file", "tailback-lab-link", "another"]
            )
        assert first.exists()


def test_who_has_inherited_it_holds_it_alone(temporary: Path) -> None:
    """As a laboratory's process does when the one that started it was killed."""
    held = temporary / "tailback-lab-held"
    held.mkdir()
    holding = os.open(held, os.O_RDONLY)
    code = f"import fcntl; fcntl.flock({holding}, fcntl.LOCK_EX); print(flush=True); input()"
    process = [sys.executable, "-c", code]
    with subprocess.Popen(process, pass_fds=[holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as inside:
        os.close(holding)
        assert inside.stdout is not None
        inside.stdout.readline()
        with shared():
            assert held.exists()
        inside.communicate(b"\n")
    with shared():
        assert not held.exists()


@pytest.mark.parametrize("is_full", [False, True])
def test_a_result_that_finds_no_room_comes_through_memory(
    is_full: bool, result: tb.Result, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StorageError("no space is left")

    if is_full:
        monkeypatch.setattr("tailback.results.store.save", fail)
    with open(os.memfd_create("result"), "rb") as memory:
        hand_over(result, temporary, memory.fileno())
        assert (temporary / "result").exists() != is_full
        found = handed_over(temporary, memory)
    assert (found.hash, found.real) == (result.hash, result.real)
    assert found.flows.equals(result.flows)
    assert found.link_series.equals(result.link_series)
