"""What stands in place of signs that an output cannot show, as in the locale "C": words and ASCII. Which encoding an output
has is decided by the user."""

from __future__ import annotations

import codecs

HANDLER = "tailback.letters"
"""The name under which Python knows :func:`instead`."""
_INSTEAD = {
    "✓": "yes",
    "✗": "no",
    "±": "+-",
    "§": "section ",
    "×": "x",
    "·": "*",
    "—": "-",
    "–": "-",
    "−": "-",
    "…": "...",
    "→": "->",
    "←": "<-",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "µ": "u",
    "μ": "u",
}


def instead(error: UnicodeError) -> tuple[str, int]:
    """What is written in place of signs that an encoding lacks, and where writing goes on; a question mark for those that have
    no words."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_INSTEAD.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error(HANDLER, instead)


def fits(text: str, encoding: str | None) -> bool:
    """Whether an output of this encoding can show a text as it is."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def written(text: str, encoding: str | None) -> str:
    """A text as an output of this encoding shows it, so that tables are as wide as what is in them."""
    return (
        text if fits(text, encoding) else text.encode(encoding or "ascii", errors=HANDLER).decode(encoding or "ascii")
    )
