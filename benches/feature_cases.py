"""Scenarios of many flows, each with one feature of links, hosts, sources or recordings, whose cost per packet should not depend
on how many flows there are. How they are counted is said in `features.py`.

All are one dumbbell with the same load per flow: windows of four packets over a round trip of 60 ms, which is half of what the
bottleneck carries.
"""

from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]
Feature = Callable[[int], Fields]
"""From a number of flows to the fields that differ from the plain scenario, merged into it."""

STREAM: Fields = {"window_limit": "4 packets", "initial_window": "4 packets"}
START: Fields = {"from": "0 s", "to": "100 ms"}


def merged(into: Fields, change: Fields) -> Fields:
    """Both, where the change wins; tables are merged unless they say what they are, all else is replaced."""
    found = dict(into)
    for key, value in change.items():
        tables = isinstance(value, dict) and isinstance(found.get(key), dict)
        found[key] = merged(found[key], value) if tables and not {"name", "template"} & set(value) else value
    return found


def plain(flows: int) -> Fields:
    """The scenario without any feature; its duration is set by whoever runs it."""
    return {
        "duration": "1 s",
        "topology": {
            "template": "dumbbell",
            "rate": f"{flows} Mbit/s",
            "delay": "20 ms",
            "buffer": f"{2 * flows} packets",
            "access": {"delay": "5 ms"},
        },
        "flows": [group(flows)],
        "record": {"flows": "none", "links": "none"},
    }


def group(flows: int, **fields: Any) -> Fields:
    """A group of flows that begin within a tenth of a second."""
    return merged({"name": "flow", "count": flows, "scheme": "sack", "start": START, "transport": STREAM}, fields)


def link(**fields: Any) -> Feature:
    """A feature of the bottleneck, forward."""
    return lambda _: {"topology": fields}


def hosts(**fields: Any) -> Feature:
    """A feature of all flows."""
    return lambda flows: {"flows": [group(flows, **fields)]}


def stream(**fields: Any) -> Feature:
    """A feature of the sending endpoint of all flows."""
    return hosts(transport=fields)


def datagrams(**fields: Any) -> Feature:
    """Flows of datagrams, at half the rate of the link."""
    usual: Fields = {"name": "flow", "start": START, "scheme": {"name": "fixed-rate", "rate": "500 kbit/s"}}
    return lambda flows: {"flows": [merged({**usual, "count": flows}, fields)]}


def record(**fields: Any) -> Feature:
    """A recording."""
    return lambda _: {"record": fields}


def steps(of: str, values: tuple[str, str]) -> list[Fields]:
    """A schedule that goes to and fro every 10 ms for 10 s."""
    return [{"at": f"{10 * step} ms", of: values[step % 2]} for step in range(1, 1000)]


def changing_rate(flows: int) -> Fields:
    """A rate that goes to and fro between the usual one and double."""
    return {"topology": {"schedule": steps("rate", (f"{flows} Mbit/s", f"{2 * flows} Mbit/s"))}}


def trace(flows: int) -> str:
    """A delivery trace of a tenth of a second in Mahimahi's format, of 1 Mbit/s for each flow."""
    opportunities = round(flows * 100e-3 * 1e6 / 8 / 1504)
    return "".join(f"{1 + 100 * number // opportunities}\n" for number in range(opportunities - 1)) + "100\n"


def shaped(queue: str) -> Feature:
    """A shaper or policer at 0.6 Mbit/s per flow."""
    return lambda flows: {
        "topology": {"queue": {"name": queue, "rate": f"{600 * flows} kbit/s", "burst": f"{4 * flows} kB"}}
    }


def classes_of(flows: int) -> Fields:
    """A shaper with a bucket of its own for each tenth of the flows."""
    tenth = flows // 10
    classes = [
        {"flows": list(range(tenth * number, tenth * (number + 1))), "rate": f"{60 * flows} kbit/s"}
        for number in range(10)
    ]
    return {"topology": {"queue": {"name": "token-bucket", "classes": classes}}}


def lanes(flows: int) -> Fields:
    """Two lanes, and every second flow in the second one."""
    return {"topology": {"queue": {"name": "priority", "classes": [{"flows": list(range(0, flows, 2)), "lane": 1}]}}}


def aggregates(count: Callable[[int], int]) -> Feature:
    """So many pairs of edges behind the ends of one link, and an aggregate from edge to edge for each."""

    def made(flows: int) -> Fields:
        edges = count(flows)
        per_edge = flows // edges
        links: list[Fields] = [
            {"from": "a", "to": "b", "rate": f"{flows} Mbit/s", "delay": "10 ms", "buffer": "unlimited"}
        ]
        for edge in range(edges):
            for near, far in ((f"e{edge}", "a"), ("b", f"x{edge}"), (f"s{edge}", f"e{edge}"), (f"x{edge}", f"d{edge}")):
                links.append(
                    {"from": near, "to": far, "rate": f"{flows} Mbit/s", "delay": "5 ms", "buffer": "unlimited"}
                )
        groups = [
            group(per_edge, **{"name": f"flow{edge}", "from": f"s{edge}", "to": f"d{edge}"}) for edge in range(edges)
        ]
        controlled = [
            {
                "name": f"from edge {edge}",
                "from": f"e{edge}",
                "to": f"x{edge}",
                "scheme": {"name": "fixed-rate", "rate": f"{per_edge} Mbit/s"},
                "buffer": "unlimited",
            }
            for edge in range(edges)
        ]
        return {"topology": {"template": "graph", "links": links}, "flows": groups, "aggregates": controlled}

    return made


