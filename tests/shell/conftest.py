"""Where the tests of the shell stand: a system that lets them make namespaces, and programs to run in them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tailback.shell.launch import ShellError, namespaces
from tests.shell.shells import CLIENT, PINGS, SERVER


@pytest.fixture(scope="session")
def able() -> None:
    """Skips where the system lacks what a shell needs, with what that is. Whether the shell then works is not asked here."""
    try:
        namespaces()
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except (ShellError, OSError) as error:
        pytest.skip(str(error))
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed: apt-get install iproute2")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """A server and its clients, as programs."""
    made = {}
    for name, text in (("server", SERVER), ("client", CLIENT), ("pings", PINGS)):
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        made[name] = str(path)
    return made
