"""``tailback send`` and ``tailback recv``: a file from one host to another, with what is seen of it on the way and a result at
the end. How bytes travel is the core's business, keys and scenarios that of ``transfer/``."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shlex
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from tailback.commands.console import stoppable
from tailback.errors import ArgumentError, TailbackError, refused
from tailback.results.files import make_folder
from tailback.transfer import keys
from tailback.transfer.ending import heeding

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from tailback import _core
    from tailback.results import Result

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PORT: Final = 4747
"""Where receivers listen unless told otherwise."""
_LAB: Final = tuple(
    ipaddress.ip_network(network) for network in ("127.0.0.0/8", "::1/128", "198.18.0.0/15", "2001:2::/48")
)
"""Networks in which nothing needs to be secret: this host's own, and those for measurements (RFC 2544, RFC 5180), which
``tailback shell`` and ``tailback lab`` use."""


_ALL_HOSTS: Final = ipaddress.ip_address("255.255.255.255")
"""Of a link (RFC 919)."""


class TransferError(TailbackError):
    """A transfer has ended without its file; the message says why."""


@dataclass(frozen=True)
class Common:
    """What both ends can be told."""

    patience: str
    plaintext: bool
    out: Path | None
    as_json: bool

    def expect_room(self) -> None:
        """Refuses early what would be refused when the file is there.

        Raises:
            StorageError: where no result can be kept in the folder that was named.
        """
        if self.out is not None:
            from tailback.results.store import expect_room

            expect_room(self.out)

    def seconds(self) -> float:
        """How long the other side may say nothing."""
        return _seconds("--patience", self.patience, 0.1, 3600, "a time from 0.1 s to 1 h, such as '10 s'")


@dataclass(frozen=True)
class Lengths:
    """How long packets are to be."""

    mtu: int
    longer: str

    def told(self) -> dict[str, Any]:
        """For the core."""
        allowed = "a time from 10 s to 1 d, such as '10 min'"
        return {
            "packet_bytes": self.mtu,
            "longer_seconds": _seconds("--raise-mtu", self.longer, 10, 86_400, allowed),
        }


def _seconds(option: str, text: str, least: float, most: float, allowed: str) -> float:
    from tailback.units import number

    try:
        found = number(text, "time")
    except ValueError:
        found = -1.0
    if not least <= found <= most:
        raise refused(option, text, allowed)
    return found


def show_key() -> None:
    """Prints this user's public key, for ``tailback recv --only``."""
    typer.echo(keys.written(keys.own().public))


def send_file(
    file: Path,
    host: str,
    key: str | None,
    common: Common,
    *,
    scheme: str,
    changes: Sequence[str],
    lengths: Lengths,
    seed: int,
) -> None:
    """Sends a file, and says how it went.

    Raises:
        TailbackError: whatever keeps it from arriving.
    """
    from tailback import _core
    from tailback.transfer.classes import told_of
    from tailback.transfer.flow import scenario_of

    common.expect_room()
    found = _resolved(host)
    told: dict[str, Any] = {
        "file": _text(file.absolute()),
        "peers": list(found.values()),
        "patience_seconds": common.seconds(),
        "keeps": common.out is not None,
        **lengths.told(),
    }
    if common.plaintext:
        for address in found:
            _in_a_lab(address)
    elif key is None:
        raise ArgumentError("--key is missing; expected what `tailback recv` printed at the other host")
    else:
        told |= {"invitation": list(keys.invitation(key)), "keys": keys.own().told()}
    scenario = scenario_of(file.name, scheme, changes, seed)
    told["classes"] = told_of(json.loads(scenario)["flows"][0]["scheme"])
    left = "the receiver keeps what has arrived; the same commands go on from there"
    with _Seen(common) as seen, stoppable(left), heeding():
        moved = _moved(lambda: _core.send_file(scenario, json.dumps(told), seen.hear))
    _tell(moved, common, f"sent {moved.report['name']} to {moved.report['peer']}")


