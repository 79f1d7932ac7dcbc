"""Quantities as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailback import units


def test_known_quantities() -> None:
    assert units.time(0.005) == "5 ms"
    assert units.time(60) == "60 s"
    assert units.time(1e-9) == "1 ns"
    assert units.rate(32e6) == "32 Mbit/s"
    assert units.rate(1500) == "1500 bit/s"
    assert units.size(1500) == "1500 B"
    assert units.packets(3) == "3 packets"


@given(st.floats(0, 1e8))
def test_times_come_back_to_the_nanosecond(seconds: float) -> None:
    assert units.number(units.time(seconds)) == pytest.approx(seconds, abs=0.6e-9, rel=1e-15)


@given(st.integers(0, 10**15))
def test_rates_come_back_exactly(bits: int) -> None:
    assert units.number(units.rate(bits)) == bits


@pytest.mark.parametrize("bad", ["10", "10 Mb", "ms", "", "-5"])
def test_refuses_what_has_no_unit(bad: str) -> None:
    with pytest.raises(ValueError, match="quantity with its unit"):
        units.number(bad)


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_refuses_what_is_no_amount(bad: float) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        units.rate(bad)


def test_scales_for_readers() -> None:
    assert units.scaled(3.2e7, "bit/s") == (32.0, "Mbit/s")
    assert units.scaled(0.0125, "s") == (12.5, "ms")
    assert units.scaled(0.0, "s") == (0.0, "s")
    assert units.scaled(7, "packets") == (7, "packets")
