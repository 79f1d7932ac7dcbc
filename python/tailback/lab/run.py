"""One run with real packets: a scenario in, a result out, as of ``tailback.run``. The work is done by a process of its own in
namespaces, which ``inside.py`` is; whatever ends this process ends that one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tailback import _core
from tailback.calls import checked_call
from tailback.custom import shipping
from tailback.errors import PartError, ScenarioError, TailbackError, refused
from tailback.lab.folder import handed_over, shared, tell
from tailback.lab.inside import PART_FAILED, STOPPED
from tailback.scenario.file import expect_file
from tailback.units import number

if TYPE_CHECKING:
    from tailback.results import Result
    from tailback.scenario import Scenario

BUDGET: Final = "0.2 ms, 1 ms"
_LOOK: Final = 0.1
"""Seconds between two looks at the process."""
_GRACE: Final = 10.0
"""Seconds that it may take to end when it was told to."""


class LabError(TailbackError):
    """The system does not let us have a laboratory; the message says what it lacks."""


@dataclass(frozen=True)
class Setup:
    """A scenario for real packets."""

    scenario: str
    """As JSON; in the places of flows that the kernel carries stand their counterparts."""
    kernel: Mapping[str, str] = field(default_factory=dict)
    """By group of flows, the kernel's congestion control that carries it."""

    def checked(self) -> Setup:
        """The same with the headers of real packets.

        Raises:
            ScenarioError: everything that cannot be had with real packets.
        """
        return replace(self, scenario=_core.for_lab(self.scenario, dict(self.kernel)))

    def with_seed(self, seed: int) -> Setup:
        """The same with another seed."""
        return replace(self, scenario=json.dumps({**json.loads(self.scenario), "seed": seed}))


@checked_call
def load(file: str | Path) -> Setup:
    """The scenario of a file, in which flows may have schemes such as ``kernel-cubic``.

    Raises:
        ScenarioError: everything that is wrong with it, or cannot be had with real packets.
        StorageError: where there is no such file.
    """
    from tailback.results.files import path_of

    file = path_of("file", file)
    available()
    expect_file(file)
    setup = Setup(*_core.load_lab(str(file)))
    try:
        return setup.checked()
    except ScenarioError as error:
        raise ScenarioError(error.problems, str(file)) from None


def as_written(file: Path) -> dict[str, Any]:
    """The scenario of a file as data, with the kernel's schemes where the file has them.

    Raises:
        ScenarioError: everything that is wrong with it.
        StorageError: where there is no such file.
    """
    from tailback.scenario import Scenario

    available()
    expect_file(file)
    text, kernel = _core.load_lab(str(file))
    written = Scenario.of_complete(json.loads(text)).to_dict()
    for flow in written["flows"]:
        if flow["name"] in kernel:  # As the file has it.
            flow["scheme"] = f"kernel-{kernel[flow['name']]}"
    return written


def change(file: Path, changes: Mapping[str, Any]) -> Setup:
    """The scenario of a file with some fields changed, as :meth:`tailback.Scenario.replace` names them; schemes may become the
    kernel's, and those of the kernel others.

    Raises:
        ScenarioError: as :func:`load`.
    """
    from tailback.scenario.fields import with_fields

    return Setup(*_core.read_lab(json.dumps(with_fields(as_written(file), changes)))).checked()


def available() -> list[str]:
    """How to call ``unshare`` here.

    Raises:
        LabError: where there are no namespaces or TUN devices, with what is missing.
    """
    from tailback.shell.launch import ShellError, namespaces

    if not hasattr(_core, "laboratory"):
        raise LabError("a laboratory needs Linux")
    try:
        command, _ = namespaces()
    except ShellError as error:
        raise LabError(str(error).replace("tailback shell", "a laboratory")) from None
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR))
    except OSError as error:
        raise LabError(f"/dev/net/tun: {error.strerror}; expected a TUN device that this user may open") from None
    return command


