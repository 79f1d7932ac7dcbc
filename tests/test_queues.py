"""The scenarios of RFC 7928: their numbers are those of its text, which are typed here again, section by section; every row of
the page can be run, and the page shows what its tool makes."""

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tailback as tb
from tailback import units
from tools import write_queues
from tools.pages import between
from tools.queues import BURSTS, CASES, GUIDE, LEVELS, QUEUES, TRIPS, measured, phases, quick, scenario
from tools.queues_figure import outline

FILES = sorted(GUIDE.glob("*.toml"))
SEGMENT = 1500
RATE, TRIP = 10e6, 0.1
"""bit/s and seconds, of the files' own network; the RFC leaves them open, but for the 100 ms of §6.2."""


def guide(name: str) -> dict[str, Any]:
    return tb.Scenario.from_toml(GUIDE / f"{name}.toml").to_dict()


def flows(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = guide(name)["flows"]
    return found


def scheme(flow: Mapping[str, Any]) -> str:
    told = flow["scheme"]
    return told if isinstance(told, str) else told["name"]


def source(flow: Mapping[str, Any]) -> str:
    told = flow.get("source", "bulk")
    return told if isinstance(told, str) else told["name"]


def endless(flow: Mapping[str, Any]) -> bool:
    """Long-lived and not limited by its application."""
    return "source" not in flow and "stop" not in flow


def long_newreno(flow: Mapping[str, Any]) -> bool:
    """NewReno with selective acknowledgements (§3.3)."""
    return endless(flow) and scheme(flow) == "sack"


def trips(made: tb.Scenario) -> list[float]:
    """Round trips without queues, per flow."""
    return list(made.run().flows["round_trip"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_is_a_scenario_of_one_network(file: Path) -> None:
    read = tb.Scenario.from_toml(file)
    read.check()
    told = read.to_dict()
    assert "queue" not in told["topology"], "the queue is what is compared"
    assert told["record"]["delays"] is True, "§2.6: latency and jitter"
    for flow in told["flows"]:
        if "datagram" in flow:
            continue
        assert flow["receiver"] == {"ack_every": 2}
        assert flow["transport"]["segment_size"] in {"1500 B", "500 B"}
        assert flow["transport"]["rto"] == {"tick": "10 ms"}
    text = file.read_text(encoding="utf-8")
    assert f"tailback sweep examples/rfc7928/{file.name} --over" in text
    assert "RFC 7928 §" in text.splitlines()[0]


def test_buffers_are_the_largest_bandwidth_delay_product() -> None:
    for file in FILES:
        result = tb.Scenario.from_toml(file).run()
        longest = max(result.flows["round_trip"])
        for link in result.links.filter(~pl.col("is_access") & pl.col("buffer_packets").is_not_null()).iter_rows(
            named=True
        ):
            assert link["buffer_packets"] == pytest.approx(link["rate"] * longest / 8 / SEGMENT, abs=0.7), file.stem


def test_tcp_friendly_senders() -> None:
    (one,) = flows("tcp_friendly")
    assert long_newreno(one)
    assert one.get("count", 1) == 1
    assert one["transport"]["initial_window"] == "3 packets"
    first, second = flows("tcp_friendly_short")
    assert long_newreno(first)
    assert scheme(second) == "sack"
    packets = units.number(second["source"]["size"]) / (SEGMENT - 40)
    assert 10 < packets < 100
    assert packets == 40
    assert units.number(second["start"]["from"]) >= 20, "after the long one has reached its steady state"
    assert units.number(second["start"]["to"]) < units.number(guide("tcp_friendly_short")["duration"]) - 5
    windows = {
        scenario(f"short {iw}", "drop-tail", 1).to_dict()["flows"][1]["transport"]["initial_window"] for iw in (3, 10)
    }
    assert windows == {"3 packets", "10 packets"}


def test_an_exact_clock_would_make_timers_expire_for_nothing() -> None:
    """Why the files have a clock of 10 ms; `docs/model.md` says so too."""
    coarse = tb.Scenario.from_toml(GUIDE / "tcp_friendly.toml")
    exact = coarse.replace(**{"flows[0].transport.rto.tick": "0 s"})
    minimum = exact.replace(**{"flows[0].transport.rto.min": "1 s"})
    expired = [made.run().flows["timeouts"][0] for made in (coarse, exact, minimum)]
    assert expired[0] == expired[2] == 0
    assert expired[1] > 0


def test_aggressive_and_unresponsive_senders() -> None:
    (cubic,) = flows("aggressive")
    assert endless(cubic)
    assert scheme(cubic) == "cubic"
    (flood,) = flows("unresponsive")
    assert scheme(flood) == "fixed-rate"
    assert units.number(flood["scheme"]["rate"]) > RATE
    tcp, udp = flows("unresponsive_mix")
    assert long_newreno(tcp)
    assert scheme(udp) == "fixed-rate"
    assert RATE / 2 < units.number(udp["scheme"]["rate"]) <= RATE


def test_less_than_best_effort() -> None:
    tcp, ledbat = flows("less_than_best_effort")
    assert long_newreno(tcp)
    assert endless(ledbat)
    assert ledbat["scheme"] == {"name": "ledbat", "target": "5 ms"}
    # The RFC's gain of 10 is above what RFC 6817 allows, so that the file cannot have it.
    with pytest.raises(tb.ScenarioError, match=r"scheme\.gain: 10 is not allowed"):
        tb.Scenario.from_toml(GUIDE / "less_than_best_effort.toml").replace(**{"flows[1].scheme.gain": 10}).check()


def test_round_trips() -> None:
    one, other = flows("rtt_fairness")
    assert long_newreno(one)
    assert long_newreno(other)
    assert {TRIPS[0], TRIPS[-1]} == {5, 560}
    for trip in TRIPS:
        assert trips(scenario(f"rtt {trip}", "drop-tail", 1)) == pytest.approx([0.100, trip / 1000])
    marked = scenario("rtt 5 ecn", "CoDel", 1).to_dict()
    assert {flow["transport"]["ecn"] for flow in marked["flows"]} == {"ect0"}
    assert marked["topology"]["queue"]["ecn"] is True


def test_packet_sizes() -> None:
    small, large = flows("packet_sizes")
    assert small["count"] == large["count"]
    assert small["count"] + large["count"] == LEVELS["mild"]
    assert [flow["transport"]["segment_size"] for flow in (small, large)] == ["500 B", "1500 B"]


FIGURE_2 = {"I": (0, 1, 1, 0), "II": (0, 1, 1, 1), "III": (1, 1, 1, 0), "IV": (1, 1, 1, 1)}
"""Video, web, constant bit rate, bulk."""


def a_page(flow: Mapping[str, Any]) -> bool:
    """At least 50 objects of at least 1 KB over six connections, each with an initial window of ten packets (§7.2)."""
    objects = flow["source"]
    return (
        flow["count"] == 6
        and flow["count"] * objects["count"] >= 50
        and objects["size"]["name"] == "uniform"
        and units.number(objects["size"]["from"]) >= 1000
        and objects["connection"] == "kept"
        and flow["transport"].get("initial_window", "10 packets") == "10 packets"
    )


def test_bursts() -> None:
    for case, (video, web, cbr, bulk) in FIGURE_2.items():
        told = scenario(f"bursts {case}", "drop-tail", 1).to_dict()["flows"]
        web_pages = [flow for flow in told if source(flow) == "files"]
        assert bool(web_pages) == bool(web)
        assert all(a_page(flow) for flow in web_pages)
        assert sum(source(flow) == "video" for flow in told) == video
        assert sum(scheme(flow) == "fixed-rate" and endless(flow) for flow in told) == cbr
        assert sum(long_newreno(flow) for flow in told) == bulk
    assert set(BURSTS) == set(FIGURE_2)


def test_congestion_is_that_of_the_formula() -> None:
    told = guide("congestion")
    both = RATE * TRIP / 8 / SEGMENT + float(told["topology"]["buffer"].split()[0])
    for (level, loss), share in zip(
        {"mild": 0.001, "medium": 0.005, "heavy": 0.01}.items(), (0.036, 0.081, 0.114), strict=True
    ):
        (group,) = scenario(level, "drop-tail", 1).to_dict()["flows"]
        assert long_newreno(group)
        assert group["count"] == LEVELS[level] == round(share * both)
        assert share == pytest.approx(math.sqrt(loss / 0.76), rel=0.01)


def test_congestion_varies_by_twenty_seconds() -> None:
    told = guide("varying_congestion")
    begin = units.number(told["warm_up"])
    there = []
    for phase in range(4):
        middle = begin + 20 * phase + 10
        counts = (
            flow["count"]
            for flow in told["flows"]
            if (isinstance(flow["start"], dict) or units.number(flow["start"]) <= middle - 10)
            and units.number(flow.get("stop", "1000 s")) >= middle + 10
        )
        there.append(sum(counts))
    assert there == [6, 13, 19, 6]
    assert units.number(told["duration"]) == begin + 80
    assert {scheme(flow) for flow in told["flows"]} == {"sack"}


@pytest.mark.parametrize(("made", "length"), [("varying capacity", 20.0), ("quick capacity", 0.1)])
def test_capacity_varies(made: str, length: float) -> None:
    told = scenario(made, "drop-tail", 1).to_dict()
    steps = [(0.0, told["topology"]["rate"])]
    steps += [(units.number(step["at"]), step["rate"]) for step in told["topology"]["schedule"]]
    begin, end = units.number(told["warm_up"]), units.number(told["duration"])
    for phase in range(round((end - begin) / length)):
        middle = begin + (phase + 0.5) * length
        rate = next(rate for at, rate in reversed(steps) if at <= middle)
        assert rate == ("100 Mbit/s", "10 Mbit/s")[phase % 2]
    assert steps[1][0] == pytest.approx(begin + length)
    assert all(scheme(flow) == "sack" for flow in told["flows"])


def test_the_mix() -> None:
    told = flows("traffic_mix")
    assert sum(a_page(flow) for flow in told if source(flow) == "files") == 6
    calls = [flow for flow in told if source(flow) == "voice"]
    assert [flow.get("from") for flow in calls] == [None, "r1"]
    assert sum(scheme(flow) == "fixed-rate" and endless(flow) for flow in told) == 1
    assert [scheme(flow) for flow in told if source(flow) == "video"] == ["nada"], "adaptive"
    assert [flow["count"] for flow in told if long_newreno(flow)] == [5]


def test_both_directions_and_two_queues() -> None:
    down, up = flows("bidirectional")
    assert down["count"] == up["count"] == LEVELS["mild"]
    assert (up["from"], up["to"]) == ("r1", "r0")
    both, second = flows("two_queues")
    assert both["count"] == second["count"] == LEVELS["mild"] / 2
    assert [(flow["from"], flow["to"]) for flow in (both, second)] == [("L", "R"), ("M", "R")]
    assert trips(tb.Scenario.from_toml(GUIDE / "two_queues.toml"))[0] == pytest.approx(TRIP)


@pytest.mark.parametrize("case", CASES)
def test_every_case_gives_what_the_page_shows(case: str) -> None:
    shown = {name for _, columns in write_queues.TABLES.values() for told, name in columns if told == case}
    rows = measured((case, "CoDel", 1))
    assert shown, "a case that no table shows"
    assert shown <= {row["measure"] for row in rows}
    assert all(np.isfinite(row["value"]) for row in rows)


def test_queues_can_be_built() -> None:
    for queue in QUEUES:
        for case in ("newreno", "rtt 5 ecn", "two queues"):
            scenario(case, queue, 1).check()


def test_phases_are_parts_of_the_whole() -> None:
    result = tb.Scenario.from_toml(GUIDE / "varying_congestion.toml").replace(queue="codel").run()
    link = result.links.row(by_predicate=pl.col("link") == result.bottleneck, named=True)
    (whole,) = phases(result, 80).rows(named=True)
    assert whole["delay"] == pytest.approx(1e3 * link["queueing_delay"], rel=1e-3)
    assert whole["used"] == pytest.approx(100 * link["utilization"], abs=0.2)
    quarters = phases(result, 20)
    assert quarters["phase"].to_list() == [0, 1, 2, 3]
    assert whole["longest"] == quarters["longest"].max()
    assert quarters["delay"].min() < whole["delay"] < quarters["delay"].max()


def test_outlines_are_a_standard_deviation_away() -> None:
    draw = np.random.default_rng(1)
    x, y = draw.normal(3, 2, 50), draw.normal(1, 0.1, 50)
    y += 0.2 * x
    away = np.stack(outline(x, y)) - np.array([[x.mean()], [y.mean()]])
    inverse = np.linalg.inv(np.cov(x, y, bias=True))
    assert np.einsum("in,ij,jn->n", away, inverse, away) == pytest.approx(np.ones(away.shape[1]))


def test_the_page_shows_what_its_tool_makes() -> None:
    told = between(write_queues.PAGE, *write_queues.MARKS)
    sections = told.split("\n### ")
    assert len(sections) == 1 + len(write_queues.TABLES)
    for section, (title, (about, columns)) in zip(sections[1:], write_queues.TABLES.items(), strict=True):
        assert section.startswith(f"{title}\n\n{about}\n")
        lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
        assert lines[0] == ["queue", *columns.values()]
        assert [line[0] for line in lines[2:]] == list(QUEUES)
        assert {len(line) for line in lines} == {1 + len(columns)}
    cells = pl.read_csv(write_queues.CELLS)
    assert cells.select("case", "queue").unique().height == len(CASES) * len(QUEUES)
    assert cells["half_width"].is_finite().all()


def test_a_look_leaves_the_documentation_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {file: file.read_bytes() for file in (write_queues.PAGE, write_queues.FIGURE, write_queues.CELLS)}
    shown = {key for _, columns in write_queues.TABLES.values() for key in columns}
    shown |= {(case, name) for case in ("newreno", "cubic", "mild", "heavy") for name in ("rate", "delay")}
    made = [
        {"case": case, "queue": queue, "seed": seed, "measure": name, "value": 1.0 + 0.1 * seed}
        for case, name in sorted(shown)
        for queue in QUEUES
        for seed in (1, 2, 3)
    ]
    monkeypatch.setattr(write_queues, "measure", lambda *_: pl.DataFrame(made))
    monkeypatch.setattr(sys, "argv", ["write_queues", "--quick"])
    monkeypatch.chdir(tmp_path)
    write_queues.main()
    assert before == {file: file.read_bytes() for file in before}
    assert "1.20 ± 0.25" in (tmp_path / "out" / "queues" / "howto" / "evaluate-queue.md").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "queues" / "_static" / "evaluate-queue.svg").exists()


def test_quick_phases_are_those_of_the_page() -> None:
    page = write_queues.PAGE.read_text(encoding="utf-8")
    line = next(line for line in page.splitlines() if line.startswith("steps = "))
    known: dict[str, Any] = {}
    exec(line, known)
    made = quick(tb.Scenario.from_toml(GUIDE / "varying_capacity.toml")).to_dict()["topology"]["schedule"]
    assert made == known["steps"]
