"""``tailback send`` and ``tailback recv``: a file from one host to another, and a result at the end. What is seen on the way is in
``moving.py``; how bytes travel is the core's business, keys, addresses and scenarios that of ``transfer/``."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tailback.commands.console import stoppable
from tailback.commands.moving import Seen, in_bytes
from tailback.errors import ArgumentError, refused
from tailback.results.files import make_folder
from tailback.transfer import addresses, keys
from tailback.transfer.ending import heeding
from tailback.transfer.errors import ChangedError, TransferError

if TYPE_CHECKING:
    from tailback import _core
    from tailback.commands.keeping import Kept
    from tailback.results import Result


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
        TailbackError: whatever keeps it from arriving, or from being by then what has arrived.
    """
    from tailback import _core
    from tailback.transfer.classes import told_of
    from tailback.transfer.flow import scenario_of

    common.expect_room()
    found = addresses.resolved(host)
    told: dict[str, Any] = {
        "file": _text(file.absolute()),
        "peers": list(found.values()),
        "patience_seconds": common.seconds(),
        "keeps": common.out is not None,
        **lengths.told(),
    }
    if common.plaintext:
        for address in found:
            addresses.expect_lab(address)
    elif key is None:
        raise ArgumentError("--key is missing; expected what `tailback recv` printed at the other host")
    else:
        told |= {"invitation": list(keys.invitation(key)), "keys": keys.own().told()}
    scenario = scenario_of(file.name, scheme, changes, seed)
    told["classes"] = told_of(json.loads(scenario)["flows"][0]["scheme"])
    left = "the receiver keeps what has arrived; the same commands go on from there"
    with (
        Seen(quiet=common.as_json) as seen,
        stoppable(lambda: left if seen.has_begun else "nothing was sent"),
        heeding(),
    ):
        moved = _moved(lambda: _core.send_file(scenario, json.dumps(told), seen.hear))
    _tell(moved, common, f"sent {moved.report['name']} to {moved.report['peer']}")
    if moved.report["has_changed"]:
        raise ChangedError(
            f"{file} has changed since it was offered: the receiver has it as it was then; `tailback recv --overwrite` and the "
            "same command send it as it is now"
        )


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
    place = None if address is None else addresses.read(address)
    told: dict[str, Any] = {
        "folder": _text(folder),
        "address": None if place is None else str(place).partition("%")[0],
        "link": 0 if place is None else addresses.interface(place),
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
        addresses.expect_lab(place)
    else:
        own = keys.own(fresh=new_key)
        told["keys"], key = own.told(), own.invitation()

    def listening(actual: int) -> None:
        # The other host calls its interface to the same link by a name of its own.
        where = addresses.own() if place is None else re.sub("%.*", "%INTERFACE", str(place))
        there = f"[{where}]" if ":" in where else where
        words = ["tailback", "send", "FILE", there if actual == addresses.PORT else f"{there}:{actual}"]
        words += ["--key", key] if key else ["--plaintext"]
        typer.echo(f"Waiting for a file. At the other host: {shlex.join(words)}", err=True)

    admission = Admission()
    left = "what has arrived is kept; the same commands go on from there"
    with (
        Seen(listening, quiet=common.as_json) as seen,
        stoppable(lambda: left if seen.has_begun else "nothing has come"),
        heeding(),
    ):
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
        raw, said = runs.carry(move, apart=Seen.hear.__code__)
    except _core.TransferError as error:
        raise TransferError(str(error)) from None
    return _Moved(raw, time.monotonic() - began, json.loads(said) | {"made": {"command": "send"}})


def _of_one_end(moved: _Moved) -> Result:
    """The result without figures of links: nobody has seen the network between, and zeros would say that it was idle. Its tables
    take longer to import than many a file takes to arrive: they are made where they are kept alone."""
    import dataclasses

    import polars as pl

    from tailback.results.from_core import result_of

    assert moved.raw is not None, "it is kept where a folder was named"
    result = result_of(moved.raw, moved.wall, real=moved.report)
    numbers = [name for name, kind in result.links.schema.items() if kind.is_numeric()]
    unknown = result.links.with_columns(pl.lit(None, dtype=result.links.schema[name]).alias(name) for name in numbers)
    return dataclasses.replace(result, links=unknown, link_series=result.link_series.clear())


def _tell(moved: _Moved, common: Common, what: str) -> None:
    """Saves the result, where it is to be kept, and says how the transfer went.

    Raises:
        StorageError: where the result could not be saved; the file has arrived, and that is said all the same.
    """
    saved = _kept(moved, common.out)
    _say(moved, common, what, saved)
    if saved is not None:
        saved.expect()


def _kept(moved: _Moved, out: Path | None) -> Kept | None:
    if out is None:
        return None
    from tailback.commands.keeping import kept

    return kept(out, out, lambda _: True, lambda folder: _save(_of_one_end(moved), folder))


def _say(moved: _Moved, common: Common, what: str, saved: Kept | None) -> None:
    """The last lines: what has arrived, what else there is, and the result's folder."""
    from tailback.commands.run import shown

    report = moved.report
    sent = report["bytes"] - report["resumed_bytes"]
    rate = 8 * sent / report["seconds"] if report["seconds"] > 0 else 0.0
    if common.as_json:
        where = {} if saved is None else {"out": saved.folder()}
        typer.echo(json.dumps({**report, "rate": rate, **where}, ensure_ascii=False))
        return
    if report["bytes"] and not sent:
        typer.echo(f"{what}: {in_bytes(report['bytes'])}, all of which were there before")
    else:
        resumed = f", {report['resumed_bytes']:,} of them before" if report["resumed_bytes"] else ""
        took = f"in {shown(report['seconds'], 's')}, {shown(rate, 'bit/s')}"
        typer.echo(f"{what}: {in_bytes(report['bytes'])}{resumed} {took}")
    typer.echo(f"sha256 {report['sha256']}, equal at both ends")
    for other in report.get("other_partial_files", ()):
        typer.echo(
            f"beside it is {other}, of a transfer that broke off: of this name, with other bytes or from another sender"
        )
    if saved is not None and saved.why is None:
        typer.echo(f"saved in {common.out}")


def _save(result: Result, folder: Path) -> None:
    from tailback.commands.overview import draw_overview
    from tailback.results.store import save

    def draw(beside: Path) -> None:
        if result.flow_series.height:
            draw_overview(result, beside)

    save(result, folder, also=draw)


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
