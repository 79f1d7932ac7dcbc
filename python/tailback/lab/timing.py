"""What the hosts of a run with real packets took from a packet's arrival to what they sent because of it, by the router's packet
log. What the simulator makes of it is in ``hosts.py``; what was measured once for all is in ``hosts.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from tailback.lab.hosts import ENDS, TEMPLATES, Hosts, HostTimes, nearest, rate_of
from tailback.units import number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailback.lab.run import Setup
    from tailback.results import Result

    Times = NDArray[np.float64]

FULL: Final = 1000
"""Larger packets are data, bytes."""
LONGEST: Final = 200e-6
"""Seconds. What leaves later answers something else: an acknowledgement that was waited for, or a packet of before."""
AT_ONCE: Final = 3
"""So many segments beside a hole are acknowledged when they come; Linux holds further ones back."""
GROWING: Final = 64
"""So many segments after a hole, and for so long from the beginning on, the kernel's receiver offers a window that grows. Then it
acknowledges what comes in order before its program has read it."""
BEGINNING: Final = 3.0
"""Seconds."""
KEPT: Final = 20
"""So many times are kept of each end, all equally likely: the middles of so many equal parts of those that were measured."""
ANSWERED: Final = 0.75
"""An end sends by a clock of its own, as one that is paced, if a smaller part of its packets leaves within ``LONGEST`` of an
arrival. What such an end takes cannot be told from when its packets leave."""
_MIDDLE: Final = (0.2, 0.7)
"""Below, a thread has not woken up for some of the shortest times; above, most have been cut off by the next arrival."""
_NEIGHBOURS: Final = 15
"""Among so many arrivals in a row is one after which no departure waits for its jitter."""
_STRAIGHT: Final = 0.1
"""The line of an end's jitter may be bent by so much of the jitter; of an end with a clock of its own it is bent more."""
_FASTEST: Final = FULL * 8 / 120e-6
"""bit/s. Packets of faster links come so close together that nobody knows which of them an answer belongs to."""
_LOGGED: Final = 400_000
"""Packets of 1500 bytes at the bottleneck in a run; the log of more takes too much memory beside what is measured."""


def can_be_told(setup: Setup) -> bool:
    """Whether a run's log can tell what hosts take: where each flow has hosts of its own, and packets come neither too close
    together nor too many."""
    scenario = json.loads(setup.scenario)
    bottleneck = rate_of(scenario)
    packets = number(scenario["duration"]) * bottleneck / (1500 * 8)
    return scenario["topology"].get("template") in TEMPLATES and bottleneck <= _FASTEST and packets <= _LOGGED


def with_log(setup: Setup) -> Setup:
    """The same with the router's packet log."""
    scenario = json.loads(setup.scenario)
    scenario["record"] |= {"packets": True}
    return replace(setup, scenario=json.dumps(scenario))


def without_log(result: Result, setup: Setup) -> Result:
    """A run that was made with the log, as the scenario itself asks for it."""
    asked = json.loads(setup.scenario)["record"]
    if asked["packets"]:
        return result
    return replace(result, scenario_data={**result.scenario_data, "record": asked}, packets=pl.DataFrame())


def hosts_of(result: Result, setup: Setup, usual: Sequence[Hosts]) -> Hosts:
    """What the hosts of a run took that was made with the log, group by group.

    An end that the log tells too little of takes what the other end of its flow takes, where the flow is ours; both wake a thread
    in the same way. Where that is not known either, and for the kernel's flows, it takes what is ``usual`` beside the nearest
    rate. Of a sender with jitter the log tells only the mean, so it takes what its receiver does, longer or shorter by a factor.
    """
    bottleneck = rate_of(json.loads(setup.scenario))
    beside = nearest(usual, bottleneck)
    groups = {}
    for group, hosts, flows in _with_hosts(result, setup):
        name, is_kernel = group["name"], group["name"] in setup.kernel
        jitter = number(group.get("transport", {}).get("send_jitter", "0 s"))
        found: dict[str, list[Times]] = {end: [] for end in ENDS}
        beyond = []
        for index, flow in zip(hosts, flows, strict=True):
            for end, times in both_ends(result, flow, index, is_read=is_kernel, least=ANSWERED).items():
                found[end].append(times)
            beyond += [beyond_jitter(result, flow, index, jitter)] if jitter and not _is_paced(result, flow) else []
        if jitter:
            found["sender"] = []
        taken = _times(found, beside.kernel if is_kernel else beside.ours, is_kernel=is_kernel)
        means = [mean for mean in beyond if mean is not None]
        groups[name] = replace(taken, sender=_of_mean(taken.sender, fmean(means))) if means else taken
    return replace(beside, rate=bottleneck, groups=groups)