def multicast(groups: Callable[[int], int]) -> Feature:
    """So many groups; all receivers together are as many as flows."""

    def made(flows: int) -> Fields:
        count = groups(flows)
        each = flows // count
        star = {
            "template": "star",
            "hosts": flows + 1,
            "rate": f"{flows} Mbit/s",
            "delay": "15 ms",
            "buffer": "unlimited",
        }
        senders = [
            group(1, name=f"group{number}", receivers=[f"h{number * each + place + 1}" for place in range(each)])
            for number in range(count)
        ]
        return {"topology": star, "flows": [merged(sender, {"from": "h0"}) for sender in senders]}

    return made


def named_links(flows: int) -> Fields:
    """The access links of a tenth of the flows, by name."""
    return {"record": {"links": [f"r1->d{flow}" for flow in range(0, flows, 10)]}}


def named_flows(flows: int) -> Fields:
    """A tenth of the flows, by name."""
    return {"record": {"flows": [f"flow-{flow}" for flow in range(0, flows, 10)]}}


def one(_: int) -> int:
    """One, whatever the number of flows."""
    return 1


def tenth(flows: int) -> int:
    """A tenth."""
    return flows // 10


HELD = {"probability": 0.05, "hold": {"from": "0 s", "to": "10 ms"}}
LOSS = {"good_to_bad": 0.01, "bad_to_good": 0.25}
BATCHES = {"time": "200 us"}
PARTS: dict[str, dict[str, Feature]] = {
    "links": {
        "plain": link(),
        "loss, independent": link(loss=0.01),
        "loss, on the wire": link(loss={"name": "independent", "place": "after-queue"}),
        "loss, of acknowledgements": link(reverse={"loss": {"name": "selective", "class": "acknowledgements"}}),
        "loss, Gilbert and Elliott": link(loss={"name": "gilbert-elliott", **LOSS}),
        "loss, periodic": link(loss={"name": "periodic", "every": 100}),
        "loss, scheduled": link(loss={"name": "scheduled", "steps": [{"at": "0 s", "probability": 0.01}]}),
        "corruption": link(corruption={"probability": 0.01}),
        "duplication": link(duplication={"probability": 0.05}),
        "reordering": link(reordering=HELD),
        "coalescing": link(coalescing=BATCHES),
        "rate that changes every 10 ms": changing_rate,
        "delay that changes every 10 ms": link(schedule=steps("delay", ("20 ms", "25 ms"))),
        "delivery trace": link(trace={"file": "trace"}),
        "policer": shaped("policer"),
        "token bucket": shaped("token-bucket"),
        "token bucket, ten classes": classes_of,
        "priority lanes": lanes,
        "one aggregate": aggregates(one),
        "an aggregate for ten flows": aggregates(tenth),
        "one multicast group": multicast(one),
        "multicast groups of ten": multicast(tenth),
        "cells": hosts(cells=True),
    },
    "sources": {
        "datagrams": datagrams(),
        "video": datagrams(source={"name": "video", "rate": "450 kbit/s"}),
        "voice": datagrams(source="voice"),
        "game": datagrams(source="game"),
        "NADA": datagrams(scheme={"name": "nada", "max_rate": "500 kbit/s"}, source="video"),
        "GCC": datagrams(scheme={"name": "gcc", "max_rate": "500 kbit/s"}, source="video"),
        "SCReAM": datagrams(scheme={"name": "scream2", "max_rate": "500 kbit/s"}, source="video"),
        "TFRC, reliable": datagrams(scheme="tfrc", reliable=True, transport=STREAM),
        "NADA, reliable": datagrams(scheme={"name": "nada", "max_rate": "500 kbit/s"}, reliable=True),
        "files": hosts(source={"name": "files", "pause": "20 ms"}),
        "web pages": hosts(source={"name": "surge", "inactive_min": "50 ms"}),
        "on-off": hosts(source={"name": "on-off", "on": "50 ms", "off": "50 ms"}),
    },
    "hosts": {
        "send_jitter": stream(send_jitter="1 ms"),
        "hosts that coalesce": lambda _: {"topology": {"access": {"coalescing": BATCHES}}},
        "receive window": stream(receive_window="3 packets"),
        "delayed acknowledgements": hosts(receiver={"ack_every": 2}),
        "handshake": stream(handshake=True),
        "pacing": stream(pacing={}),
        "trains (segmentation offload)": stream(segmentation_offload=True),
        "Eifel detection": stream(spurious="eifel"),
        "marks counted": lambda flows: merged(
            {"topology": {"queue": {"name": "red", "ecn": True}}},
            hosts(transport={"ecn": "ect0"}, receiver={"ecn_echo": "counted"})(flows),
        ),
        "bbr3, acknowledgements asked for": hosts(scheme="bbr3"),
    },
    "recordings": {
        "flows, 100 ms": record(flows="all"),
        "flows, 10 ms": record(flows="all", bin="10 ms"),
        "flows, 1 ms": record(flows="all", bin="1 ms"),
        "one flow, 1 ms": record(flows=["flow-7"], bin="1 ms"),
        "a tenth of the flows by name": named_flows,
        "bottleneck, 1 ms": record(links="main", bin="1 ms"),
        "bottleneck and its queue's state, 1 ms": lambda _: {
            "topology": {"queue": "red"},
            "record": {"links": "main", "queue_state": True, "bin": "1 ms"},
        },
        "one access link, 1 ms": record(links=["r1->d7"], bin="1 ms"),
        "a tenth of the access links by name": named_links,
        "all links, 100 ms": record(links="all"),
        "all links, 10 ms": record(links="all", bin="10 ms"),
        "packets": record(links="main", packets=True),
        "packets on all links": record(links="all", packets=True, bin="1 s"),
        "state": lambda flows: {"flows": [group(flows, scheme="cubic")], "record": {"flows": "all", "state": True}},
        "accumulation, 100 ms": record(flows="all", accumulation=True),
        "accumulation, 10 ms": record(flows="all", accumulation=True, bin="10 ms"),
        "delays": record(delays=True),
    },
}


