"""Who may have a shell, and what it reaches: root and others, inside another shell, and beyond this host."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import LONG
from tests.shell.shells import SHELL, shell


@pytest.mark.usefixtures("able")
def test_where_others_cannot_be_reached_two_ways_without_them_are_named() -> None:
    forwarding = Path("/proc/sys/net/ipv4/ip_forward")
    if os.geteuid() != 0 or forwarding.read_text().strip() != "0":
        pytest.skip("packets are passed on here, or only root may ask for it")
    ended = shell("--rate", "20 Mbit/s", "--", "true")
    assert ended.returncode == 1
    assert "--no-outside" in ended.stderr
    assert "--server" in ended.stderr


@pytest.mark.usefixtures("able")
def test_shells_nest(files: dict[str, str]) -> None:
    if shutil.which("nft") is None:
        pytest.skip("nft is not installed")
    server = f"{sys.executable} {files['server']}"
    outer = ["--rate", "50 Mbit/s", "--delay", "10 ms", "--server", server]
    inner = [*SHELL, "--rate", "50 Mbit/s", "--delay", "15 ms", "--outside", "--", sys.executable, files["client"]]
    ended = shell(*outer, "--", "sh", "-c", 'exec "$@" 20000 $TAILBACK_FAR', "sh", *inner)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("behind the link") == 2, ended.stderr


def test_who_is_not_root_gets_a_far_host(able: None, tmp_path: Path) -> None:
    del able
    if os.geteuid() != 0:
        pytest.skip("all tests here ran without root")
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    # In a namespace of its own users, as the shell starts it: there no capability opens root's folders.
    anybody = [*nobody, "unshare", "--user", sys.executable, "-c", "import tailback"]
    if subprocess.run(anybody, check=False, capture_output=True).returncode:
        pytest.skip("this Python is root's own")
    # Here the device may be root's own too: one that is everybody's, as systems commonly have it, is put in its place.
    device = tmp_path / "tun"
    open_up = f"mknod {device} c 10 200 && chmod 666 {device} && mount --bind {device} /dev/net/tun"
    words = [*nobody, *SHELL, "--rate", "10 Mbit/s", "--", "sh", "-c", "id -u; echo $TAILBACK_FAR"]
    ended = subprocess.run(
        ["unshare", "--mount", "sh", "-c", f'{open_up} && exec "$@"', "sh", *words],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
        cwd="/",
    )
    if "mount" in ended.stderr or "user namespaces" in ended.stderr:
        pytest.skip(ended.stderr.strip())
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["65534", "198.18.0.1"]
    assert "a host of its own" in ended.stderr


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("can_make_users", [True, False])
def test_root_without_the_right_to_set_up_networks_has_it_among_users_of_its_own(can_make_users: bool) -> None:
    """As root has it in most containers."""
    if os.geteuid() != 0:
        pytest.skip("all tests here ran without root")
    less = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin"]
    if subprocess.run([*less, "unshare", "--user", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    words = [*less, *SHELL, "--rate", "10 Mbit/s", "--", "sh", "-c", "echo $TAILBACK_FAR"]
    # A user namespace within which no more may be made stands for a container that forbids them.
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    within = [] if can_make_users else ["unshare", "--user", "--map-root-user", "--keep-caps", "sh", "-c", forbid, "sh"]
    ended = subprocess.run([*within, *words], capture_output=True, text=True, timeout=LONG, check=False)
    if can_make_users:
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.split() == ["198.18.0.1"]
    else:
        assert ended.returncode == 1
        assert "expected root with the right CAP_NET_ADMIN, or a system that allows user namespaces" in ended.stderr
