"""A reference row as a Tailback scenario: the same network, endpoints and queues in the scenario's own words."""

from __future__ import annotations

from typing import Any

from tailback.validation.reference import Row

QUEUES = {
    "droptail": "drop-tail",
    "red": "red",
    "drr": "deficit-round-robin",
    "fq": "weighted-fair-queueing",
    "pi": "pi",
    "rem": "rem",
}
"""ns-2's names of disciplines, and ours."""

TRANSPORT: dict[str, Any] = {
    "segment_size": "1000 B",
    "header": "40 B",
    "initial_window": "2 packets",
    "initial_ssthresh": "10000 packets",
    "window_limit": "10000 packets",
    "handshake": True,
    "limited_transmit": True,
    "rtt_sampling": "per-round-trip",
    "keep_scoreboard": False,
    "rescue": False,
    "rto": {"min": "200 ms", "max": "60 s", "initial": "3 s", "tick": "10 ms"},
}
"""ns-2's endpoints; see ``reference/README.md``."""


def scenario(row: Row, seed: int) -> dict[str, Any]:
    """The row as the data of a scenario, in the shape of its TOML file."""
    if row.group == "further":
        return further(row, seed)
    return _scenario(row, seed)


def _scenario(row: Row, seed: int) -> dict[str, Any]:
    flows = [_flows(row)]
    if row.constant_mbps:
        flows.append(_constant(row))
    return {
        "name": row.name,
        "duration": f"{row.duration_s:g} s",
        "warm_up": f"{row.warm_up_s:g} s",
        "seed": seed,
        "topology": {
            "template": "dumbbell",
            "rate": f"{row.capacity_mbps:g} Mbit/s",
            "delay": _delay(row, 1 / 3),
            "buffer": _buffer(row),
            "queue": _queue(row),
            **({"loss": {"name": "independent", "probability": row.loss}} if row.loss else {}),
            "reverse": {"buffer": "unlimited", "queue": "drop-tail"},
            "access": {
                "rate": "1 Gbit/s" if row.group == "bernoulli" else "100 Mbit/s",
                "delay": _delay(row, 1 / 12),
                "buffer": "unlimited",
                "queue": "drop-tail",
            },
        },
        "flows": flows,
        "record": {"flows": "none", "links": "none"},
    }


def further(row: Row, seed: int) -> dict[str, Any]:
    """What a further configuration has different from the plain ones, option by option of ns-2's script."""
    option = row.options
    data = _scenario(row, seed)
    topology, flows = data["topology"], data["flows"][0]
    transport, access = flows["transport"], topology["access"]
    flows["name"] = "tcp"
    flows["start"]["to"] = f"{option['spread']} s"
    transport |= {
        "initial_window": f"{option['iw']} packets",
        "initial_ssthresh": f"{option['wnd']} packets",
        # ns-2's `window_` bounds the congestion window and, in recovery too, what is outstanding.
        "window_limit": f"{option['wnd']} packets",
        "receive_window": f"{option['wnd']} packets",
        "limited_transmit": option["limited"] == "1",
        "rto": {**transport["rto"], "min": f"{float(option['minrto']) * 1000:g} ms"},
        "ecn": "ect0" if option["ecn"] == "1" else "off",
    }
    if option["size"] != "0":
        flows["source"] = {"name": "bulk", "size": f"{int(option['size']) * 960} B"}
    access["rate"] = f"{option['acc']} Mbit/s"
    if option["rttmax"] != "0":
        topology["receiver_access"] = dict(access)
        most = row.rtt_ms / 12 + (float(option["rttmax"]) - row.rtt_ms) / 2
        access["delay"] = {"from": access["delay"], "to": f"{round(most * 1e6)} ns"}
    _further_queue(row, topology)
    hops = int(option["hops"])
    if hops > 1:
        topology |= {"template": "parking-lot", "hops": hops, "delay": _delay(row, 1 / 3 / hops)}
        ends = ((f"r{hop}", f"r{hop + 1}") for hop in range(hops))
        data["flows"] += [{**flows, "name": f"crossing{near}", "from": near, "to": far} for near, far in ends]
    if option["back"] != "0":
        topology["reverse"] = {"rate": f"{option['back']} Mbit/s", "buffer": topology["buffer"], "queue": "drop-tail"}
    if option["reverse"] != "0":
        del topology["reverse"]
        back = {"name": "reverse", "count": int(option["reverse"]), "from": "r1", "to": "r0"}
        data["flows"].append({**flows, **back})
    sizes = option["pkt"].split(",")
    # The constant flow has packets of its own.
    parts = (_by_size(flow, sizes) if "count" in flow else [flow] for flow in data["flows"])
    data["flows"] = [part for of_flow in parts for part in of_flow]
    return data


