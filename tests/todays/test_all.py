"""Today's schemes on one network: each fills a link alone. What is asked of one scheme is in the file of its name."""

from __future__ import annotations

import pytest

from tests.todays.networks import alone, bottleneck


@pytest.mark.parametrize(
    "scheme",
    [
        "bbr1",
        "bbr3",
        "westwood-plus",
        "illinois",
        "compound",
        "highspeed",
        "ledbat-plus-plus",
        "prague",
        "dctcp",
        "copa",
        "ledbat",
        "vivace",
    ],
)
def test_one_flow_fills_the_link(scheme: str) -> None:
    found = bottleneck(alone(scheme))
    assert found["utilization"] > 0.9, scheme
