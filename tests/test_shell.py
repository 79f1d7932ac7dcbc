"""The shell end to end: commands behind an emulated link, in namespaces of their own, where the system lets a test make them."""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from pathlib import Path

import polars as pl
import pytest

import tailback as tb
from tailback.errors import ScenarioError
from tailback.shell.launch import ShellError, namespaces
from tailback.shell.links import Link, scenario_of
from tests.processes import LONG, await_that, having

SHELL = [sys.executable, "-m", "tailback", "shell"]

SERVER = """
import socket
listener = socket.create_server(("0.0.0.0", 5001))
while True:
    connection, _ = listener.accept()
    while chunk := connection.recv(65536):
        connection.sendall(chunk[:1])
    connection.close()
"""
CLIENT = """
import os, socket, sys
connection = socket.create_connection((os.environ["TAILBACK_FAR"] if len(sys.argv) < 3 else sys.argv[2], 5001))
connection.sendall(bytes(int(sys.argv[1])))
connection.shutdown(socket.SHUT_WR)
while connection.recv(65536):
    pass
"""
PINGS = """
import os, socket, time
peer = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
peer.connect((os.environ["TAILBACK_FAR"], 5001))
least = 9.0
for _ in range(5):
    began = time.monotonic()
    peer.send(b"x")
    peer.recv(1)
    least = min(least, time.monotonic() - began)
print(least)
"""