def _by_size(flow: dict[str, Any], sizes: list[str]) -> list[dict[str, Any]]:
    """The group of flows as one for each size of packets, which they take in turn."""
    parts = []
    for at, size in enumerate(sizes):
        count = len(range(at, flow["count"], len(sizes)))
        transport = {**flow["transport"], "segment_size": f"{size} B"}
        name = flow["name"] + (f"-{size}" if len(sizes) > 1 else "")
        parts.append({**flow, "name": name, "count": count, "transport": transport})
    return parts


def _further_queue(row: Row, topology: dict[str, Any]) -> None:
    marks = row.options["ecn"] == "1"
    if row.queue == "red":
        mode = row.options["mode"]
        topology["queue"] |= {"gentle": mode != "strict", "adaptive": mode == "adaptive", "ecn": marks}
        if mode == "bytes":
            topology["queue"]["measure"] = "bytes"
            topology["buffer"] = f"{row.buffer_packets * 1000} B"
    if row.queue == "pi":
        gains = {"a": 1.822e-5, "b": 1.816e-5, "frequency": 160.0}
        topology["queue"] = {"name": "pi", "target": f"{row.buffer_packets // 2} packets", **gains, "ecn": marks}
    if row.queue == "rem":
        topology["queue"] = {"name": "rem", "target": f"{row.buffer_packets // 5} packets", "ecn": marks}


def _delay(row: Row, part: float) -> str:
    return f"{round(row.rtt_ms * part * 1e6)} ns"


def _buffer(row: Row) -> str:
    if row.queue == "drr":
        return f"{row.buffer_packets * 1000} B"
    # ns-2's FQ limits each flow's queue and not their sum.
    return "unlimited" if row.queue == "fq" else f"{row.buffer_packets} packets"


def _queue(row: Row) -> str | dict[str, Any]:
    name = QUEUES[row.queue]
    if row.queue == "red":
        return {
            "name": name,
            "min": f"{row.buffer_packets // 5} packets",
            "max": f"{3 * row.buffer_packets // 5} packets",
            "max_p": 0.1,
            "weight": 0.002,
            "gentle": True,
            "adaptive": False,
            "wait": True,
        }
    if row.queue == "drr":
        return {"name": name, "quantum": "1000 B", "buffer": {"victim": "longest-head"}}
    if row.queue == "fq":
        return {"name": name, "buffer": {"per_flow": "51 packets"}}
    return name


def _scheme(row: Row) -> str | dict[str, Any]:
    # ns-2 halves the congestion window itself, where RFC 5681 halves what is in flight; and its Reno and NewReno grow by
    # the acknowledgement that ends recovery, where RFC 5681 and RFC 6582 set the window to the threshold.
    if row.scheme == "sack":
        return {"name": "sack", "halve": "window"}
    if row.scheme == "cubic":
        # Linux 2.6's constants, which ns-2 has.
        return {"name": "cubic", "beta": 0.8, "c": 0.41, "halve": "window"}
    if row.scheme in {"newreno", "reno"}:
        return {"name": row.scheme, "halve": "window", "grow_on_exit": True}
    return row.scheme


def _tfrc(row: Row) -> dict[str, Any]:
    """ns-2's TFRC: the rate changes with the square root of round trips as RFC 5348's may, the time-out is TCP's own, and
    jitter is a fraction of the gap between packets, whatever its length."""
    return {
        "name": "tfrc",
        "count": row.flows,
        "scheme": {
            "name": "tfrc",
            "rtt_history": 0.95,
            "gradual_increase": True,
            "assumed_timeout": "measured",
            "gap_jitter": 0.5 if row.jitter_s else 0.0,
        },
        "start": {"from": "0 s", "to": "5 s"},
        "datagram": {"segment_size": "1000 B", "header": "32 B"},
    }


def _flows(row: Row) -> dict[str, Any]:
    if row.scheme == "tfrc":
        return _tfrc(row)
    # ns-2's Vegas sends no connection request, and nothing at the first two duplicate acknowledgements.
    vegas = row.scheme == "vegas"
    transport = {**TRANSPORT, "handshake": not vegas, "limited_transmit": not vegas}
    if row.jitter_s:
        transport["send_jitter"] = f"{round(row.jitter_s * 1e9)} ns"
    receiver = {"ack_every": 2, "ack_delay": "100 ms"} if row.delayed_acks else {"ack_every": 1}
    return {
        "name": row.scheme,
        "count": row.flows,
        "scheme": _scheme(row),
        "start": {"from": "0 s", "to": "5 s"},
        "transport": transport,
        "receiver": receiver,
    }


def _constant(row: Row) -> dict[str, Any]:
    return {
        "name": "constant",
        "scheme": {"name": "fixed-rate", "rate": f"{row.constant_mbps:g} Mbit/s"},
        "start": {"from": "0 s", "to": "5 s"},
        "transport": {"segment_size": "1000 B"},
    }
