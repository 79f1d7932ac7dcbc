"""The standard dumbbells of docs/parity.md: who shares a bottleneck, how fast and how far. What is made of them is said in
``write_parity.py`` and ``parity_reasons.py``."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import tailback as tb
from tailback.lab.run import Setup

CELLS = (("5 Mbit/s", "20 ms", 60.0), ("20 Mbit/s", "5 ms", 30.0), ("50 Mbit/s", "2 ms", 30.0))
"""Rates, one-way delays of the bottleneck, and how long a run lasts in seconds: ten losses of a Reno flow and more."""
PAIRS = (
    ("reno", "cubic"),
    ("cubic", "cubic"),
    ("vegas", "vegas"),
    ("monaco", "monaco"),
    ("packet-pair", "packet-pair"),
    ("tfrc", "cubic"),
    ("kernel-reno", "kernel-reno"),
    ("kernel-cubic", "kernel-cubic"),
    ("kernel-reno", "kernel-cubic"),
    ("kernel-bbr", "kernel-cubic"),
    ("cubic", "kernel-cubic"),
    ("sack", "kernel-reno"),
)
"""Who shares a bottleneck; the second flow's round trip is longer by half where both are the same."""
FAIR = {"packet-pair"}
"""Schemes that need a fair queue."""
DATAGRAMS = {"tfrc"}


@dataclass(frozen=True)
class Cell:
    """A dumbbell."""

    rate: str
    delay: str
    seconds: float
    pair: tuple[str, str]
    is_jittered: bool = True

    @property
    def jitter(self) -> str:
        """A packet's transmission at the bottleneck."""
        return f"{12 / float(self.rate.split()[0]):g} ms"

    def setup(self, known: dict[str, str | None]) -> Setup:
        """Its scenario, in which counterparts stand for the kernel's schemes."""
        kernel = {}
        flows = []
        for name, scheme in zip("ab", self.pair, strict=True):
            ours = scheme
            if scheme.startswith("kernel-"):
                kernel[name] = scheme.removeprefix("kernel-")
                ours = known[kernel[name]] or ""
            kind = "datagram" if ours in DATAGRAMS else "transport"
            fields = {"segment_size": "1500 B"}
            # A fair queue gives each its turn whatever the phase, and pairs must stay pairs.
            if self.is_jittered and kind == "transport" and name not in kernel and not FAIR & set(self.pair):
                fields["send_jitter"] = self.jitter
            flows.append(tb.flows(1, ours, name=name, start={"from": "0 s", "to": "300 ms"}, **{kind: fields}))
        longer = self._longer() if self.pair[0] == self.pair[1] else "0.1 ms"
        base = tb.dumbbell(
            rate=self.rate,
            delay=self.delay,
            buffer="50 packets",
            queue="weighted-fair-queueing" if FAIR & set(self.pair) else "drop-tail",
            access={"delay": ["0.1 ms", longer]},
            duration=f"{self.seconds:g} s",
            warm_up=f"{0.3 * self.seconds:g} s",
            name=f"{self.pair[0]} and {self.pair[1]}, {self.rate}, {self.delay}{'' if self.is_jittered else ', no jitter'}",
        )
        return Setup(base.with_flows(*flows).to_json(), kernel)

    @staticmethod
    def file(setup: Setup) -> str:
        """The name of the file in which its runs with real packets are kept."""
        return f"{json.loads(setup.scenario)['name'].replace('/', ' per ')}.json"

    def _longer(self) -> str:
        return f"{float(self.delay.split()[0]) / 4 + 0.1:g} ms"


def cells(known: dict[str, str | None]) -> Iterable[Cell]:
    """All dumbbells that can be run here."""
    for pair in PAIRS:
        names = [scheme.removeprefix("kernel-") for scheme in pair if scheme.startswith("kernel-")]
        if all(known.get(name) for name in names):
            yield from (Cell(*cell, pair) for cell in CELLS)
    yield Cell(*CELLS[1], ("cubic", "cubic"), is_jittered=False)
