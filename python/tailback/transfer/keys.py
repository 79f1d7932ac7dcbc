"""This host's long-term keys, in a file that only its user can read, and invitations as people type them."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tailback.errors import TailbackError, refused

_LENGTH: Final = 48
"""Bytes of an invitation: the receiver's public key and a secret."""
_PUBLIC: Final = 32


@dataclass(frozen=True, repr=False)
class Keys:
    """A key pair."""

    private: bytes
    public: bytes

    def told(self) -> dict[str, list[int]]:
        """For the core."""
        return {"private": list(self.private), "public": list(self.public)}

    def invitation(self) -> str:
        """What senders type."""
        from tailback import _core

        return written(bytes(_core.invitation(self.private, self.public)))


def place() -> Path:
    """The file of this user's keys."""
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "tailback" / "keys.json"


def own(*, fresh: bool = False) -> Keys:
    """This user's keys, made where there are none, or where others are wanted.

    Raises:
        TailbackError: where the file cannot be read or written, or others can read it.
    """
    path = place()
    try:
        if not fresh and path.exists():
            return _read(path)
        return _make(path)
    except OSError as error:
        raise TailbackError(f"{path}: {error.strerror}") from None


def _read(path: Path) -> Keys:
    if path.stat().st_mode & 0o077:
        raise TailbackError(f"{path} can be read by others; expected: chmod 600 {path}")
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        keys = Keys(bytes.fromhex(said["private"]), bytes.fromhex(said["public"]))
    except (ValueError, KeyError, TypeError):
        raise TailbackError(f"{path} holds no keys; remove it to have new ones") from None
    if len(keys.private) != _PUBLIC or len(keys.public) != _PUBLIC:
        raise TailbackError(f"{path} holds no keys; remove it to have new ones")
    return keys


def _make(path: Path) -> Keys:
    from tailback import _core

    private, public = (bytes(key) for key in _core.new_keys())
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump({"private": private.hex(), "public": public.hex()}, file)
    beside.replace(path)
    return Keys(private, public)


def written(key: bytes) -> str:
    """A key or an invitation in letters and digits that survive a telephone: base32 (RFC 4648) without capitals."""
    return base64.b32encode(key).decode().rstrip("=").lower()


def invitation(text: str) -> bytes:
    """The invitation that somebody has typed."""
    return _typed(text, "--key", _LENGTH, "what `tailback recv` printed")


def public(text: str) -> bytes:
    """The public key that somebody has typed."""
    return _typed(text, "--only", _PUBLIC, "what `tailback send --show-key` prints")


def _typed(text: str, option: str, length: int, allowed: str) -> bytes:
    compact = "".join(text.split()).upper()
    try:
        found = base64.b32decode(compact + "=" * (-len(compact) % 8))
    except ValueError:  # Letters outside of ASCII among others; what base32 itself complains of is a kind of it.
        found = b""
    if len(found) != length:
        raise refused(option, text, allowed)
    return found
