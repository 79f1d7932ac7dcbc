"""Commands that move files between hosts. What they do is in ``commands/transfer.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailback.cli.options import Custom, Json
from tailback.commands import complete

Patience = Annotated[
    str, typer.Option(help="The idle timeout: how long the other side may say nothing before it is an error.")
]
Plaintext = Annotated[
    bool,
    typer.Option("--plaintext", help="Without keys and encryption: only to this host itself and in a lab's networks."),
]


def send(
    file: Annotated[Path | None, typer.Argument(help="The file.", metavar="FILE", show_default=False)] = None,
    host: Annotated[
        str | None, typer.Argument(help="Where `tailback recv` waits.", metavar="HOST[:PORT]", show_default=False)
    ] = None,
    scheme: Annotated[
        str, typer.Option(help="Congestion control, by name or as a table.", autocompletion=complete.schemes)
    ] = "cubic",
    key: Annotated[str | None, typer.Option(help="What `tailback recv` printed.", show_default=False)] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Change a field of the flow, for example --set transport.ecn=ect0. Repeatable, once per field.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the result.", metavar="FOLDER")] = None,
    patience: Patience = "10 s",
    mtu: Annotated[
        int,
        typer.Option(min=1280, max=65535, help="The longest IP packet, in bytes; a shorter one is used if need be."),
    ] = 1500,
    raise_mtu: Annotated[
        str, typer.Option(help="Where packets are shorter than --mtu, how often longer ones are tried again.")
    ] = "10 min",
    seed: Annotated[int, typer.Option(min=0, help="Of the scheme's random choices.")] = 1,
    plaintext: Plaintext = False,
    custom: Custom = None,
    json: Json = False,
    show_key: Annotated[bool, typer.Option("--show-key", help="Print this user's public key and stop.")] = False,
) -> None:
    """Send a file to `tailback recv` at another host, over UDP under any scheme that sets a rate or a window. Linux only.

    What was interrupted goes on where it was. The file's hash is compared at the end.
    """
    from tailback.commands import transfer
    from tailback.commands.custom import use_files

    if show_key:
        transfer.show_key()
        return
    if file is None or host is None:
        raise typer.BadParameter("expected FILE and HOST")
    use_files(custom or [])
    common = transfer.Common(patience, plaintext, out, json)
    lengths = transfer.Lengths(mtu, raise_mtu)
    transfer.send_file(file, host, key, common, scheme=scheme, changes=changes or [], lengths=lengths, seed=seed)


def recv(
    folder: Annotated[Path, typer.Argument(help="Where the file goes.", metavar="FOLDER")] = Path(),
    port: Annotated[int, typer.Option(min=0, max=65535, help="UDP port; 0 for any that is free.")] = 4747,
    address: Annotated[str | None, typer.Option(help="Of this host.", show_default="all of them")] = None,
    only: Annotated[
        str | None, typer.Option(help="The public key of the one who may send.", show_default="whoever has the command")
    ] = None,
    new_key: Annotated[bool, typer.Option("--new-key", help="From now on, earlier commands are refused.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file of the same name.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the result.", metavar="FOLDER")] = None,
    patience: Patience = "10 s",
    plaintext: Plaintext = False,
    custom: Custom = None,
    json: Json = False,
) -> None:
    """Wait for one file from `tailback send`; print what to type at the other host. Linux only.

    The file has its name only when it is whole and its hash is right.
    """
    from tailback.commands import transfer
    from tailback.commands.custom import use_files

    use_files(custom or [])
    common = transfer.Common(patience, plaintext, out, json)
    transfer.receive_file(folder, common, address=address, port=port, only=only, overwrite=overwrite, new_key=new_key)
