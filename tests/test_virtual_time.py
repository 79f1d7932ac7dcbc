"""The machine whose clock counts instructions (`tools/on-virtual-time`): what comes out of it, and its words where it cannot
be had. What real packets do there is measured by `make parity`."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "on-virtual-time"


def _can() -> bool:
    kernels = [
        image.name.removeprefix("vmlinuz-") for image in Path("/boot").glob("vmlinuz-*") if os.access(image, os.R_OK)
    ]
    return all(map(shutil.which, ("qemu-system-x86_64", "busybox", "cpio"))) and any(
        Path(f"/lib/modules/{version}/kernel/fs/9p").exists() for version in kernels
    )


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(TOOL), *words], check=False, capture_output=True, text=True, timeout=180)


@pytest.mark.skipif(not _can(), reason="no QEMU, busybox, cpio or kernel with 9p here")
def test_a_command_has_its_status_its_words_its_folder_and_its_own_time(tmp_path: Path) -> None:
    folder = tmp_path / "kept here"
    folder.mkdir()
    # The folder's name and the words have blanks and quotes.
    script = 'before=$(date +%s); sleep 600; echo "$(($(date +%s) - before))"; echo "it\'s" > "$1/a file"; exit 7'
    done = _run(str(folder), "bash", "-c", script, "bash", str(folder))
    # Its own time: ten minutes, which the test's limit would not allow; the clock also runs on while a file is fetched.
    assert 600 <= int(done.stdout) < 700
    assert (folder / "a file").read_text() == "it's\n"
    assert done.returncode == 7


@pytest.mark.parametrize("words", [(), ("/",), ("/not/there", "true"), (str(TOOL), "true")])
def test_what_cannot_be_run_is_one_clear_error(words: tuple[str, ...]) -> None:
    done = _run(*words)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("on-virtual-time: ")
    assert "expected a folder" in done.stderr