def shell(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """What became of a command line."""
    return subprocess.run([*SHELL, *words], capture_output=True, text=True, timeout=LONG, check=False, **options)  # type: ignore[call-overload,no-any-return]


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


def test_options_become_a_scenario() -> None:
    link = Link(
        "20 Mbit/s",
        delay="10 ms",
        queue="fq-codel",
        loss="0.01",
        schedule="10 s: 5 Mbit/s, 20 s: 20 Mbit/s",
        up=["rate=2 Mbit/s", "loss=0.1", "corruption=0.2", "duplication={ probability = 0.3 }"],
        down=["queue={ name = 'codel', ecn = true }"],
    )
    said = json.loads(scenario_of(link))["topology"]["links"][0]
    assert said["rate"] == "2 Mbit/s"
    assert said["loss"]["probability"] == 0.1
    assert said["corruption"] == {"probability": 0.2}
    assert said["duplication"] == {"probability": 0.3}
    assert said["reverse"]["rate"] == "20 Mbit/s"
    assert said["reverse"]["loss"]["probability"] == 0.01
    assert [step["rate"] for step in said["reverse"]["schedule"]] == ["5 Mbit/s", "20 Mbit/s"]
    assert (said["buffer"], said["reverse"]["queue"]["name"]) == ("1 BDP", "codel")
    assert json.loads(scenario_of(Link("1 Mbit/s")))["topology"]["links"][0]["buffer"] == "100 packets"


def test_a_trace_stands_in_place_of_the_rate() -> None:
    trace = str(Path(__file__).resolve().parents[1] / "examples" / "cellular.trace")
    assert json.loads(scenario_of(Link(trace=trace)))["topology"]["links"][0]["trace"]["file"] == trace
    scenario_of(Link(up=[f"trace={trace}"], down=["rate=5 Mbit/s"]))
    for short in (Link(), Link(up=[f"trace={trace}"])):
        with pytest.raises(ScenarioError, match="--rate is missing; expected the link's rate"):
            scenario_of(short)


@pytest.mark.parametrize(
    ("link", "said"),
    [
        (Link("20"), "--rate"),
        (Link("20 Mbit/s", delay="-1 ms"), "--delay"),
        (Link("20 Mbit/s", queue="fq-coddle"), "fq-codel"),
        (Link("20 Mbit/s", loss="2"), "--loss"),
        (Link("20 Mbit/s", schedule="5 Mbit/s"), "--schedule"),
        (Link(trace="no-such.trace"), "no-such.trace"),
        (Link("20 Mbit/s", trace="examples/cellular.trace"), "--rate: '20 Mbit/s' is not allowed; expected a rate or"),
        (Link("20 Mbit/s", up=["rate"]), "--up"),
        (Link("20 Mbit/s", down=["delay=9"]), "--delay (down)"),
        (Link("20 Mbit/s", up=["foo=3"]), "--up foo"),
        (Link("20 Mbit/s", down=["corruption=3"]), "--down corruption"),
    ],
)
def test_a_wrong_option_is_named(link: Link, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of(link)
    assert said in str(caught.value)


@pytest.mark.parametrize("link", [Link("20 Mbits"), Link("20 Mbit/s", queue="fq-coddle"), Link(trace="no-such.trace")])
def test_a_mistake_in_both_directions_is_told_once(link: Link) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of(link)
    assert len(caught.value.problems) == 1
    assert "(down)" not in str(caught.value)


def test_a_mistake_in_each_direction_is_told_for_each() -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of(Link("20 Mbit/s", up=["rate=4"], down=["rate=5"]))
    assert [problem.field for problem in caught.value.problems] == ["--rate", "--rate (down)"]


def test_all_mistakes_are_told_at_once() -> None:
    wrong = Link(delay="-1 ms", queue="fq-coddle", schedule="5 Mbit/s", up=["rate"], down=["loss=2"])
    with pytest.raises(ScenarioError) as caught:
        scenario_of(wrong)
    told = [problem.field for problem in caught.value.problems]
    assert sorted(told) == ["--delay", "--loss.probability (down)", "--queue", "--rate", "--schedule", "--up"]


def test_a_wrong_option_ends_before_anything_starts() -> None:
    ended = shell("--rate", "fast", "--", "echo", "started")
    assert ended.returncode == 1
    assert "--rate" in ended.stderr
    assert not ended.stdout


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
def test_status_input_and_output_are_the_commands() -> None:
    link = ["--rate", "10 Mbit/s", "--no-outside", "--"]
    assert shell(*link, "sh", "-c", "exit 7").returncode == 7
    assert shell(*link, "sh", "-c", "kill -9 $$").returncode == 137
    echoed = shell(*link, "cat", input="said and heard\n")
    assert (echoed.returncode, echoed.stdout) == (0, "said and heard\n")
    absent = shell(*link, "no-such-program")
    assert absent.returncode == 1
    assert absent.stderr == "tailback: no-such-program cannot be started: No such file or directory\n"


@pytest.mark.usefixtures("able")
def test_without_a_result_no_arrays_are_imported() -> None:
    """They take longer to import than many a command takes, before somebody can type the next one."""
    ended = shell(
        "--rate", "10 Mbit/s", "--no-outside", "--", "true", env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    )
    assert ended.returncode == 0, ended.stderr
    assert "tailback.shell.summary" in ended.stderr, "what was imported is told"
    assert not {"numpy", "polars"} & set(ended.stderr.split())


@pytest.mark.usefixtures("able")
def test_a_round_trip_takes_both_delays(files: dict[str, str]) -> None:
    server = f"{sys.executable} {files['server']}"
    link = ["--rate", "100 Mbit/s", "--delay", "15 ms", "--up", "delay=30 ms", "--server", server]
    ended = shell(*link, "--", sys.executable, files["pings"])
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout) >= 0.045


@pytest.mark.usefixtures("able")
def test_a_recorded_run_is_a_result(files: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "result"
    size = 1_000_000
    server = f"{sys.executable} {files['server']}"
    link = ["--rate", "8 Mbit/s", "--delay", "5 ms", "--queue", "fq-codel", "--server", server]
    recorded = ["--record", str(folder), "--packets", "--budget", "1 s, 10 s"]
    ended = shell(*link, *recorded, "--", sys.executable, files["client"], str(size))
    assert ended.returncode == 0, ended.stderr
    assert "up:" in ended.stderr
    assert str(folder) in ended.stderr
    result = tb.load(folder)
    assert isinstance(result, tb.Result)
    assert result.real["valid"] is True
    assert (folder / "overview.svg").exists()
    up = result.links.row(by_predicate=pl.col("link") == "inside->outside", named=True)
    assert up["delivered_bytes"] > size
    assert up["throughput"] < 8.1e6
    assert up["delivered_packets"] == result.real["directions"]["up"]["delivered_packets"]
    flow = result.flows.sort("received_bytes", descending=True).row(0, named=True)
    assert flow["scheme"] == "tcp"
    assert flow["flow"].startswith("tcp 198.18.0.2 ")
    assert flow["flow"].endswith(" to 198.18.0.1 5001")
    assert flow["received_bytes"] > size
    assert flow["one_way_delay_p50"] >= 5e-3
    series = result.series(link="inside->outside")
    assert series["transmitted_bytes"].sum() <= up["transmitted_bytes"]
    assert set(result.packets["event"].unique()) >= {"sent", "offered", "delivered"}
    assert result.scenario.replace(duration="1 s").run().links.height == 2, "a simulation may begin where it ended"


@pytest.mark.usefixtures("able")
def test_a_run_beyond_its_budget_says_so_and_is_not_drawn(tmp_path: Path) -> None:
    folder = tmp_path / "result"
    # Nobody listens there, and the word of that comes back: then the packet has passed.
    talk = """import os, socket
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
there.connect((os.environ['TAILBACK_FAR'], 9))
there.send(b'x')
try:
    there.recv(1)
except ConnectionRefusedError:
    pass"""
    link = ["--rate", "10 Mbit/s", "--no-outside", "--budget", "0 ms, 0 ms", "--record", str(folder)]
    ended = shell(*link, "--", sys.executable, "-c", talk)
    assert ended.returncode == 0, ended.stderr
    assert "INVALID" in ended.stderr
    result = tb.load(folder)
    assert isinstance(result, tb.Result)
    assert result.real["valid"] is False
    assert "does not count" in " ".join(result.warnings)
    assert not (folder / "overview.svg").exists()


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


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_stays_behind(number: signal.Signals, tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    begun = tmp_path / "begun"
    script = f"sh -c 'sleep 1000; echo {mark}' & echo > {begun}; sleep 1000; echo {mark}"
    interfaces = set(os.listdir("/sys/class/net"))
    with subprocess.Popen([*SHELL, "--rate", "1 Mbit/s", "--no-outside", "--", "sh", "-c", script]) as running:
        await_that(begun.exists)
        assert len(having(mark)) >= 3, "the script, its child, and what started them"
        running.send_signal(number)
        status = running.wait(LONG)
    assert status == (-9 if number == signal.SIGKILL else 143)
    await_that(lambda: not having(mark))
    assert set(os.listdir("/sys/class/net")) == interfaces


INTERRUPT = "import os, signal; signal.signal(signal.SIGINT, signal.SIG_IGN); os.killpg(0, signal.SIGINT)"
"""What a terminal does at Ctrl-C: all processes of the group hear it, but for this one."""
UNSHARE = """#!{python}
import os, signal, sys
if "tailback" in " ".join(sys.argv):
    os.killpg(0, signal.SIGINT)  # It waits here too, as it does for who starts this.
os.execv("{unshare}", sys.argv)
"""
PART = """
import os, signal
import tailback as tb
if os.getpid() == 1:  # The process in the namespaces; the one that starts it reads this file, too.
    os.killpg(0, signal.SIGINT)

class Mine(tb.QueueDiscipline):
    def enqueue(self, now, packet, cx):
        cx.drop(packet)

    def dequeue(self, now, cx):
        return None
"""
LISTENER = (
    INTERRUPT
    + """; import socket, sys, time
sys.stderr.write("heard and not heeded"); socket.create_server(("0.0.0.0", 5001)); time.sleep(1000)"""
)


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("when", ["before the namespaces", "in them", "while the server starts"])
def test_an_interrupt_before_the_command_begins_ends_it(when: str, tmp_path: Path) -> None:
    """Nothing here depends on who is quicker: the interrupt comes from what runs at that moment."""
    begun, found = tmp_path / "begun", os.environ["PATH"]
    options = ["--rate", "1 Mbit/s"]
    if when == "while the server starts":
        options += ["--server", shlex.join([sys.executable, "-c", LISTENER])]
    else:
        options += ["--no-outside"]
    if when == "in them":
        (tmp_path / "mine.py").write_text(PART, encoding="utf-8")
        options += ["--custom", str(tmp_path / "mine.py"), "--queue", "mine"]
    if when == "before the namespaces":
        instead = tmp_path / "unshare"
        instead.write_text(UNSHARE.format(python=sys.executable, unshare=shutil.which("unshare")))
        instead.chmod(0o755)
        found = f"{tmp_path}:{found}"
    ended = subprocess.run(
        [*SHELL, *options, "--", "touch", str(begun)],
        env={**os.environ, "PATH": found},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
        start_new_session=True,
    )
    said = ended.stderr.removeprefix("heard and not heeded")
    assert (ended.returncode, said) == (130, "tailback: stopped\n")
    assert not begun.exists()


@pytest.mark.usefixtures("able")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_may_be_closed(closed: str, tmp_path: Path) -> None:
    words = [
        *SHELL,
        "--rate",
        "1 Mbit/s",
        "--no-outside",
        "--record",
        str(tmp_path / "out"),
        "--",
        "sh",
        "-c",
        "exit 7",
    ]
    ended = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *words], check=False, timeout=LONG, stdout=subprocess.PIPE
    )
    assert (ended.returncode, ended.stdout) == (7, b"")
    assert tb.load(tmp_path / "out")


@pytest.mark.usefixtures("able")
def test_a_command_has_its_status_although_the_summary_cannot_be_said() -> None:
    words = [*SHELL, "--rate", "1 Mbit/s", "--no-outside", "--", "sh", "-c", "exit 7"]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(words, check=False, timeout=LONG, stderr=full)
    assert ended.returncode == 7


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--packets"], "--packets: there is no folder for the log; expected --record FOLDER with it"),
        (["--server", ""], "--server: '' is not allowed; expected a command"),
        (
            ["--budget", "1 ms, 0.2 ms"],
            "--budget: '1 ms, 0.2 ms' is not allowed; expected two times, the first not above",
        ),
        (["--budget", "1 ms"], "--budget: '1 ms' is not allowed; expected two times"),
    ],
)
def test_options_that_make_no_sense_are_refused(words: list[str], said: str, tmp_path: Path) -> None:
    ended = shell("--rate", "1 Mbit/s", "--no-outside", *words, "--", "touch", str(tmp_path / "begun"))
    assert (ended.returncode, said in ended.stderr) == (1, True), ended.stderr
    assert not (tmp_path / "begun").exists()


