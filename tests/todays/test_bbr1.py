"""BBR version 1 beside CUBIC, and under random loss with and without its detection of policers: laws, and why they differ from
published ones. What both versions do is in `test_bbr.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tailback as tb
from tests.todays.networks import ACCESS, PACKET, SEGMENT, noted, run, share


def beside_cubic(megabits: float, trip: float, products: float, others: int, seconds: float, **more: Any) -> tb.Result:
    """One BBR flow beside CUBIC flows, over a round trip of so many milliseconds and a buffer of so many products; measured in the
    last two thirds."""
    return tb.dumbbell(
        rate=f"{megabits} Mbit/s",
        delay=f"{0.45 * trip:.6g} ms",
        buffer=f"{products} BDP",
        duration=f"{seconds} s",
        warm_up=f"{seconds / 3} s",
        access={"rate": "10 Gbit/s", "delay": {"from": f"{0.02 * trip:.6g} ms", "to": f"{0.03 * trip:.6g} ms"}},
        flows=[tb.flows(1, "bbr1", name="one", transport=SEGMENT), tb.flows(others, "cubic", transport=SEGMENT)],
        **more,
    ).run()


def law(megabits: float, trip: float, products: float) -> float:
    """BBR keeps two of its own products in flight, with the round trip time of ProbeRTT. Meanwhile the others keep what they had
    in flight, their part p of all, q + cl packets, and BBR 4. So 2 (1 - p)(p (q + cl) + 4) = (1 - p)(q + cl), and 1 - p is
    1/2 + 4/(q + cl), for the time without ProbeRTT: of 10 s, it takes what waits, 0.2 s and a round trip. Ware et al. (IMC 2019)
    let p q wait during ProbeRTT instead of p (q + cl) - cl, though BBR's part of the path is empty then."""
    path = megabits * 1e3 * trip / PACKET
    probing = products * trip * 1e-3 + 0.2 + trip * 1e-3
    return (0.5 + 4 / ((1 + products) * path)) * (1 - probing / 10)


# ── oracle 3: beside CUBIC ──


@pytest.mark.parametrize("products", [2, 8])
def test_bbr1_has_the_same_share_however_many_cubic_flows_it_meets(products: int) -> None:
    """One BBR flow beside 1 and 16 CUBIC flows, 20 Mbit/s and 40 ms: its share differs by less than 0.1, as in the model. The model
    has 0.75 and 0.54 for it with 2 and 8 products of buffer; here it is less, and hardly depends on the buffer (see the page)."""
    shares = []
    for others in (1, 16):
        result = tb.dumbbell(
            rate="20 Mbit/s",
            delay="18 ms",
            buffer=f"{products} BDP",
            duration="150 s",
            warm_up="50 s",
            access={"rate": "1 Gbit/s", "delay": {"from": "0.8 ms", "to": "1.2 ms"}},
            flows=[tb.flows(1, "bbr1", name="one", transport=SEGMENT), tb.flows(others, "cubic", transport=SEGMENT)],
        ).run()
        shares.append(share(result, "one"))
    assert abs(shares[0] - shares[1]) < 0.1
    assert all(0.35 < part < 0.55 for part in shares), shares


@pytest.mark.parametrize(("products", "seconds"), [(2, 200), (4, 200), (8, 200), (16, 400)])
def test_half_of_the_link_is_bbr1s_however_many_cubic_flows_it_meets(products: int, seconds: float) -> None:
    """20 Mbit/s and 40 ms: within 0.1 of the law, and of each other; at 16 products within 0.13."""
    shares = [share(beside_cubic(20, 40, products, others, seconds), "one") for others in (1, 4, 16)]
    assert shares == pytest.approx([law(20, 40, products)] * 3, abs=0.1)
    assert max(shares) - min(shares) < (0.1 if products < 16 else 0.13), shares


@pytest.mark.parametrize(("products", "others"), [(2, 1), (2, 16), (4, 1)])
def test_during_probes_the_others_fill_the_path_first(products: int, others: int) -> None:
    """Why BBR has less than in Ware's model: of the others' p q packets in the queue, those that BBR's packets were before move to
    the path while BBR waits in ProbeRTT."""
    recorded = {"bin": "20 ms", "flows": "all", "state": True}
    result = beside_cubic(20, 40, products, others, 150, record=recorded)
    modes = noted(result, "mode")
    time, probing = modes["time"].to_numpy(), modes["value"].to_numpy() == 3
    begins = time[1:][probing[1:] & ~probing[:-1]]
    ends = time[1:][~probing[1:] & probing[:-1]]
    series = result.series(link="r0->r1")
    at, waits = series["time"].to_numpy(), series["queue_packets"].to_numpy()
    pairs = [(begin, ends[ends > begin][0]) for begin in begins if begin > 50 and (ends > begin).any()]
    assert len(pairs) >= 5
    before = np.mean([waits[(at > begin - 0.3) & (at <= begin)].mean() for begin, _ in pairs])
    during = np.mean([waits[(at > begin) & (at <= end)].min() for begin, end in pairs])
    part, path = 1 - share(result, "one"), 20e6 * 0.040 / PACKET
    assert during == pytest.approx(part * (before + path) - path, rel=0.2)
    assert during < 0.75 * part * before


