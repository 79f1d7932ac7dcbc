"""Reports of custom feedback policies: data classes of numbers, which travel as numbers. The policies are in
``parts.py``."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Sequence
from typing import Any

from tailback.errors import PartError

_KINDS: dict[Any, Callable[[float], Any]] = {float: float, int: int, bool: bool}


def report_reader(report: Any) -> Callable[[Sequence[float]], Any]:
    """What makes a report of this type from its numbers.

    Raises:
        PartError: where it is no data class, or one of its fields is no number.
    """
    name = getattr(report, "__name__", repr(report))
    if not (isinstance(report, type) and dataclasses.is_dataclass(report)):
        raise PartError(f"{name}: cannot be a type of reports; expected a data class of numbers")
    try:
        hints = typing.get_type_hints(report)
    except NameError as error:
        raise PartError(f"{name}: {error}; expected a data class of float, int or bool") from error
    fields = [field.name for field in dataclasses.fields(report)]
    for field in fields:
        if hints.get(field) not in _KINDS:
            raise PartError(f"{name}.{field}: {hints.get(field)} cannot travel; expected float, int or bool")
    kinds = [_KINDS[hints[field]] for field in fields]

    def read(numbers: Sequence[float]) -> Any:
        return report(*(kind(number) for kind, number in zip(kinds, numbers, strict=True)))

    return read