def _times(found: Mapping[str, list[Times]], usual: HostTimes, *, is_kernel: bool) -> HostTimes:
    told = {end: kept(np.concatenate(times)) for end, times in found.items() if sum(map(len, times)) >= KEPT}
    if not is_kernel and told:
        one = next(iter(told.values()))
        told = {"sender": one, "receiver": one} | told
    return replace(usual, **told)


def _is_paced(result: Result, flow: str) -> bool:
    rates = result.flow_series.filter(pl.col("flow").cast(pl.String) == flow)["directed_rate"]
    return rates.null_count() < len(rates)


def _of_mean(times: tuple[float, ...], mean: float) -> tuple[float, ...]:
    """The same times, longer or shorter by one factor, so that they have this mean."""
    return tuple(round(time * mean / fmean(times), 7) for time in times)


def _with_hosts(result: Result, setup: Setup) -> Iterator[tuple[Mapping[str, Any], list[int], list[str]]]:
    """Each group whose flows have hosts of their own, with their numbers and its flows' names."""
    first = 0
    for group in json.loads(setup.scenario)["flows"]:
        flows = result.flows.filter(pl.col("group") == group["name"])["flow"].cast(pl.String).to_list()
        if not (group.get("from") or group.get("to")):
            yield group, list(range(first, first + len(flows))), flows
        first += len(flows)


def kept(times: Times) -> tuple[float, ...]:
    """Times that stand for all, in seconds."""
    return tuple(round(float(value), 7) for value in np.quantile(times, (np.arange(KEPT) + 0.5) / KEPT))


def both_ends(result: Result, flow: str, index: int, *, is_read: bool, least: float = 0.0) -> dict[str, Times]:
    """What a flow's sender and its receiver take, in seconds, by the packet log of a run; ``is_read`` says whether the receiver
    acknowledges what comes in order when its program has read it. An end is left out of whose packets a smaller part than
    ``least`` leaves within ``LONGEST`` of an arrival."""
    ends: dict[str, Times] = {}
    for end, host in (("sender", f"s{index}"), ("receiver", f"d{index}")):
        before, after = _links(result, host)
        arrived = _offered(result, flow, before, is_data=end == "receiver")
        left = _offered(result, flow, after, is_data=end == "sender")
        if end == "receiver" and is_read:
            ends |= _reader(_at_end(arrived, result, before), left)
        else:
            times = _first_after(_at_end(arrived, result, before), left["time"].to_numpy())
            answers = times[times < LONGEST]
            if len(answers) >= least * len(times):
                ends[end] = answers
    return ends


def beyond_jitter(result: Result, flow: str, index: int, jitter: float) -> float | None:
    """What a flow's sender takes on average beside its jitter, in seconds, or nothing where the log does not tell it.

    Each departure waits for a time that is equally likely from zero to ``jitter``, so the time x from an arrival to its departure
    is shorter for a part (x - mean) / jitter of all. Only arrivals count for which no departure of before is due. Some have no
    departure before the next arrival, so the parts are those of Kaplan and Meier (1958).

    Our endpoints count from the kernel's stamp of an arrival, so that a departure is late by a timer's lateness, and not by the
    time that a thread takes to wake up, unless the jitter is shorter than that.
    """
    # Imported where it is needed: it takes longer than all else that a comparison imports.
    from scipy.stats import CensoredData, ecdf

    before, after = _links(result, f"s{index}")
    arrived = _at_end(_offered(result, flow, before, is_data=False), result, before)
    left = _offered(result, flow, after, is_data=True)["time"].to_numpy()
    if len(arrived) < 2 or not len(left):
        return None
    place = np.searchsorted(left, arrived)
    taken = left[np.minimum(place, len(left) - 1)][:-1] - arrived[:-1]
    until_next, departed = np.diff(arrived), np.diff(place)
    more = np.cumsum(1 - departed)
    # What the window has kept from leaving does not wait; now and then nothing does.
    least = pl.Series(more).rolling_min(_NEIGHBOURS, min_samples=1, center=True).to_numpy()
    counts = np.concatenate([[False], (more == least)[:-1]])
    times, is_seen = np.minimum(taken, until_next)[counts], departed[counts] > 0
    if np.count_nonzero(is_seen) < KEPT:
        return None
    cdf = ecdf(CensoredData(uncensored=times[is_seen], right=times[~is_seen])).cdf
    part = cdf.probabilities
    middle = (part > _MIDDLE[0]) & (part < _MIDDLE[1])
    beyond = cdf.quantiles[middle] - jitter * part[middle]
    mean = float(np.median(beyond)) if beyond.size else 0.0
    return mean if 0.0 < mean < LONGEST and np.ptp(beyond) < _STRAIGHT * jitter else None


