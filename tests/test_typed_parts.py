"""Parts of scenarios as typed objects: access links, aggregates and records say what tables of the same fields say, and are
refused alike. And what a result counts and shows first."""

from __future__ import annotations

import inspect
from typing import Any

import polars as pl
import pytest

import tailback as tb
from tailback.papers.accumulation import network
from tailback.scenario import Access, Aggregate, Record
from tailback.scenario._base import plain
from tailback.scenario.described import field_texts


def dumbbell(**fields: Any) -> tb.Scenario:
    """A flow over a bottleneck of 10 Mbit/s."""
    given = {
        "access": {"rate": "20 Mbit/s", "delay": "2 ms"},
        "flows": [tb.flows(1, "cubic")],
        "record": {"delays": True},
    }
    return tb.dumbbell(rate="10 Mbit/s", delay="10 ms", duration="3 s", **{**given, **fields})


def edges(*loops: Any) -> tb.Scenario:
    """A flow from s over the edges e and x to d."""
    ways = (("s", "e", 1e9), ("e", "x", 10e6), ("x", "d", 1e9))
    links = [network.link(source, sink, rate, 2e-3) for source, sink, rate in ways]
    flow = tb.flows(1, "sack", name="in", from_="s", to="d")
    return tb.graph(*links, duration="3 s", flows=[flow], aggregates=list(loops))


def test_access_links_are_those_that_are_said() -> None:
    typed = dumbbell(access=Access(rate="20 Mbit/s", delay="2 ms"))
    assert typed.to_dict() == dumbbell().to_dict()
    made = typed.run()
    assert made.hash == dumbbell().run().hash
    rates = dict(made.links.select("link", "rate").rows())
    assert rates["s0->r0"] == rates["r1->d0"] == 20e6
    # Two links of 2 ms and one of 10 ms each way, and a packet's and an acknowledgement's time on each.
    alone = tb.flows(1, {"name": "fixed-window", "window": "1 packet"})
    rtt = dumbbell(access=Access(rate="20 Mbit/s", delay="2 ms"), flows=[alone]).run().flows["mean_rtt"][0]
    assert rtt == pytest.approx(0.028 + 8 * (1000 + 40) * (1 / 10e6 + 2 / 20e6), rel=1e-3)
    assert Access().delay == "5 ms", "where nothing is said"
    assert dumbbell(access=Access()).run().hash != made.hash


def test_aggregates_are_those_that_are_said() -> None:
    typed = tb.Aggregate(name="loop", from_="e", to="x", scheme="monaco", buffer="50 packets")
    assert tb.Aggregate is Aggregate
    table = {"name": "loop", "from": "e", "to": "x", "scheme": "monaco", "buffer": "50 packets"}
    assert edges(typed).to_dict() == edges(table).to_dict()
    made = edges(typed).run()
    assert made.hash == edges(table).run().hash
    assert made.aggregates.select("aggregate", "link").rows() == [("loop", "e->loop")]
    assert made.links.filter(pl.col("link") == "e->loop")["buffer_packets"].to_list() == [50]
    assert made.hash != edges(Aggregate(name="loop", from_="e", to="x", scheme="monaco")).run().hash


def test_records_are_those_that_are_said() -> None:
    typed = dumbbell(record=Record(bin="50 ms", links=["r0->r1"], packets=True))
    assert typed.to_dict() == dumbbell(record={"bin": "50 ms", "links": ["r0->r1"], "packets": True}).to_dict()
    made = typed.run()
    assert made.bin == pytest.approx(0.05)
    assert made.link_series["link"].unique().to_list() == ["r0->r1"]
    assert made.link_series.height == 60
    assert made.packets.height > 1000
    unsaid = dumbbell(record=Record()).run()
    assert unsaid.hash == dumbbell(record={}).run().hash
    assert unsaid.packets.is_empty()
    assert unsaid.bin == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Access(rat="5 Mbit/s"), r"rat: the unknown field `rat` is not allowed; expected `rate`"),
        (lambda: Access(rate=5), r"rate: 5 is not allowed; expected a rate with its unit"),
        (lambda: dumbbell(access=Access(rate="5")).check(), r'topology\.access\.rate: "5" is not allowed'),
        (lambda: Aggregate(name="a"), r"from is missing; .*\n.*to is missing; .*\n.*scheme is missing"),
        (lambda: Aggregate(name="a", from_="e", to="x", scheme="nonsense"), r'scheme: "nonsense" is not allowed'),
        (lambda: edges(Aggregate(name="a", from_="e", to="y", scheme="monaco")).check(), r'aggregates\[0\]\.to: "y"'),
        (lambda: Record(packets="yes"), r"packets: 'yes' is not allowed; expected true or false"),
        (lambda: dumbbell(record=Record(bin="0 s")).check(), r"record\.bin: 0 s is not allowed"),
        (lambda: dumbbell(record=Record(links=["r9"])).check(), r'record\.links\[0\]: "r9" is not allowed'),
    ],
)
def test_what_is_wrong_is_named(make: Any, said: str) -> None:
    with pytest.raises(tb.ScenarioError, match=said):
        make()


def test_main_links_are_watched_or_narrow_or_drop() -> None:
    small = [tb.flows(4, "cubic")]
    wide = dumbbell(flows=small, buffer="20 packets", record=Record(links="none"))
    made = wide.run()
    dropping = made.links.filter(pl.col("dropped_packets") > 0)["link"].to_list()
    assert made.main_links["link"].to_list() == dropping == ["r0->r1"]
    watched = wide.replace(**{"record.links": ["r0->s0"]}).run().main_links["link"].to_list()
    assert sorted(watched) == ["r0->r1", "r0->s0"]
    with pytest.warns(tb.TailbackWarning, match="hosts' links limit their flows"):
        narrow = wide.replace(**{"access.buffer": "5 packets", "access.rate": "1 Mbit/s"}).run()
    assert {"s0->r0", "s3->r0"} <= set(narrow.main_links["link"]), "which drop"


def test_messages_count_from_warm_up_on() -> None:
    source = {"name": "files", "size": "20 kB", "pause": "50 ms"}
    made = dumbbell(flows=[tb.flows(1, "cubic", source)], warm_up="1 s").run()
    counted = made.counted_messages()
    assert counted["began"].to_list() == [began for began in made.messages["began"] if began >= 1.0]
    assert 5 < counted.height < made.messages.height


def test_fields_are_told_to_whoever_asks() -> None:
    told = inspect.getdoc(tb.Flow)
    assert told is not None
    assert told.startswith("A group of flows that are alike.\n\nFields:")
    fields = dict(line[2:].split(": ", 1) for line in told.partition("Fields:\n\n")[2].splitlines())
    assert fields.keys() == {field.alias or name for name, field in tb.Flow.model_fields.items()}
    assert {"from", "to"} <= fields.keys(), "as they are typed in a file"
    assert fields["count"].endswith(".")
    # What is inherited is told, too, and what has no text of its own is not made up.
    assert "Fields:" in (inspect.getdoc(tb.Scenario) or "")
    assert field_texts(int) == {}


def test_nothing_said_is_all_defaults() -> None:
    assert Record() == Record.model_validate({})
    assert plain(Record()) == {}
    assert Record().model_fields_set == set()
    with pytest.raises(tb.ScenarioError, match="from is missing; expected a value"):
        Aggregate()