@checked_call
def run(
    what: Setup | Scenario,
    *,
    seed: int | None = None,
    budget: str = BUDGET,
    progress: Callable[[float], object] | None = None,
) -> Result:
    """Runs a scenario on this machine, with real packets in real time.

    Hosts are network namespaces, the links between them are a router with the simulator's own links, and flows are our
    endpoints over UDP, in the clear, or the kernel's TCP. ``result.real`` says whether the run counts (``valid``,
    ``reasons``) and how late it was.

    Args:
        what: a scenario, or one with flows that the kernel carries.
        seed: in place of the scenario's own; time itself has none.
        budget: how late packets and timers may be in a run that counts: the median and the 99th percentile.
        progress: called now and then with the part of the run that is done, 0 to 1.

    Raises:
        ScenarioError: everything in the scenario that cannot be had with real packets.
        PartError: where a custom part fails.
        LabError: where the system does not let us.
    """
    if not isinstance(what, Setup) and not hasattr(what, "as_made"):  # The class of scenarios is slow to import.
        raise refused("what", what, "a Scenario, or what load gives: run(load('beside.toml'))")
    with nullcontext() if isinstance(what, Setup) else what.as_made():
        setup = what if isinstance(what, Setup) else Setup(what.to_json())
        setup = setup if seed is None else setup.with_seed(seed)
        median, p99 = lateness(budget)
        command = available()
        setup = setup.checked()
        parts = shipping.pack(setup.scenario)
    told = {"kernel": dict(setup.kernel), "median_seconds": median, "p99_seconds": p99, "budget": budget}
    with shared() as (folder, holding):
        tell(folder, {"told.json": json.dumps(told).encode(), "scenario.json": setup.scenario.encode()})
        tell(folder, {"parts": parts})
        with open(os.memfd_create("result"), "rb") as memory:
            seconds = number(json.loads(setup.scenario)["duration"])
            _attend(command, folder, (holding, memory.fileno()), seconds, progress)
            return handed_over(folder, memory)


def _attend(
    command: list[str],
    folder: Path,
    using: tuple[int, int],
    duration: float,
    progress: Callable[[float], object] | None,
) -> None:
    """Starts the process and waits for it; it ends when this one does, however that ends. It is ``using`` two files that it
    inherits: one by which it holds the folder, too, and one in memory for a result that finds no room there."""
    # This very package, and nothing from the working folder.
    home = str(Path(__file__).parents[2])
    start = f"import sys; sys.path.insert(0, {home!r}); from tailback.lab.inside import main; sys.exit(main())"
    held, holding = os.pipe()
    words = [*command, sys.executable, "-P", "-c", start, str(folder), str(held), str(using[1])]
    with subprocess.Popen(words, pass_fds=[held, *using], stderr=subprocess.PIPE, text=True) as inside:
        os.close(held)
        began = time.monotonic()
        try:
            said = _wait(inside, began, duration, progress)
        except BaseException:
            os.close(holding)  # Whoever is inside ends now.
            _end(inside)
            raise
        os.close(holding)
    if inside.returncode == PART_FAILED:
        raise PartError((folder / "part-failed").read_text(encoding="utf-8"))
    if inside.returncode == STOPPED:
        raise LabError("the laboratory was stopped")
    if inside.returncode:
        raise LabError(said.strip() or f"the laboratory ended with status {inside.returncode}")
    print(said, end="", file=sys.stderr)  # What custom parts have said.


def _end(inside: subprocess.Popen[str]) -> None:
    """Waits for the end of who was told to; with it go all that it has started."""
    try:
        inside.communicate(timeout=_GRACE)
    except subprocess.TimeoutExpired:
        inside.kill()
        inside.communicate()


def _wait(
    inside: subprocess.Popen[str], began: float, duration: float, progress: Callable[[float], object] | None
) -> str:
    """What it says on standard error until it ends."""
    while True:
        try:
            return inside.communicate(timeout=_LOOK)[1]
        except subprocess.TimeoutExpired:
            if progress is not None:
                progress(min((time.monotonic() - began) / duration, 1.0))


def lateness(written: str) -> tuple[float, float]:
    """The median and the 99th percentile of lateness that a run may have.

    Raises:
        ArgumentError: where these are no two times.
    """
    allowed = "two times, the first not above the second, such as '0.2 ms, 1 ms'"
    try:
        median, p99 = (number(part, "time") for part in written.split(","))
    except ValueError:
        raise refused("--budget", written, allowed) from None
    if median > p99:
        raise refused("--budget", written, allowed)
    return median, p99
