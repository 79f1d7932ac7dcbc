"""What a result was made with: the versions that have a say in its numbers."""

from __future__ import annotations

import platform
import shutil
import subprocess
from functools import lru_cache
from importlib import metadata
from pathlib import Path


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
        revision = _git(git, root, "rev-parse", "--short=12", "HEAD")
        changed = _git(git, root, "status", "--porcelain", "--untracked-files=no", "--", "crates", "python")
    except (OSError, subprocess.SubprocessError):
        return ""
    return revision + ("+changes" if changed else "")


def _git(git: str, root: Path, *words: str) -> str:
    # Without locks: where the user stops us meanwhile, git would leave one behind, and refuse all further work there.
    command = [git, "--no-optional-locks", "-C", str(root), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def versions() -> dict[str, str]:
    """Versions by name, Tailback's own first, then the revision of its source where that is known."""
    return dict(_found())
