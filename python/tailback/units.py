"""Quantities as written in scenarios ("10 Mbit/s", "5 ms") made from numbers, and numbers from them, for scripts that
compute their parameters; and the units of result columns. Scenarios themselves are read by the core alone."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from tailback.errors import ArgumentError, refused

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

_FACTORS: Final = {
    "s": 1.0,
    "ms": 1e-3,
    "µs": 1e-6,
    "μs": 1e-6,
    "us": 1e-6,
    "ns": 1e-9,
    "min": 60.0,
    "h": 3600.0,
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
    "Tbit/s": 1e12,
    "B/s": 8.0,
    "kB/s": 8e3,
    "MB/s": 8e6,
    "GB/s": 8e9,
    "B": 1.0,
    "byte": 1.0,
    "bytes": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 1024.0,
    "MiB": 1024.0**2,
    "GiB": 1024.0**3,
    "packet": 1.0,
    "packets": 1.0,
}
"""Those that the core reads. Both letters that look like a micro sign count as one; what is printed has the micro sign."""
KINDS: Final = (
    ("s", "ms", "µs", "μs", "us", "ns", "min", "h"),
    ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "B/s", "kB/s", "MB/s", "GB/s"),
    ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "byte", "bytes"),
    ("packets", "packet"),
)
"""Units of one kind, the base unit first."""
_RELATIVE: Final = "BDP"
"""The unit of buffers that are so many bandwidth-delay products of their scenario."""
_PERCENTAGE: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%\s*")
Kind: TypeAlias = Literal["time", "rate", "data"]
_KINDS: Final[dict[Kind, tuple[tuple[str, ...], str]]] = {
    "time": (KINDS[0], "a time with its unit, such as '5 ms'"),
    "rate": (KINDS[1], "a rate with its unit, such as '10 Mbit/s'"),
    "data": (KINDS[2], "an amount of data with its unit, such as '4 MB'"),
}
_WRITTEN: Final = re.compile(
    r"\s*([0-9][0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµμ/]+)\s*"
)


def time(seconds: float) -> str:
    """A length of time, to the nearest nanosecond: ``time(0.005)`` is ``"5 ms"``."""
    return _exact(round(_positive(seconds, "seconds") * 1e9), (("s", 10**9), ("ms", 10**6), ("µs", 10**3), ("ns", 1)))


def rate(bits_per_second: float) -> str:
    """A rate, to the nearest bit per second: ``rate(32e6)`` is ``"32 Mbit/s"``."""
    bits = round(_positive(bits_per_second, "bits_per_second"))
    return _exact(bits, (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3), ("bit/s", 1)))


def size(count: float) -> str:
    """An amount of data in bytes, to the nearest byte: ``size(1500)`` is ``"1500 B"``."""
    return _exact(round(_positive(count, "bytes")), (("GB", 10**9), ("MB", 10**6), ("B", 1)))


def packets(count: int) -> str:
    """A buffer or an amount of data in packets."""
    return counted(count, "packet")


def shown(written: T) -> T | str:
    """A quantity as people write it: one packet is ``1 packets`` in the text whose hash a scenario has. Other values stay."""
    return "1 packet" if written == "1 packets" else written


def all_shown(table: dict[str, Any]) -> dict[str, Any]:
    """The same of all values of a table, for what reads JSON of the core's."""
    return {name: shown(value) for name, value in table.items()}