@pytest.mark.usefixtures("able")
def test_a_server_that_cannot_be_started_is_named() -> None:
    ended = shell("--rate", "1 Mbit/s", "--server", "no-such-server -s", "--", "true")
    said = "tailback: the server no-such-server cannot be started: No such file or directory\n"
    assert (ended.returncode, ended.stderr) == (1, said)


def test_a_server_that_no_shell_could_read_is_refused() -> None:
    ended = shell("--rate", "1 Mbit/s", "--server", "'", "--", "true")
    assert (ended.returncode, '--server: "\'" is not allowed; expected a command' in ended.stderr) == (1, True), (
        ended.stderr
    )


@pytest.mark.usefixtures("able")
def test_a_server_that_fails_at_once_is_told_and_the_command_does_not_begin(tmp_path: Path) -> None:
    server = "sh -c 'echo no port for me >&2; exit 3'"
    ended = shell("--rate", "1 Mbit/s", "--server", server, "--", "touch", str(tmp_path / "begun"))
    said = ended.stderr.splitlines()
    assert (ended.returncode, said[0], said[-1]) == (1, "no port for me", "no port for me"), said
    assert said[1].startswith("tailback: the server `sh -c ")
    assert said[1].endswith("` ended with status 3 before it could serve:")
    assert not (tmp_path / "begun").exists()


