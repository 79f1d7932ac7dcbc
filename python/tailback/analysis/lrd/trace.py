"""Traces of traffic from files, as volumes per bin: CSV, Parquet, pcap, pcapng, and the folder of a finished run. What is said
about them is worked out elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tailback.analysis.arguments import expect_numbers, expect_positive, row
from tailback.analysis.lrd.estimate import Floats
from tailback.calls import checked_call
from tailback.errors import ArgumentError, NotFoundError, StorageError, one_of, refused
from tailback.paths import isdir, why_not

BIN = 0.01
"""Seconds: the bins that packets are counted in where nothing else is said (Tuan and Park §4.1)."""
TIMES = ("time", "timestamp", "t", "seconds")
"""Names of a column of times."""
_MOST_BINS = 200_000_000


@dataclass(frozen=True)
class Trace:
    """A series of volumes.

    Raises:
        ArgumentError: for values that are no numbers in one row, or bins without a length.
    """

    name: str
    values: Floats
    """Per bin."""
    bin: float
    """Seconds."""
    unit: str = "B"
    """Of the volumes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", row("values", self.values))
        expect_numbers(bin=self.bin)
        expect_positive(bin=self.bin)

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.values.size * self.bin


@checked_call
def read_trace(
    path: str | Path, *, bin: float | None = None, column: str | None = None, link: str | None = None
) -> Trace:
    """Reads a trace, by the ending of its name.

    A table (``.csv``, ``.parquet``) with a column of times has a row per packet, or per bin where times are evenly spaced and
    no other ``bin`` is said; without one, a row per bin. A capture (``.pcap``, ``.pcapng``, ``.cap``) has packets. A folder is
    that of a run: the series of a link, of the bottleneck where none is named.

    Args:
        path: a file or a folder.
        bin: seconds per bin.
        column: the table's column of volumes; by default the only one with numbers, or ``bytes``, ``size`` or ``length``. Of a
            run, ``transmitted_bytes`` by default.
        link: of a run.

    Raises:
        StorageError: where it cannot be read or is damaged.
        ArgumentError: for a bin that makes no sense.
        NotFoundError: for a column or link that there is none of.
    """
    if bin is not None and not (math.isfinite(bin) and bin > 0.0):
        raise refused("bin", bin, "a time above zero")
    place = Path(path)
    if isdir(place):
        return _of_run(place, bin, column, link)
    if link is not None:
        raise refused("link", link, "a link only where the trace is the folder of a run")
    if found := why_not(place):
        raise StorageError(f"{place}: {found}; expected a trace, or the folder of a run")
    kind = place.suffix.lower()
    if kind in {".pcap", ".pcapng", ".cap"}:
        from tailback.capture.packets import read_packets

        packets = read_packets(place)
        return binned(packets.times, packets.lengths.astype(np.float64), bin or BIN, place.name)
    if kind in {".csv", ".parquet"}:
        return _of_table(place, _table(place, _csv if kind == ".csv" else pl.read_parquet), bin, column)
    raise StorageError(
        f"{place}: expected a file that ends in .csv, .parquet, .pcap or .pcapng, or the folder of a run"
    )


def binned(times: Floats, volumes: Floats, bin: float, name: str) -> Trace:
    """Volumes at times in seconds, summed per bin; the last bin, which is not full, is left out.

    Raises:
        ArgumentError: where all times are the same, or for fewer than two bins, or so many that they would take all memory.
    """
    at = times - times.min()
    span = float(at.max())
    if not span > 0.0:
        raise ArgumentError(f"{name}: all volumes at one time are not allowed; expected times that differ")
    count = int(span / bin)
    if count < 2 or count > _MOST_BINS:
        raise ArgumentError(
            f"bin: {bin:g} s is not allowed; expected from {max(span, 1e-9) / _MOST_BINS:.3g} s to {span / 2:.3g} s here"
        )
    index = np.minimum((at / bin).astype(np.int64), count)
    filled = np.bincount(index, weights=volumes, minlength=count + 1).astype(np.float64)
    return Trace(name, filled[:count], bin)


