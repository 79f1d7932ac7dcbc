"""What ``tailback shell`` says at its end: packets, drops, marks and delays of both directions, and how late it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailback.units import scaled


def summary(real: Mapping[str, Any], folder: str | None) -> str:
    """The lines, without color: they may end up in a log. From the report alone: arrays take longer to import than many a command
    takes."""
    seconds = real["seconds"]
    lines = [f"tailback: {_shown(seconds, 's')} behind the link"]
    for name in ("up", "down"):
        way = real["directions"][name]
        came = way["arrived_packets"] - way["link_local_packets"]  # Neighbours' talk is not for the link.
        lines.append(
            f"  {name + ':':6}{way['delivered_packets']:,} of {came:,} packets, "
            f"{way['dropped_packets']:,} dropped, {way['marked_packets']:,} marked; "
            f"{_shown(8.0 * way['transmitted_bytes'] / seconds if seconds else 0.0, 'bit/s')}; "
            f"delay {_quantiles(way['delay'])}"
        )
        if way["malformed_packets"]:
            lines.append(f"        {way['malformed_packets']:,} malformed")
    late, budget = real["lateness"], real["budget"]
    allowed = f"{_shown(budget['median_seconds'], 's')}, {_shown(budget['p99_seconds'], 's')}"
    lines.append(f"  late: {_quantiles(late, ('p50', 'p99'))} (median, 99 %); allowed {allowed}")
    if real["calls"]["packets"]:
        lines.append(f"  calls of custom parts: {_quantiles(real['calls'], ('p50', 'p99'))} (median, 99 %)")
    lines += [f"  INVALID: {reason}" for reason in real["reasons"]]
    if real["server"]:
        lines += _of_server(real["server"])
    if real["flows"] > (kept := real["flow_rows"]):
        lines.append(f"  flows beyond the first {kept:,} have no rows: {real['flows']:,} in all")
    if real["is_log_full"]:
        lines.append("  the log of packets grew to 1 GB and ends there")
    if folder:
        lines.append(f"  saved in {folder}")
    return "\n".join(lines)


def _of_server(server: dict[str, Any]) -> list[str]:
    """What became of a server that ended before the command, with its last words where it failed."""
    said = server["said"] if server["status"] else []
    ended = f"  the server ended with status {server['status']} before the command did"
    return [ended + (", and said last:" if said else ""), *(f"    {line}" for line in said)]


def _quantiles(spans: dict[str, Any], which: tuple[str, ...] = ("p50", "p90", "p99")) -> str:
    """Quantiles of spans of time."""
    if not spans["packets"]:
        return "—"
    values = ", ".join(_shown(spans[f"{name}_seconds"], "s") for name in which)
    return f"{values} (median, 90 %, 99 %)" if which == ("p50", "p90", "p99") else values


def _shown(value: float, unit: str) -> str:
    """A number in base units for a reader."""
    scale, name = scaled(value, unit)
    return f"{scale:.4g} {name}"
