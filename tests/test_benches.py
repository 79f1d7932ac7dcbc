"""The benchmark's readers of other programs' output, on samples of it. Nothing is timed here."""

import json
from pathlib import Path

import pytest

from benches import compare, feature_cases, features, growth, process, queues, schemes, startup
from tailback import _core

DIVAN = """\
per_packet                    fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ active                                   │               │               │               │         │
│  ├─ codel                   17.61 µs      │ 59.08 µs      │ 17.65 µs      │ 31.45 µs      │ 3       │ 3
│  │                          56.76 Mitem/s │ 16.92 Mitem/s │ 56.63 Mitem/s │ 31.79 Mitem/s │         │
│  ╰─ token-bucket            40.36 µs      │ 40.4 µs       │ 1.4 ms        │ 40.39 µs      │ 3       │ 3
├─ admission                                │               │               │               │         │
│  ╰─ drop-tail               804.1 ns      │ 3.885 µs      │ 835.5 ns      │ 3.842 µs      │ 3       │ 3
╰─ nothing                    16.3 µs       │ 16.4 µs       │ 16.31 µs      │ 16.3 µs       │ 3       │ 3
"""


def test_medians_are_read_in_nanoseconds_per_packet() -> None:
    assert queues.medians(DIVAN) == {
        "active": {"codel": 17.65, "token-bucket": 1400.0},
        "admission": {"drop-tail": 0.8355},
        "nothing": {"": 16.31},
    }


def test_figures_are_read_from_json_and_from_pairs() -> None:
    assert process.figures('{"scenario":"P1","acked":5}') == {"scenario": "P1", "acked": "5"}
    assert process.figures("scenario=P1 delivered=5 dropped=1") == {"scenario": "P1", "delivered": "5", "dropped": "1"}


def test_acknowledged_packets_count_where_both_are_told() -> None:
    said = {"delivered": "10", "acked": "8", "dropped": "2"}
    cost = process.Cost(cpu_s=8e-6, system_s=0.0, wall_s=1.0, peak_bytes=0, said=said)
    assert cost.ns_per_packet == 1000.0
    assert cost.loss == 0.2


def cost(cpu_s: float) -> process.Cost:
    return process.Cost(
        cpu_s=cpu_s, system_s=0.0, wall_s=cpu_s, peak_bytes=0, said={"delivered": "1000", "dropped": "0"}
    )


def test_programs_are_compared_beyond_their_set_up() -> None:
    assert compare.times_faster([cost(0.3)], [cost(4.0)], (0.1, 2.0)) == "**10.0** (10.0 to 10.0)"


def test_what_is_mostly_set_up_is_not_compared() -> None:
    # Thirty times the CPU seconds, of which nearly all went into setting up.
    assert compare.times_faster([cost(0.2)], [cost(6.0)], (0.0, 5.5)) == "too short to compare"
    assert compare.times_faster([cost(0.02)], [cost(6.0)], (0.0, 0.5)) == "too short to compare"


def run_of(user_s: float, system_s: float, delivered: int) -> process.Cost:
    said = {"delivered": str(delivered), "dropped": "0"}
    return process.Cost(cpu_s=user_s + system_s, system_s=system_s, wall_s=1.0, peak_bytes=0, said=said)


def test_growth_tells_later_packets_from_set_up_and_first_touches() -> None:
    few = growth.Round(run_of(0.0, 0.0, 1), run_of(1e-3, 0.0, 1000), run_of(3e-3, 0.0, 3000))
    many = growth.Round(run_of(0.5, 0.25, 1), run_of(0.6, 0.4, 1000), run_of(0.6 + 4e-3, 0.9, 3000))
    cases = [growth.case("1000=3:6"), growth.case("100000=0.4:0.8")]
    rows = growth.table(cases, [[few], [many]])[2:]
    assert rows[0] == "| 1000, 3 and 6 s | 0.00 + 0.00 s | 1000 | 1.00 | 1000 | 1.00 |"
    assert rows[1] == "| 100000, 0.4 and 0.8 s | 0.50 + 0.25 s | 1000000 | 1000.00 | 2000 | 2.00 |"


def test_instructions_are_read_from_what_callgrind_says() -> None:
    assert startup.collected("==7== Events    : Ir\n==7== Collected : 1718204\n==7==\n") == 1718204
    with pytest.raises(SystemExit, match="told no number"):
        startup.collected("valgrind: no such program")


def test_a_table_of_instructions_takes_the_place_of_the_one_before() -> None:
    page = (
        "# Page\n\n| scheme | ns |\n\n## Instructions of schemes\n\nText.\n\n| scheme | old |\n\nMonaco.\n\n## Next\n"
    )
    told = schemes.recounted(page, ["| scheme | new |", "", "Monaco costs less."])
    assert told == page.replace("old", "new").replace("Monaco.", "Monaco costs less.")


def test_instructions_are_read_from_cachegrind() -> None:
    assert features.counted("==7== \n==7== I   refs:      292,782,072\n") == 292782072
    assert features.row("plain", [2456.4, 2588.0, 2701.8]) == "| plain | 2456 | 2588 | 2702 | 1.10 |"


def test_every_feature_is_counted_in_a_sound_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace").write_text(feature_cases.trace(20), encoding="utf-8")
    for part in (*feature_cases.PARTS.values(), feature_cases.BUILDING):
        for name, feature in part.items():
            scenario = features.scenario(name, feature, 20, 300)
            assert _core.check(json.dumps(scenario)) == [], name
