"""Quantities as text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tailback as tb
from tailback import _core, units
from tailback.commands import fields, registry
from tailback.commands.transfer import Common
from tailback.errors import ArgumentError
from tailback.lab.run import lateness


def test_known_quantities() -> None:
    assert units.time(0.005) == "5 ms"
    assert units.time(60) == "60 s"
    assert units.time(1e-9) == "1 ns"
    assert units.rate(32e6) == "32 Mbit/s"
    assert units.rate(1500) == "1500 bit/s"
    assert units.size(1500) == "1500 B"
    assert units.number("1_500.5 B") == 1500.5
    for count in range(1, 1000):
        for unit, power in (("ms", 3), ("µs", 6), ("ns", 9)):
            assert units.number(f"{count} {unit}") == float(f"{count}e-{power}")
    assert units.packets(3) == "3 packets"


def test_microseconds_are_read_in_three_ways_and_written_in_one() -> None:
    assert {units.number(f"800 {unit}") for unit in ("us", "µs", "μs")} == {0.0008}
    assert units.time(800e-6) == "800 µs"
    number, unit = units.scaled(2.5e-5, "s")
    assert (round(number, 9), unit) == (25.0, "µs")
    links = [tb.dumbbell(rate="1 Mbit/s", delay=f"800 {unit}", duration="1 s") for unit in ("us", "µs", "μs")]
    assert len({link.with_flows(tb.flows(1, "reno")).run().hash for link in links}) == 1
    with pytest.raises(tb.ScenarioError, match=r"period: 1 µs is not allowed; expected a time of at least 10 µs"):
        tb.dumbbell(rate="10 Mbit/s", delay="1 ms", queue={"name": "rem", "period": "1 us"})
    assert units.in_base_units(["1 ms", "800 us", "900 µs"]) == ([0.001, 0.0008, 0.0009], "s")


@pytest.mark.parametrize("unit", sorted(units._FACTORS))
def test_units_mean_what_they_mean_to_the_core(unit: str) -> None:
    kind = next(kind for kind in units.KINDS if unit in kind)
    field = {"s": "delay", "bit/s": "rate", "B": "buffer", "packets": "buffer"}[kind[0]]
    given = {"rate": "10 Mbit/s", "delay": "5 ms"}
    ours = units.number(f"1 {unit}")
    kept = json.loads(tb.dumbbell(**{**given, field: f"1 {unit}"}).to_json())["topology"][field]
    assert units.number(kept) == ours
    assert units.in_base_units([f"3 {unit}"]) == ([units.number(f"3 {unit}")], kind[0])


@given(st.floats(0, 1e8))
def test_times_come_back_to_the_nanosecond(seconds: float) -> None:
    assert units.number(units.time(seconds)) == pytest.approx(seconds, abs=0.6e-9, rel=1e-15)


@given(st.integers(0, 10**15))
def test_rates_come_back_exactly(bits: int) -> None:
    assert units.number(units.rate(bits)) == bits


@pytest.mark.parametrize("bad", ["10", "10 Mb", "ms", "", "-5", "1.2.3 s", "_1 s", ". s"])
def test_refuses_what_has_no_unit(bad: str) -> None:
    with pytest.raises(ValueError, match="quantity with its unit"):
        units.number(bad)


@pytest.mark.parametrize(
    ("bad", "kind", "expected"),
    [
        ("5 Mbit/s", "time", "a time with its unit, such as '5 ms'"),
        ("3 MB", "time", "a time"),
        ("1e999 s", "time", "a time"),
        ("20", "time", "a time"),
        ("-1 ms", "time", "a time"),
        ("5 ms", "rate", "a rate with its unit, such as '10 Mbit/s'"),
        ("5 packets", "data", "an amount of data with its unit, such as '4 MB'"),
    ],
)
def test_options_have_units_of_their_kind(bad: str, kind: units.Kind, expected: str) -> None:
    with pytest.raises(ArgumentError) as told:
        units.option("--some", bad, kind)
    assert f"--some: {bad!r} is not allowed; expected {expected}" in str(told.value)


def test_options_are_numbers_in_base_units() -> None:
    assert units.option("--some", "5 ms", "time") == pytest.approx(0.005)
    assert units.option("--some", "5 kbit/s", "rate") == 5000.0
    assert units.option("--some", "0 s", "time") == 0.0
    with pytest.raises(ArgumentError, match="above zero"):
        units.option("--some", "0 s", "time", positive=True)


@pytest.mark.parametrize("budget", ["5 Mbit/s, 3 MB", "1e999 s, 1 s", "1 ms", "1 ms, 2 ms, 3 ms"])
def test_lateness_is_two_times(budget: str) -> None:
    with pytest.raises(ArgumentError, match="--budget"):
        lateness(budget)


@pytest.mark.parametrize("patience", ["20 B", "20 Mbit/s", "20", "1e999 s"])
def test_patience_is_a_time(patience: str) -> None:
    with pytest.raises(ArgumentError, match="--patience"):
        Common(patience, plaintext=False, out=None, as_json=False).seconds()


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_refuses_what_is_no_amount(bad: float) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        units.rate(bad)


def test_scales_for_readers() -> None:
    assert units.scaled(3.2e7, "bit/s") == (32.0, "Mbit/s")
    assert units.scaled(0.0125, "s") == (12.5, "ms")
    assert units.scaled(0.0, "s") == (0.0, "s")
    assert units.scaled(7, "packets") == (7, "packets")


def test_bandwidth_delay_products_are_numbers_of_their_own() -> None:
    assert units.in_base_units(["0.5 BDP", "2 BDP", None]) == ([0.5, 2.0, None], "BDP")
    assert units.in_base_units(["10 packets", "2 BDP"]) is None
    assert units.in_base_units(["a lot", "2 BDP"]) is None


def test_one_packet_is_one_wherever_it_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    small = tb.dumbbell(rate="1 Mbit/s", delay="5 ms", buffer="1 packets", duration="1 s").with_flows(
        tb.flows(1, "reno")
    )
    result = small.run(seed=1)
    for scenario in (small, result.scenario):
        assert 'buffer = "1 packet"' in scenario.to_toml()
    # The text of which the hash is made stays what it was, and so does the hash.
    assert '"buffer":"1 packets"' in _core.canonical(small.to_json())
    assert result.hash == "ee4e4162ef9ef0eada3fcdc7d806aa40"
    registry.show("schemes", ["fixed-rate"], as_json=True)
    fields.show_fields("transport.pacing.burst", as_json=True)
    assert capsys.readouterr().out.count('"default": "1 packet"') == 2
    assert tb.flows(1, {"name": "fixed-rate", "burst": "1 packet"}) == tb.flows(
        1, {"name": "fixed-rate", "burst": "1 packets"}
    )