def _table(place: Path, read: Callable[[Path], pl.DataFrame]) -> pl.DataFrame:
    try:
        return read(place)
    except OSError as error:
        raise StorageError(f"{place}: cannot be read ({error.strerror or error})") from error
    except pl.exceptions.PolarsError as error:
        first = (str(error).splitlines() or ["unknown reason"])[0]
        raise StorageError(f"{place}: is no table that can be read ({first})") from error


def _csv(place: Path) -> pl.DataFrame:
    """A file whose first line is of numbers has no head."""
    table = pl.read_csv(place, comment_prefix="#", infer_schema_length=10_000)
    headless = all(_is_number(name.split("_duplicated_")[0]) for name in table.columns)
    return pl.read_csv(place, has_header=False, comment_prefix="#", infer_schema_length=10_000) if headless else table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _of_table(place: Path, table: pl.DataFrame, bin: float | None, column: str | None) -> Trace:
    numbers = [name for name in table.columns if table[name].dtype.is_numeric()]
    if not numbers:
        raise StorageError(f"{place}: has no column of numbers; found {', '.join(table.columns) or 'no column'}")
    clock = next((name for name in numbers if name.lower() in TIMES and name != column), None)
    chosen = _volumes(place, [name for name in numbers if name != clock], column)
    volumes = _numbers(place, table, chosen)
    if volumes.min() < 0.0:
        raise StorageError(
            f"{place}: column {chosen} has {volumes.min():g}; expected volumes, which are not below zero"
        )
    if clock is None:
        return Trace(place.name, volumes, bin or BIN)
    times = _numbers(place, table, clock)
    steps = np.diff(times)
    width = float(np.median(steps)) if steps.size else 0.0
    even = width > 0.0 and bool(np.all(np.abs(steps - width) <= 1e-3 * width))
    if even and (bin is None or abs(bin - width) <= 1e-3 * width):
        return Trace(place.name, volumes, width)
    return binned(times, volumes, bin or BIN, place.name)


def _volumes(place: Path, numbers: list[str], column: str | None) -> str:
    if column is not None:
        if column not in numbers:
            raise NotFoundError(f"{column}: no such column of numbers in {place}; expected {one_of(column, numbers)}")
        return column
    likely = [name for name in ("bytes", "size", "length", "transmitted_bytes", "volume") if name in numbers]
    if likely or len(numbers) == 1:
        return (likely or numbers)[0]
    if not numbers:
        raise ArgumentError(f"column: {place} has none of numbers, beside times; expected one of volumes")
    raise ArgumentError(f"column: {place} has several; expected one of {', '.join(numbers)}")


def _numbers(place: Path, table: pl.DataFrame, column: str) -> Floats:
    found = table[column]
    if found.null_count():
        raise StorageError(f"{place}: column {column} has {found.null_count()} rows without a number")
    values = found.cast(pl.Float64).to_numpy()
    if values.size == 0 or not np.all(np.isfinite(values)):
        raise StorageError(
            f"{place}: column {column} has {'no rows' if values.size == 0 else 'values that are not finite'}"
        )
    return np.asarray(values, dtype=np.float64)


def _of_run(place: Path, bin: float | None, column: str | None, link: str | None) -> Trace:
    from tailback.results import Result
    from tailback.saved import load

    found = load(place)
    if not isinstance(found, Result):
        raise StorageError(f"{place}: is a sweep; expected the folder of one run")
    series = found.series(link=link, after_warm_up=True)
    wanted = column or "transmitted_bytes"
    if wanted not in series.columns or not series[wanted].dtype.is_numeric():
        raise NotFoundError(f"{wanted}: no such column of the series; expected {one_of(wanted, series.columns)}")
    values = _numbers(place, series, wanted)
    name, unit = f"{found.title}, {series['link'][0]}", found.units.get(wanted, "")
    if bin is None or abs(bin - found.bin) < 1e-9:
        return Trace(name, values, found.bin, unit)
    width = round(bin / found.bin)
    if width < 1 or abs(width * found.bin - bin) > 1e-6 * bin:
        raise refused("bin", bin, f"a multiple of the run's bins of {found.bin:g} s")
    count = values.size // width
    return Trace(name, values[: count * width].reshape(count, width).sum(axis=1), bin, unit)