def unnamed(size: int) -> Feature:
    """Groups of so many flows, all without a name."""

    def made(flows: int) -> Fields:
        nameless = {key: value for key, value in group(size).items() if key != "name"}
        return {"flows": [dict(nameless) for _ in range(flows // size)]}

    return made


def all_named(flows: int) -> Fields:
    """All flows and all links of receivers, by name."""
    numbers = range(flows)
    return {"record": {"flows": [f"flow-{flow}" for flow in numbers], "links": [f"r1->d{flow}" for flow in numbers]}}


def groups(flows: int) -> Fields:
    """As many groups as flows, of two flows each fifth, all of them recorded by name."""
    made = [group(2 if number % 5 == 0 else 1, name=f"flow {number}") for number in range(flows * 5 // 6)]
    return {"flows": made, "record": {"flows": [each["name"] for each in made]}}


def chain(flows: int) -> Fields:
    """A parking lot of ten links."""
    lot = {"template": "parking-lot", "hops": 10, "rate": f"{flows} Mbit/s", "delay": "2 ms", "buffer": "1 BDP"}
    return {"topology": lot}


def star(flows: int) -> Fields:
    """A host for each flow, and one that receives."""
    return {"topology": {"template": "star", "hosts": flows + 1, "rate": f"{flows} Mbit/s", "delay": "15 ms"}}


def home(flows: int) -> Fields:
    """An access line."""
    return {"topology": {"template": "home", "rate": f"{flows} Mbit/s", "delay": "15 ms"}}


def routed(flows: int) -> Fields:
    """A graph of hosts at two routers with two links between them, and a route that each flow names."""
    middle = [{"from": "a", "to": via, "rate": f"{flows} Mbit/s"} for via in ("m", "n")]
    middle += [{"from": via, "to": "b", "rate": f"{flows} Mbit/s"} for via in ("m", "n")]
    ends = [{"from": f"s{flow}", "to": "a"} for flow in range(flows)] + [
        {"from": "b", "to": f"d{flow}"} for flow in range(flows)
    ]
    made = [
        group(1, **{"name": f"flow {flow}", "from": f"s{flow}", "to": f"d{flow}", "route": ["a", "mn"[flow % 2], "b"]})
        for flow in range(flows)
    ]
    return {"topology": {"template": "graph", "links": middle + ends}, "flows": made}


BUILDING: dict[str, Feature] = {
    "plain": link(),
    "parking lot of ten links": chain,
    "star": star,
    "home": home,
    "graph, routes given": routed,
    "everything recorded": record(flows="all", links="all", accumulation=True, delays=True),
    "flows and links recorded by name": all_named,
    "groups without names": unnamed(1),
    "groups of two without names": unnamed(2),
    "many groups, recorded by name": groups,
    "weights for all flows": lambda flows: {
        "topology": {
            "queue": {"name": "weighted-fair-queueing", "shares": [{"flows": list(range(flows)), "weight": 2}]}
        }
    },
    "an aggregate for ten flows": aggregates(tenth),
    "one multicast group": multicast(one),
    "multicast groups of ten": multicast(tenth),
    "cells": hosts(cells=True),
}
