"""Random scenarios of every queue, scheme, source, impairment and recording, short enough that a thousand take a minute.
What must hold of them is in ``laws.py``."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tailback import _core

_REGISTRY = json.loads(_core.registry())
_SCHEMES = [each["name"] for each in _REGISTRY["schemes"] if each["name"] != "custom"]
_QUEUES = [each["name"] for each in _REGISTRY["queues"] if each["name"] != "custom"]
_SOURCES = [each["name"] for each in _REGISTRY["sources"] if each["name"] != "custom"]
_NEEDED: Mapping[str, Mapping[str, Any]] = {
    # What has no default, and sizes that suit a run of a second.
    "token-bucket": {"rate": "1 Mbit/s"},
    "policer": {"rate": "1 Mbit/s"},
    "replay": {"entries": [{"at": "10 ms", "size": "3 kB"}, {"at": "200 ms", "size": "9 kB"}]},
    "files": {"size": {"name": "constant", "value": "8 kB"}},
    "fixed-window": {"window": "12 packets"},
    "fixed-rate": {"rate": "700 kbit/s"},
}
_LOSSES: Mapping[str, Mapping[str, Any]] = {
    "independent": {"probability": 0.05},
    "selective": {"probability": 0.2, "class": "acknowledgements"},
    "gilbert-elliott": {"good_to_bad": 0.02},
    "periodic": {"every": 17, "offset": 3},
    "scheduled": {"steps": [{"at": "50 ms", "probability": 0.1}, {"at": "200 ms", "probability": 0.0}]},
}
_TRACE = Path(__file__).resolve().parents[2] / "examples" / "cellular.trace"
_TEMPLATES = ("dumbbell", "dumbbell", "parking-lot", "star", "home", "graph")


def scenario(number: int) -> dict[str, Any]:
    """Scenario number ``number``, always the same; one that the checker accepts."""
    for trial in range(50):
        draw = random.Random(1000 * number + trial)
        # Whatever is drawn, each of these has its turn.
        turn = number if trial == 0 else draw.randrange(10**6)
        made = _drawn(draw, turn)
        if not _core.check(json.dumps(made)):
            return made
    raise AssertionError(f"number {number}: nothing that was drawn makes a scenario")


def _drawn(draw: random.Random, turn: int) -> dict[str, Any]:
    template = draw.choice(_TEMPLATES)
    groups = draw.randint(1, 3)
    flows = [_flow(draw, turn + place, place, template) for place in range(groups)]
    duration = draw.choice((300, 500, 800, 1200))
    return {
        "duration": f"{duration} ms",
        "warm_up": f"{draw.choice((0, 0, 100))} ms",
        "seed": draw.randrange(2**31),
        "topology": _topology(draw, turn, template),
        "flows": flows,
        "record": {
            "packets": True,
            "links": "all",
            "bin": draw.choice(("10 ms", "33 ms", "100 ms")),
            **{name: draw.random() < 0.3 for name in ("state", "accumulation", "delays", "queue_state")},
        },
    }


def _topology(draw: random.Random, turn: int, template: str) -> dict[str, Any]:
    if template == "graph":
        links = [
            {"from": near, "to": far, **_link(draw, turn + place)}
            for place, (near, far) in enumerate((("a", "b"), ("b", "c"), ("a", "c")))
        ]
        return {"template": "graph", "links": links}
    more = {"parking-lot": {"hops": draw.randint(1, 3)}, "star": {"hosts": draw.randint(2, 4)}}.get(template, {})
    return {"template": template, **more, **_link(draw, turn)}


def _link(draw: random.Random, turn: int) -> dict[str, Any]:
    queue = _QUEUES[turn % len(_QUEUES)]
    made: dict[str, Any] = {
        "rate": f"{draw.choice((200, 1000, 1544, 5000))} kbit/s",
        "delay": f"{draw.choice((1, 3, 7, 30))} ms",
        "buffer": draw.choice(("1 BDP", "3 packets", "20 packets", "9 kB", "unlimited")),
        "queue": {"name": queue, **_NEEDED.get(queue, {})},
    }
    harms: dict[str, Callable[[], Any]] = {
        "loss": lambda: _loss(draw),
        "corruption": lambda: {"probability": 0.03},
        "duplication": lambda: {"probability": 0.03},
        "reordering": lambda: {"probability": 0.05, "hold": "9 ms"},
        "coalescing": lambda: {"time": {"name": "exponential", "mean": "400 us"}},
        "schedule": lambda: [{"at": "100 ms", "rate": "400 kbit/s"}, {"at": "150 ms", "delay": "3 ms"}],
        "reverse": lambda: {"rate": "300 kbit/s"},
        "trace": lambda: {"file": str(_TRACE)},
    }
    made |= {name: make() for name, make in harms.items() if draw.random() < 0.25}
    if "trace" in made:
        # Which takes the place of a rate, and of its changes.
        made = {name: value for name, value in made.items() if name not in ("rate", "schedule")}
        made["buffer"] = draw.choice(("3 packets", "20 packets", "9 kB", "unlimited"))
    return made


def _loss(draw: random.Random) -> dict[str, Any]:
    name = draw.choice(tuple(_LOSSES))
    return {"name": name, **_LOSSES[name], "place": draw.choice(("before-queue", "after-queue"))}


def _flow(draw: random.Random, turn: int, place: int, template: str) -> dict[str, Any]:
    scheme, source = _SCHEMES[turn % len(_SCHEMES)], _SOURCES[turn % len(_SOURCES)]
    if (scheme, source) == ("probabilistic", "bulk"):
        source = "datagrams"
    if draw.random() < 0.4 and scheme != "probabilistic":  # Which leaves the rate to the application.
        source = "bulk"
    made: dict[str, Any] = {
        "name": f"f{place}",
        "count": draw.choice((1, 1, 2, 3)),
        "scheme": {"name": scheme, **_NEEDED.get(scheme, {})},
        "source": {"name": source, **_NEEDED.get(source, {})},
        "start": {"from": "0 s", "to": "100 ms"},
    }
    if template == "graph":
        made |= {"from": "a", "to": draw.choice(("b", "c"))}
    if draw.random() < 0.3:
        made["stop"] = "250 ms"
    if draw.random() < 0.2:
        made["transport"] = {"ecn": "ect0"}
    return made