DYING = """
import socket, sys
listener = socket.create_server(("0.0.0.0", 5001))
print("on standard output", flush=True)
connection, _ = listener.accept()
connection.recv(1)
sys.exit("one client was enough")
"""


@pytest.mark.usefixtures("able")
def test_a_server_that_ends_before_the_command_is_told_with_its_last_words(tmp_path: Path) -> None:
    record = tmp_path / "result"
    link = ["--rate", "1 Mbit/s", "--server", shlex.join([sys.executable, "-c", DYING]), "--record", str(record)]
    talk = (
        "import os, socket; s = socket.create_connection((os.environ['TAILBACK_FAR'], 5001)); s.send(b'x'); s.recv(1)"
    )
    ended = shell(*link, "--", sys.executable, "-c", f"{talk}; import time; time.sleep(0.3); print('mine')")
    assert (ended.returncode, ended.stdout) == (0, "mine\n"), "standard output is the command's"
    assert "on standard output" in ended.stderr
    told = "  the server ended with status 1 before the command did, and said last:\n    one client was enough\n"
    assert told in ended.stderr
    result = tb.load(record)
    assert isinstance(result, tb.Result)
    assert result.real["server"] == {"status": 1, "said": ["one client was enough"]}


@pytest.mark.usefixtures("able")
def test_a_server_that_serves_to_the_end_is_no_news(files: dict[str, str]) -> None:
    link = ["--rate", "10 Mbit/s", "--server", f"{sys.executable} {files['server']}"]
    ended = shell(*link, "--", sys.executable, files["client"], "1000")
    assert (ended.returncode, "server" in ended.stderr) == (0, False), ended.stderr


def test_a_folder_that_cannot_be_written_is_told_before_the_command_begins(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("no result")
    ended = shell("--rate", "1 Mbit/s", "--record", str(tmp_path / "taken"), "--", "touch", str(tmp_path / "begun"))
    assert ended.returncode == 1
    assert "taken is a file; expected a folder" in ended.stderr
    assert not (tmp_path / "begun").exists()


def test_the_network_of_the_test_is_as_before() -> None:
    assert not [name for _, name in socket.if_nameindex() if name.startswith("tailback")]
