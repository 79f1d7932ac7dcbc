"""Starts the process in which the router and the command run, in namespaces of its own: of users where this process may not
make others, and of processes, so that whatever ends the first ends all. The networks are made by the core, inside."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from tailback.errors import TailbackError

_PROCESSES = ("--pid", "--fork", "--kill-child")
_USERS = ("--user", "--map-current-user", "--keep-caps")
_CAP_NET_ADMIN = 12
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class ShellError(TailbackError):
    """The system does not let us do what a shell needs; the message says what that is."""


def namespaces() -> tuple[list[str], bool]:
    """How to call ``unshare`` here, and whether that gives power over the network that this process is in.

    Raises:
        ShellError: where no namespaces can be made, with what the system says.
    """
    tool = shutil.which("unshare")
    if not sys.platform.startswith("linux") or tool is None:
        raise ShellError("tailback shell needs Linux and the program unshare, of util-linux")
    said = ""
    # Without this right, networks could be made and not be set up. Among users of its own a process has every right.
    for users in ((), _USERS) if _may_set_up_networks() else (_USERS,):
        # In some containers /proc cannot be mounted anew; the one that is there does then.
        for mounts in (("--mount-proc",), ()):
            command = [tool, *users, *_PROCESSES, *mounts]
            tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
            if tried.returncode == 0:
                return command, not users
            said = tried.stderr.strip() or said
    raise ShellError(
        f"namespaces cannot be made here: {said}; expected root with the right CAP_NET_ADMIN, or a system that allows user "
        "namespaces (kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)"
    )


def _may_set_up_networks() -> bool:
    """Whether this process has CAP_NET_ADMIN, as it seldom has in a container, even as root (capabilities(7), proc(5))."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return True  # Who cannot know tries.
    (effective,) = (line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return bool(int(effective, 16) >> _CAP_NET_ADMIN & 1)


def launch(command: list[str], told: Mapping[str, Any], parts: bytes) -> int:
    """Runs ``inside.py`` in new namespaces and waits for it; its exit status. It ends when this process does, however that
    ends. ``parts`` are the custom ones that it needs."""
    packed = os.memfd_create("custom parts")
    with open(packed, "wb", closefd=False) as file:
        file.write(parts)
    held, holding = os.pipe()
    ready, readying = os.pipe()
    # This very package, without a word in the environment, which is the command's too; and nothing from the working folder.
    home = str(Path(__file__).parents[2])
    start = f"import sys; sys.path.insert(0, {home!r}); from tailback.shell.inside import main; sys.exit(main())"
    files = {"held": held, "parts": packed, "ready": readying}
    words = [*command, sys.executable, "-P", "-c", start, json.dumps({**told, **files})]
    # An interrupt from the keyboard goes to the process inside and to the command, too, who decide what becomes of it; to ignore
    # it here would have them ignore it as well. The process inside inherits that they wait, and says when it hears of them:
    # until then they are this one's, and are told by word.
    interrupted: list[int] = []
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, lambda number, _: interrupted.append(number))
    with subprocess.Popen(words, pass_fds=list(files.values())) as inside:
        for number in files.values():
            os.close(number)
        ended_by = 0

        def end(number: int, _frame: FrameType | None = None) -> None:
            nonlocal ended_by, holding
            if not ended_by:
                ended_by = number
                os.close(holding)  # Whoever is inside ends now, and tells what it has measured.

        for ending in _ENDING:
            signal.signal(ending, end)
        os.read(ready, 1)
        os.close(ready)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # Which calls the handler, where one has waited.
        if interrupted:
            end(signal.SIGINT)
        status = inside.wait()
    if ended_by:
        return 128 + ended_by
    return status if status >= 0 else 128 - status