def counted(count: float, what: str) -> str:
    """So many of something, in words: ``1 flow``, ``2 flows``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def number(written: str, kind: Kind | None = None) -> float:
    """The value of a written quantity in base units: seconds, bits per second, bytes or packets.

    Args:
        written: a number and its unit.
        kind: what the quantity must be; where absent, any of these.

    Raises:
        ValueError: where there is no number, it is not finite, or no known unit of the kind.
    """
    if not isinstance(written, str):
        raise refused("written", written, "a quantity with its unit, such as '5 ms'")
    match = _WRITTEN.fullmatch(written)
    if match is None and written.lstrip()[:1] in {"-", "\N{MINUS SIGN}"} and _WRITTEN.fullmatch(written.lstrip()[1:]):
        raise ArgumentError(f"{written!r} is not allowed; expected a quantity that is not negative, such as '5 ms'")
    units, expected = _KINDS[kind] if kind else (_FACTORS, "for example '10 Mbit/s' or '5 ms'")
    if match is None or match[2] not in _FACTORS:
        raise ArgumentError(f"{written!r} is not a quantity with its unit; expected {expected}")
    count, factor = float(match[1].replace("_", "")), _FACTORS[match[2]]
    # Divided where the factor is no number of a computer's: 9 ms are the number that 0.009 is, by which tables are searched.
    found = count * factor if factor >= 1.0 else count / round(1.0 / factor)
    if match[2] not in units or not math.isfinite(found):
        raise ArgumentError(f"{written!r} is not allowed; expected {expected}")
    return found


def option(name: str, written: str, kind: Kind, *, positive: bool = False) -> float:
    """The value of a quantity that a user has given for an option or an argument.

    Raises:
        ArgumentError: where it is none of this kind, or zero where it must be positive.
    """
    expected = _KINDS[kind][1] + (", above zero" if positive else "")
    try:
        found = number(written, kind)
    except ValueError:
        raise refused(name, written, expected) from None
    if positive and not found > 0.0:
        raise refused(name, written, expected)
    return found


def meant_by_percentage(value: object) -> str:
    """What to add to a complaint where somebody wrote a percentage for a number, in the core's words; nothing otherwise."""
    match = _PERCENTAGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return ""
    return f" (did you mean {float(f'{match[1]}e-2'):g}? Percentages are written as parts of one)"


def in_base_units(written: Sequence[object]) -> tuple[list[float | None], str] | None:
    """Written quantities of one kind as numbers, with their base unit; ``None`` where they are anything else. What is missing
    stays missing."""
    matches = [_WRITTEN.fullmatch(text) if isinstance(text, str) else None for text in written if text is not None]
    units = {match[2] for match in matches if match}
    if units == {_RELATIVE} and all(matches):  # Of what, each scenario says; among themselves they are to scale.
        return [
            None if text is None else float(str(text).split(_RELATIVE)[0].replace("_", "")) for text in written
        ], _RELATIVE
    kind = next((kind for kind in KINDS if units and units <= set(kind)), None)
    if kind is None or not all(matches):
        return None
    return [None if text is None else number(str(text)) for text in written], kind[0]


def _positive(value: float, name: str) -> float:
    if not isinstance(value, Real) or not 0.0 <= value < 1e18:
        raise ArgumentError(f"{name}: {value!r} is not allowed; expected a finite number of at least 0")
    return value


def _exact(count: int, units: tuple[tuple[str, int], ...]) -> str:
    """In the largest unit that leaves a whole number, so that nothing is rounded."""
    for unit, factor in units[:-1]:
        if count and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count} {units[-1][0]}"


def scale_of(values: pl.Series, unit: str) -> tuple[float, str]:
    """The factor and the unit that suit a whole column of numbers in base units; fractions go into percent."""
    if unit == "fraction":
        return 100.0, "%"
    top = float(values.abs().max() or 0.0)  # type: ignore[arg-type]  # The greatest of numbers is a number.
    value, name = scaled(top, unit)
    return (value / top if top else 1.0), name


def scaled(value: float, unit: str) -> tuple[float, str]:
    """A number in base units made easy to read: ``scaled(3.2e7, "bit/s")`` is ``(32.0, "Mbit/s")``."""
    size_of = abs(value)
    if unit == "s":
        for factor, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if size_of >= factor or name == "µs":
                return (value / factor, name) if size_of else (0.0, "s")
    if unit in {"bit/s", "B"}:
        for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if size_of >= factor:
                return value / factor, prefix + unit
    return value, unit
