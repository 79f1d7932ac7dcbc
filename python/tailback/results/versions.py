"""What a result was made with: the versions that have a say in its numbers."""

from __future__ import annotations

import platform
import shutil
import subprocess
from functools import lru_cache
from importlib import metadata
from pathlib import Path

_HEAD = "# branch.oid "
"""What stands before the newest revision in what git tells."""


@lru_cache(maxsize=1)
def _found() -> tuple[tuple[str, str], ...]:
    names = ("tailback", "numpy", "polars")
    found = [("python", platform.python_version())]
    for name in names:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, "unknown"))
    if known := _revision():
        found.append(("revision", known))
    return tuple(sorted(found, key=lambda pair: {"tailback": 0, "revision": 1}.get(pair[0], 2)))


def _revision() -> str:
    """The revision of the source: what a wheel was built from, or that of the clone that runs, with ``+changes`` where its
    code differs from it; empty where neither is known."""
    from tailback import _core

    if built := _core.revision():
        return built
    root = Path(__file__).resolve().parents[3]
    git = shutil.which("git")
    if git is None or not (root / ".git").exists() or not (root / "crates" / "python").is_dir():
        return ""  # An installed package: what repository it lies in, if any, is somebody else's.
    try:
        # One call tells both: to begin a process and wait for it takes as long as to simulate a short run.
        told = _git(git, root, "status", "--porcelain=2", "--branch", "--untracked-files=no", "--", "crates", "python")
    except (OSError, subprocess.SubprocessError):
        return ""
    lines = told.splitlines()
    names = [line.removeprefix(_HEAD) for line in lines if line.startswith(_HEAD)]
    if not names or names[0].startswith("("):  # Nothing was committed yet.
        return ""
    return names[0][:12] + ("+changes" if any(not line.startswith("#") for line in lines) else "")


def _git(git: str, root: Path, *words: str) -> str:
    # Without locks: where the user stops us meanwhile, git would leave one behind, and refuse all further work there.
    command = [git, "--no-optional-locks", "-C", str(root), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def versions() -> dict[str, str]:
    """Versions by name, Tailback's own first, then the revision of its source where that is known."""
    return dict(_found())
