"""When transfers would end if every link were shared max-min fairly and its buffer had no end: the optimum of Keshav 1994,
§9.4, for all connections of a benchmark at once. What is compared with it is the callers' business."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Transfer(NamedTuple):
    """One transfer of a fluid."""

    start: float
    """Milliseconds."""
    packets: float
    links: tuple[str, ...]
    """The links that it shares with others; those that never limit it may be left out."""


def max_min(transfers: Sequence[Transfer], capacity: Mapping[str, float]) -> list[float]:
    """The max-min fair rates of transfers over links of these capacities, by progressive filling.

    Rates have the capacities' unit; every transfer must use at least one link.
    """
    rates = [0.0] * len(transfers)
    left = dict(capacity)
    open_ = set(range(len(transfers)))
    while open_:
        users = {link: [i for i in open_ if link in transfers[i].links] for link in left}
        share, tight = min((left[link] / len(ids), link) for link, ids in users.items() if ids)
        for index in users[tight]:
            rates[index] = share
            open_.remove(index)
            for link in transfers[index].links:
                left[link] = max(0.0, left[link] - share)
    return rates


def completions(transfers: Sequence[Transfer], capacity: Mapping[str, float]) -> list[float]:
    """Milliseconds from each transfer's start to its end, without its round trip.

    ``capacity`` is in packets per millisecond.
    """
    left = [one.packets for one in transfers]
    done: list[float | None] = [None] * len(transfers)
    now = min(one.start for one in transfers)
    while None in done:
        active = [i for i, one in enumerate(transfers) if done[i] is None and one.start <= now]
        rates = max_min([transfers[i] for i in active], capacity)
        waiting = [one.start for one in transfers if one.start > now]
        # Until the next transfer begins or one of those that go on ends.
        ends = {i: now + left[i] / rate for i, rate in zip(active, rates, strict=True)}
        then = min([*ends.values(), *waiting])
        for i, rate in zip(active, rates, strict=True):
            left[i] -= rate * (then - now)
            if ends[i] <= then:
                done[i] = then - transfers[i].start
        now = then
    return [value for value in done if value is not None]