def test_a_deep_buffer_that_waits_for_seconds_is_another_matter() -> None:
    """64 products: of 4 ms at 50 Mbit/s, a quarter of a second, the law holds. Of 40 ms at 20 Mbit/s they are 2.6 s, and ProbeRTT,
    which also lasts for a round trip, takes 4 s of every 14: there BBR has a quarter at most."""
    assert share(beside_cubic(50, 4, 64, 1, 150), "one") == pytest.approx(law(50, 4, 64), abs=0.1)
    assert share(beside_cubic(20, 40, 64, 1, 600), "one") < 0.25


# ── the same against the model of Ware et al. (IMC 2019) ──


def modelled_share(products: float) -> float:
    """The model's share of one BBR flow, 20 Mbit/s and 40 ms, in a buffer of so many products: with the loss-based flows' part
    p = 1/2 - 1/(2X) - 4/q of the buffer, (1 - p) of the time without ProbeRTT, which lasts for what waits and 0.24 s in 10 s."""
    buffer = products * 20e6 * 0.040 / PACKET
    part = 0.5 - 0.5 / products - 4 / buffer
    return (1 - part) * (1 - (products * 0.040 + 0.24) / 10)


@pytest.mark.parametrize(
    ("products", "others", "seconds", "found"),
    [
        (4, 1, 150, (0.40, 0.51)),
        (4, 16, 150, (0.38, 0.51)),
        (16, 4, 600, (0.38, 0.53)),
        (32, 16, 600, (0.38, 0.60)),
        (32, 1, 600, (0.11, 0.335)),
        (64, 4, 600, (0.0, 0.25)),
    ],
)
def test_3_share_of_bbr1_beside_cubic(products: int, others: int, seconds: float, found: tuple[float, float]) -> None:
    """Asked: within 0.1 of the model. That holds with 8 and 16 products of buffer, here 16. In 4 it is less than the model's 0.61;
    in 32 and 64 it depends on the number of the others, 0.14 to 0.53 and 0.03 to 0.14 by eight seeds. the tests above have
    the reasons."""
    one = tb.flows(1, "bbr1", name="one", transport=SEGMENT)
    access = {"rate": "1 Gbit/s", "delay": {"from": "0.8 ms", "to": "1.2 ms"}}
    cubic = tb.flows(others, "cubic", transport=SEGMENT)
    link: dict[str, Any] = {"buffer": f"{products} BDP", "access": access}
    got = share(run("20 Mbit/s", 40, (seconds / 3, seconds), [one, cubic], **link), "one")
    assert found[0] < got < found[1]
    agrees = products == 16 or (products, others) == (32, 16)
    assert (abs(got - modelled_share(products)) < 0.1) is agrees


# ── random loss ──


def possible(scheme: dict[str, Any], loss: float) -> float:
    """The part of what could get through at 10 Mbit/s and 40 ms: the mean of three runs."""
    parts = []
    for seed in (1, 2, 3):
        result = tb.dumbbell(
            rate="10 Mbit/s",
            delay="18 ms",
            buffer="4 BDP",
            duration="40 s",
            warm_up="10 s",
            seed=seed,
            access=ACCESS,
            loss={"name": "independent", "probability": loss},
            flows=[tb.flows(1, scheme)],
        ).run()
        parts.append(float(result.flows["goodput"][0]) / (10e6 * (1 - loss)))
    return float(np.mean(parts))


@pytest.mark.parametrize(
    ("policer", "fine", "half", "broken"),
    [(True, 0.12, (0.13, 0.16), 0.18), (False, 0.13, (0.17, 0.21), 0.25)],
)
def test_how_much_random_loss_bbr1_bears(policer: bool, fine: float, half: tuple[float, float], broken: float) -> None:
    """Without its detection of policers it has 0.92 ± 0.03 at 14 %, half at 19, a third at 20 and an eighth at 25 (ten runs of
    60 s each): its paper's 20 %, where a probe at 1.25 of the rate gets as much through as there was. With it, what loses 50/256 of
    what it delivers is taken for policed, 16 % of what it sends. Over short intervals chance reaches that earlier: half is left at
    14.5 %."""
    scheme = {"name": "bbr1", "policer": policer}
    assert possible(scheme, 0.001) > 0.95
    assert possible(scheme, fine) > 0.85
    assert possible(scheme, half[0]) > 0.5 > possible(scheme, half[1])
    assert possible(scheme, broken) < 0.2