def _links(result: Result, host: str) -> tuple[str, str]:
    """The links to and from a host."""
    names = result.links["link"].cast(pl.String)
    return names.filter(names.str.ends_with(f"->{host}")).item(), names.filter(
        names.str.starts_with(f"{host}->")
    ).item()


def _reader(arrived: Times, left: pl.DataFrame) -> dict[str, Times]:
    """What a receiver takes whose program reads: until it acknowledges at once, and how much longer until it has read.

    Acknowledgements that are larger than the smallest tell of a hole.
    """
    times, sizes = left["time"].to_numpy(), left["size"].to_numpy()
    if not len(times) or not len(arrived):
        return {}
    place = np.searchsorted(arrived, times)
    new = np.diff(place, prepend=0)
    taken = times - arrived[np.maximum(place - 1, 0)]
    is_beside = sizes > sizes.min()
    in_row, since = _counted(is_beside), np.cumsum(new) - np.maximum.accumulate(np.where(is_beside, np.cumsum(new), 0))
    is_answer = (new > 0) & (taken < LONGEST)
    at_once = taken[is_answer & is_beside & (in_row <= AT_ONCE) & (new == 1)]
    is_steady = (since >= GROWING) & (times >= times[0] + BEGINNING)
    read = taken[is_answer & ~is_beside & is_steady]
    return {"receiver": at_once, "reading": np.maximum(read - (at_once.mean() if at_once.size else 0.0), 0.0)}


def _counted(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The number of each flag in a row of them; 0 where there is none."""
    total = np.cumsum(flags)
    before: NDArray[np.int64] = total - np.maximum.accumulate(np.where(flags, 0, total))
    return before


def _offered(result: Result, flow: str, link: str, *, is_data: bool) -> pl.DataFrame:
    """When a link was offered a flow's packets, with their sizes."""
    return result.packets.filter(
        (pl.col("event").cast(pl.String) == "offered")
        & (pl.col("flow").cast(pl.String) == flow)
        & (pl.col("link").cast(pl.String) == link)
        & ((pl.col("size") > FULL) == is_data)
    ).select("time", "size")


def _at_end(offered: pl.DataFrame, result: Result, link: str) -> Times:
    """When packets are at the end of a link on which none waits, as none does on links to hosts."""
    described = result.links.row(by_predicate=pl.col("link") == link, named=True)
    at_end: Times = offered["time"].to_numpy() + offered["size"].to_numpy() * 8 / described["rate"] + described["delay"]
    return at_end


def _first_after(arrived: Times, left: Times) -> Times:
    """The time from each arrival to the first departure after it, of the arrivals that have one before the next arrival.

    The simulator's batches last from their first arrival on. This is the same as long as a flow's packets come further apart than
    hosts take, as they do at the rates that are measured: a packet of 1500 bytes takes 240 µs at 50 Mbit/s.
    """
    place = np.searchsorted(arrived, left) - 1
    place, left = place[place >= 0], left[place >= 0]
    place, first = np.unique(place, return_index=True)
    times: Times = left[first] - arrived[place]
    return times


def as_data(hosts: Hosts) -> dict[str, Any]:
    """What hosts of a run took, as plain data, in microseconds."""
    groups = {
        name: {end: [round(1e6 * time, 1) for time in getattr(times, end)] for end in ENDS}
        for name, times in hosts.groups.items()
    }
    return {"rate": hosts.rate, "groups": groups}


def from_data(data: Mapping[str, Any], usual: Sequence[Hosts]) -> Hosts:
    """The same back; ``usual`` is what groups take of which it says nothing."""
    groups = {
        name: HostTimes(**{end: tuple(round(micros * 1e-6, 9) for micros in times[end]) for end in ENDS})
        for name, times in data["groups"].items()
    }
    return replace(nearest(usual, data["rate"]), rate=data["rate"], groups=groups)
