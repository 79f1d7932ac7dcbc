"""What a sender tells the receiver of the Python classes that its file comes under, and what the receiver makes of that: most
classes have no half there, and then what they want from their endpoints is enough. The core carries the words."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tailback import _core
from tailback.custom import shipping
from tailback.custom.code import digest_of
from tailback.custom.parts import Controller
from tailback.custom.registry import Part, registered, scheme_of_name, wants

_OWN: Final = "own"
"""Reports that a class of the sender's file makes."""
_USUAL: Final = wants(Controller)  # type: ignore[type-abstract]  # Its attributes are read; nothing is made of it.
"""What a class wants that says nothing."""
_SHOWN: Final = 12
"""Letters of a digest that people see."""


def told_of(scheme: Any) -> dict[str, Any]:
    """By name, what a receiver must know of the classes in a flow's scheme."""
    classes = {name: scheme_of_name(name) for _, name in sorted(shipping.named_in(scheme, "scheme"))}
    return {name: _told(part) for name, part in classes.items() if part is not None}


def _told(part: type[Controller]) -> dict[str, Any]:
    usual = dict(_USUAL)
    told: dict[str, Any] = {"wants": {name: word for name, word in wants(part).items() if word != usual[name]}}
    if isinstance(part.policy, _core.ArrivalReports):
        (interval,), named = part.policy.__getnewargs_ex__()
        told["reports"] = {"interval": interval, **named}
    elif part.policy is not None:
        told |= {"reports": _OWN, "file": _file(part), "digest": digest_of(part)}
    return told


def _file(part: Part) -> str:
    return Path(inspect.getsourcefile(part) or "").name


class Admission:
    """The classes that the receiver has, as they are when it begins to wait: their files may change while it does."""

    def __init__(self) -> None:
        self._digests = {name: digest_of(part) for (place, name), part in registered().items() if place == "scheme"}

    def refusal(self, text: str) -> str:
        """Makes ready for the classes that an offer tells of in JSON; why that cannot be, or nothing."""
        try:
            for name, told in json.loads(text).items():
                if why := self._unlike(name, told):
                    return why
        except Exception as error:  # Whatever a sender may say.
            return f"what the offer says of its class makes no sense: {error}"
        return ""

    def _unlike(self, name: str, told: Mapping[str, Any]) -> str:
        reports = told.get("reports")
        if reports != _OWN:
            made = None if reports is None else _core.ArrivalReports(**reports)
            _core.register_receiver(name, made, {**_USUAL, **told["wants"]})
            return ""
        theirs = f"{told['file']} (digest {told['digest'][:_SHOWN]})"
        part, digest = scheme_of_name(name), self._digests.get(name)
        if part is None or digest is None:
            return (
                f"the class {name} has a part for the receiver, which does not know it; "
                f"expected `tailback recv --custom FILE.py` with the sender's {theirs}"
            )
        if digest != told["digest"]:
            ours = f"{_file(part)} (digest {digest[:_SHOWN]})"
            return (
                f"the class {name} is not the same at both ends: the sender has {theirs}, the receiver {ours}; "
                "expected the sender's file"
            )
        return ""