def receive_file(
    folder: Path, common: Common, *, address: str | None, port: int, only: str | None, overwrite: bool, new_key: bool
) -> None:
    """Waits for a file, and says how it went.

    Raises:
        TailbackError: whatever keeps it from arriving.
    """
    from tailback import _core
    from tailback.transfer.classes import Admission

    common.expect_room()
    make_folder(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise refused("FOLDER", str(folder), "a folder that this user may write to")
    place = None if address is None else _address(address)
    told: dict[str, Any] = {
        "folder": _text(folder),
        "address": None if place is None else str(place).partition("%")[0],
        "link": 0 if place is None else _link(place),
        "port": port,
        "keys": None,
        "only": None if only is None else list(keys.public(only)),
        "patience_seconds": common.seconds(),
        "overwrite": overwrite,
        "keeps": common.out is not None,
    }
    key = None
    if common.plaintext:
        if place is None:
            raise refused("--address", "", "with --plaintext, one address of a lab's network")
        _in_a_lab(place)
    else:
        own = keys.own(fresh=new_key)
        told["keys"], key = own.told(), own.invitation()

    def listening(actual: int) -> None:
        # The other host calls its interface to the same link by a name of its own.
        where = _own_address() if place is None else re.sub("%.*", "%INTERFACE", str(place))
        there = f"[{where}]" if ":" in where else where
        words = ["tailback", "send", "FILE", there if actual == PORT else f"{there}:{actual}"]
        words += ["--key", key] if key else ["--plaintext"]
        typer.echo(f"Waiting for a file. At the other host: {shlex.join(words)}", err=True)

    admission = Admission()
    left = "what has arrived is kept; the same commands go on from there"
    with _Seen(common, listening) as seen, stoppable(left), heeding():
        moved = _moved(lambda: _core.receive_file(json.dumps(told), admission.refusal, seen.hear))
    _tell(moved, common, f"received {moved.report['path']} from {moved.report['peer']}")


@dataclass(frozen=True)
class _Moved:
    """A transfer that has ended with its file."""

    raw: _core.Result | None
    """``None`` where nobody keeps it."""
    wall: float
    report: dict[str, Any]


def _moved(move: Callable[[], tuple[Any, str]]) -> _Moved:
    from tailback import _core
    from tailback.custom import runs

    began = time.monotonic()
    try:
        raw, said = runs.carry(move, apart=_Seen.hear.__code__)
    except _core.TransferError as error:
        raise TransferError(str(error)) from None
    return _Moved(raw, time.monotonic() - began, json.loads(said) | {"made": {"command": "send"}})


def _of_one_end(raw: _core.Result, moved: _Moved) -> Result:
    """The result without figures of links: nobody has seen the network between, and zeros would say that it was idle. Its tables
    take longer to import than many a file takes to arrive: they are made where they are kept alone."""
    import dataclasses

    import polars as pl

    from tailback.results.from_core import result_of

    result = result_of(raw, moved.wall, real=moved.report)
    numbers = [name for name, kind in result.links.schema.items() if kind.is_numeric()]
    unknown = result.links.with_columns(pl.lit(None, dtype=result.links.schema[name]).alias(name) for name in numbers)
    return dataclasses.replace(result, links=unknown, link_series=result.link_series.clear())


def _tell(moved: _Moved, common: Common, what: str) -> None:
    """The last line, and the folder."""
    from tailback.commands.run import shown

    if common.out is not None and moved.raw is not None:
        _save(_of_one_end(moved.raw, moved), common.out)
    report = moved.report
    sent = report["bytes"] - report["resumed_bytes"]
    rate = 8 * sent / report["seconds"] if report["seconds"] > 0 else 0.0
    if common.as_json:
        saved = {} if common.out is None else {"out": str(common.out)}
        typer.echo(json.dumps({**report, "rate": rate, **saved}, ensure_ascii=False))
        return
    if report["bytes"] and not sent:
        typer.echo(f"{what}: {report['bytes']:,} bytes, all of which were there before")
    else:
        resumed = f", {report['resumed_bytes']:,} of them before" if report["resumed_bytes"] else ""
        took = f"in {shown(report['seconds'], 's')}, {shown(rate, 'bit/s')}"
        typer.echo(f"{what}: {report['bytes']:,} bytes{resumed} {took}")
    typer.echo(f"sha256 {report['sha256']}, equal at both ends")
    for other in report.get("other_partial_files", ()):
        typer.echo(
            f"beside it is {other}, of a transfer that broke off: of this name, with other bytes or from another sender"
        )
    if common.out is not None:
        typer.echo(f"saved in {common.out}")


def _save(result: Result, folder: Path) -> None:
    from tailback.commands.overview import draw_overview
    from tailback.results.store import save

    def draw(beside: Path) -> None:
        if result.flow_series.height:
            draw_overview(result, beside)

    save(result, folder, also=draw)


# --- Addresses ------------------------------------------------------------------------------------------------------


def _text(path: Path) -> str:
    """The path, as text for the core.

    Raises:
        TransferError: where it is none.
    """
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode(errors="backslashreplace")
        raise TransferError(f"{shown} is not a path in UTF-8; expected a file and folders whose names are") from None
    return text


def _address(text: str) -> Address:
    try:
        return _plain(ipaddress.ip_address(text))
    except ValueError:
        raise refused("--address", text, "an IP address of this host") from None


def _plain(address: Address) -> Address:
    """Where an address of IPv4 is written as one of IPv6 (RFC 4291 section 2.5.5.2), the former: packets are of IPv4."""
    return getattr(address, "ipv4_mapped", None) or address


def _link(address: Address) -> int:
    """The number of the interface that is behind an address of a link alone."""
    interface = getattr(address, "scope_id", None)
    if interface is None:
        if address.version == 6 and address.is_link_local:
            allowed = "the interface behind a link-local address, as in fe80::1%eth0"
            raise refused("--address", str(address), allowed)
        return 0
    try:
        return int(interface) if interface.isdecimal() else socket.if_nametoindex(interface)
    except OSError:
        raise refused("--address", str(address), "an interface of this host behind the address") from None


def _resolved(host: str) -> dict[Address, str]:
    """The addresses behind ``HOST``, ``HOST:PORT`` or ``[ADDRESS]:PORT``, and how the core reads each with its port."""
    name, port = _name_and_port(host)
    try:
        found = socket.getaddrinfo(name, int(port), type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise TransferError(f"{name}: {getattr(error, 'strerror', None) or error}") from None
    addresses = {}
    for *_, where in found:
        # An address of a link alone is one of an interface, whose number stands last (RFC 4007 section 11).
        link = f"%{where[3]}" if len(where) == 4 and where[3] else ""
        address = _plain(ipaddress.ip_address(str(where[0]).partition("%")[0] + link))
        if address.is_multicast or address.is_unspecified or address == _ALL_HOSTS:
            raise refused("HOST", host, "the address of one host")
        addresses[address] = f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"
    return addresses


def _name_and_port(host: str) -> tuple[str, str]:
    """What stands in ``HOST``, ``HOST:PORT``, ``ADDRESS`` or ``[ADDRESS]:PORT``."""
    found = re.fullmatch(r"\[([^][]+)](?::([0-9]+))?|([^][:]+)(?::([0-9]+))?", host)
    if found:
        name, port = found[1] or found[3], found[2] or found[4] or str(PORT)
    else:
        name, port = host, str(PORT) if _is_address(host) else ""
    if not (port and 0 < int(port) < 1 << 16):
        raise refused("HOST", host, "HOST, HOST:PORT or [ADDRESS]:PORT")
    return name, port


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _in_a_lab(address: Address) -> None:
    if not any(address in network for network in _LAB if network.version == address.version):
        networks = ", ".join(str(network) for network in _LAB)
        raise refused("--plaintext", str(address), f"an address of a lab's own network ({networks}); others need keys")


def _own_address() -> str:
    """The address by which this host reaches others, which are not asked."""
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((elsewhere, 9))
            except OSError:
                continue
            return str(probe.getsockname()[0])
    return socket.gethostname()


# --- What is seen on the way ----------------------------------------------------------------------------------------


class _Seen:
    """Hears from the core, and shows a bar with live rates to somebody on a terminal."""

    def __init__(self, common: Common, listening: Callable[[int], None] | None = None) -> None:
        self._listening = listening
        self._is_seen = sys.stderr.isatty() and not common.as_json
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._what = ""
        self._packet: int | None = None

    def __enter__(self) -> _Seen:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def hear(self, text: str) -> None:
        """What the core says, in JSON."""
        said = json.loads(text)
        phase = said["phase"]
        if phase == "listening":
            if self._listening is not None:
                self._listening(said["port"])
        elif phase == "offer":
            typer.echo(f"{said['name']}, {said['total']:,} bytes, comes under {said['scheme']}", err=True)
        elif phase == "refused":
            typer.echo(f"refused {said['name']}, and still waiting: {said['why']}", err=True)
        else:
            self._hear_of_packets(said["packet_bytes"])
            if self._is_seen and said["total"]:
                self._show(phase, said["done"], said["total"], said["rtt_seconds"])

    def _hear_of_packets(self, longest: int | None) -> None:
        """The longest packet, as long as it is known."""
        if longest is None:
            return
        if self._packet is not None and longest != self._packet:
            change = "shorter packets now" if longest < self._packet else "longer packets again"
            line = f"the path carries {change}: at most {longest:,} bytes each, and {self._packet:,} before"
            if self._progress is None:
                typer.echo(line, err=True)
            else:
                self._progress.console.print(line)
        self._packet = longest

    def _show(self, phase: str, done: int, total: int, rtt: float | None) -> None:
        progress = self._progress or self._begin()
        if self._task is None or phase != self._what:
            # A phase of its own, so that its rate is no mean with that of the one before.
            if self._task is not None:
                progress.remove_task(self._task)
            self._what = phase
            self._task = progress.add_task(phase, total=total, completed=done, rtt="")
        shown = "" if rtt is None else f"RTT {1e3 * rtt:.3g} ms"
        progress.update(self._task, completed=done, rtt=shown)

    def _begin(self) -> Progress:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TextColumn("{task.fields[rtt]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=4,
        )
        self._progress.start()
        return self._progress
