"""Why claims of this paper fail here: one experiment for each reason. ``make mtsc`` writes the tables; nothing is judged here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tailback.analysis import mean_interval
from tailback.papers.ledger import select
from tailback.papers.mtsc import aggregate, sac, table_3
from tailback.papers.mtsc.network import PACE, SEVERITY, Measured, Setting
from tailback.papers.mtsc.sac_on_tcp import RENO
from tailback.papers.mtsc.table_2 import COUNTS, place_of

if TYPE_CHECKING:
    from tailback.papers.lab import Lab

MEAN_LEVEL = 4.5
SEVERAL = 2_000.0
"""Seconds of each of several runs."""
SEVERAL_RUNS = 20
LENGTH = 10_000.0
"""Seconds, §4.1: outer levels are rare."""
CONTROLLED = (
    *(f"mtsc/fig-{number}" for number in (9, 10, 11, 12, 13, 14, 15, 16, 18)),
    *(f"mtsc/{name}" for name in ("table-2", "table-3", "sac-on-tcp", "three-scales")),
)
"""The items in which SAC controls something."""


class Table(NamedTuple):
    """One table of the page: what its columns are, and its lines."""

    name: str
    head: list[str]
    lines: list[list[str]]


def percent(better: Measured, base: Measured, k: float = SEVERITY, digits: int = 1) -> str:
    """A gain with its interval."""
    return sac.percent(sac.gain(better, base, k), digits, "+")


def runs(lab: Lab, place: Setting, schemes: Iterable[Mapping[str, Any]], count: int = 1) -> list[Measured]:
    """A run of each scheme in one place."""
    return sac.measured(lab, [(place, scheme, count) for scheme in schemes])


def steep(power: float, **fields: Any) -> dict[str, Any]:
    """SAC whose schedule falls with a power of the expected level; at the middle level it is the inverse one's."""
    values = [(MEAN_LEVEL / level) ** power / MEAN_LEVEL for level in range(1, 9)]
    return sac.inverse(schedule={"name": "table", "values": values}, **fields)


def prediction(lab: Lab, seconds: float) -> Table:
    """Figures 12 and 16: whether prediction would matter more under a schedule that makes more of it."""
    place = Setting(1.05, seconds)
    (base,) = runs(lab, place, [sac.generic()])
    lines = []
    for name, power in (("constant", 0.0), ("1/x, the inverse one", 1.0), ("1/x²", 2.0), ("1/x⁴", 4.0)):
        learnt, contention, random = runs(
            lab, place, [steep(power), steep(power, reading="contention"), steep(power, predictor="random")]
        )
        told = sac.told(lab, place, steep(power), base)
        lines.append([name, *(percent(run, base) for run in (learnt, contention, told, random))])
    head = ["schedule", "on line, by the letter", "on line, levels turned round", "perfect", "random table"]
    return Table("prediction", head, lines)


def steps(lab: Lab) -> Table:
    """Figure 9: the item's runs with a table that is known from the beginning, so that they differ by the threshold alone and not
    by what is tried while the table is learnt. Runs of full length."""
    place = sac.setting(lab.fidelity, 1.05)
    (own,) = runs(lab, place, [sac.inverse()])
    known = {"name": "table", "counts": sac.table(own).counts.tolist()}
    found = runs(lab, place, [{**sac.threshold(theta), "predictor": known} for theta in sac.THRESHOLDS])
    values = [f"{run.total:.2f}" for run in found]
    line = ["known", *values, str(sac.peak([run.total for run in found])), _answer(found)]
    return Table("steps", ["γ_k, kB/s", *(f"θ = {theta}" for theta in sac.THRESHOLDS), "best", "one maximum"], [line])


def _answer(found: Sequence[Measured]) -> str:
    return "yes" if sac.turns_once([run.total for run in found]) else "no"


def seeds(lab: Lab) -> Table:
    """Figure 14: the gains of several runs, what each one's own interval says of their mean, and k of the report. Runs of full
    length."""
    severities = (3.5, 3.0)
    lines = []
    for alpha in (1.05, 1.95):
        places = [Setting(alpha, LENGTH, seed) for seed in range(1, SEVERAL_RUNS + 1)]
        pairs = [runs(lab, place, [sac.inverse(), sac.generic()]) for place in places]
        gains = [sac.gain(ours, base) for ours, base in pairs]
        mean = mean_interval([gain.mean for gain in gains])
        others = [mean_interval([sac.gain(ours, base, k).mean for ours, base in pairs]) for k in severities]
        lines.append(
            [
                f"{alpha:g}",
                sac.percent(gains[0]),
                f"{100 * min(gain.mean for gain in gains):.1f} to {100 * max(gain.mean for gain in gains):.1f} %",
                sac.percent(mean),
                f"{sum(mean.mean in gain for gain in gains)} of {len(gains)}",
                *map(sac.percent, others),
            ]
        )
    head = ["shape", "the item's run", "all runs", "their mean", "intervals of runs that hold it"]
    return Table("seeds", [*head, *(f"mean with k = {k:g}" for k in severities)], lines)


def own_losses(lab: Lab, seconds: float) -> Table:
    """Figure 13: what a connection loses beside much background, little and next to none."""
    lines = []
    for name, alpha, load in (
        ("5 Mbit/s, shape 1.05", 1.05, 5e6),
        ("5 Mbit/s, shape 1.95", 1.95, 5e6),
        ("0.5 Mbit/s, shape 1.95", 1.95, 0.5e6),
        ("0.05 Mbit/s, shape 1.95", 1.95, 0.05e6),
    ):
        found = runs(lab, Setting(alpha, seconds, load=load), [sac.generic(), sac.inverse(), sac.threshold(8)])
        lines.append([name, *(f"{100 * run.loss:.2f} %" for run in found)])
    return Table("losses", ["background", "without SAC", "inverse schedule", "θ = 8"], lines)


def shifts(lab: Lab, seconds: float) -> Table:
    """Figure 11: smaller shifts than the paper's, in our unit."""
    thetas = (1, 4, 5, 8)
    lines = []
    for shift in (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 2.0):
        found = runs(lab, Setting(1.05, seconds), [sac.threshold(theta, shift) for theta in thetas])
        values = [run.total for run in found]
        best = thetas[values.index(max(values))]
        lines.append([f"{shift:g}", *(f"{value:.0f}" for value in values), str(best)])
    return Table("shifts", ["shift", *(f"θ = {theta}, kB/s" for theta in thetas), "best"], lines)


def round_trips(lab: Lab, seconds: float) -> Table:
    """Figure 15: the gain at two round trips, as the control is scaled with the round trip or not."""
    lines = []
    short, long = Setting(1.05, seconds), Setting(1.05, seconds, delay=0.04)
    cases: Sequence[tuple[str, Mapping[str, Any], float]] = (
        ("as in the item", {}, SEVERITY),
        ("the same runs without the penalty, k = 0", {}, 0.0),
        ("a report per 240 ms", {"report_interval": "240 ms"}, SEVERITY),
        ("δ an eighth", {"increase": "43.75 kbit/s"}, SEVERITY),
        ("both", {"report_interval": "240 ms", "increase": "43.75 kbit/s"}, SEVERITY),
    )
    for name, changed, k in cases:
        control = {**sac.generic(), **changed}
        gains = []
        for place in (short, long):
            base, ours = runs(lab, place, [control, sac.inverse(over=control)])
            gains.append(percent(ours, base, k))
        lines.append([name, *gains])
    return Table("round-trips", ["the control", "gain at 30 ms", "gain at 240 ms"], lines)


def much_background(lab: Lab, seconds: float) -> Table:
    """Figure 10: what aggressiveness gains beside 7.5 Mbit/s, by how losses count, and who pays for it."""
    lines = []
    for load in (2.5e6, 5e6, 7.5e6):
        careful, bold = runs(lab, Setting(1.05, seconds, load=load), [sac.threshold(1), sac.threshold(8)])
        gains = [percent(bold, careful, k) for k in (0.0, SEVERITY, 8.0, 16.0)]
        lost = f"{100 * (bold.background / careful.background - 1):+.1f} %"
        lines.append([f"{load / 1e6:g} Mbit/s", *gains, lost])
    head = ["background", "k = 0", "k = 4, as reported", "k = 8", "k = 16", "what it takes of the background"]
    return Table("background", ["θ = 8 over θ = 1", *head[1:]], lines)


def over_reno(lab: Lab, seconds: float) -> Table:
    """SAC over Reno with smaller units of ε."""
    lines = []
    for unit in (36.0, 9.0, 3.0, 1.0):
        gains = []
        for alpha in (1.05, 1.95):
            base, ours = runs(lab, Setting(alpha, seconds), [RENO, sac.inverse(over=RENO, unit=unit)])
            gains.append(percent(ours, base, 0.0))
        lines.append([f"{unit:g}", *gains])
    return Table("reno", ["unit of ε", "gain at shape 1.05", "gain at shape 1.95"], lines)


def reno_trips(lab: Lab) -> Table:
    """SAC over Reno where Reno leaves more of the link unused: over longer round trips, with both kinds of levels."""
    lines = []
    for delay in (0.005, 0.02, 0.04):
        for kind, name in (("sigma-bands", "bands"), ("equal-probability", "equally likely")):
            cells = []
            for alpha in (1.05, 1.95):
                place = Setting(alpha, SEVERAL, delay=delay)
                schemes = [sac.inverse(over=RENO, unit=unit, quantiser=kind) for unit in (1.0, 9.0)]
                base, *found = runs(lab, place, [RENO, *schemes])
                cells += [f"{base.penalised(0.0).mean():.0f}", *(percent(run, base, 0.0) for run in found)]
            lines.append([f"{6e3 * delay:.0f} ms", name, *cells])
    head = [f"{what}, shape {shape}" for shape in ("1.05", "1.95") for what in ("Reno, kB/s", "unit 1", "unit 9")]
    return Table("reno-trips", ["round trip", "levels", *head], lines)


def severity(lab: Lab, seconds: float) -> Table:
    """Tables 2 and 3: totals under the inverse schedule by how severely the control and the report take losses."""
    counts = (1, 2, 4, 8, 10)
    place = Setting(1.05, seconds, bottleneck=20e6)
    lines = [["published", "1153", "1702", "1948", "1676", "1594"]]
    for k in (4.0, 3.0, 2.0, 1.0):
        scheme = sac.inverse(over={**sac.generic(), "severity": k})
        found = [runs(lab, place, [scheme], count)[0] for count in counts]
        lines.append([f"k = {k:g}", *(f"{run.penalised(k).sum(axis=0).mean():.0f}" for run in found)])
    return Table("severity", ["total, kB/s", *(f"{count} connections" for count in counts)], lines)


def equal_levels(lab: Lab) -> Table:
    """Figure 9 and Tables 2 and 3 with levels of equal probability, and one k for all. Runs of full length."""
    published = select(["mtsc/table-2"])[0].published
    with sac.using(sac.EQUAL):
        schemes = [*map(sac.threshold, sac.THRESHOLDS), sac.inverse(), sac.generic()]

    def row(name: str, place: Setting, count: int) -> list[str]:
        return [name, *(f"{run.total:.0f}" for run in runs(lab, place, schemes, count))]

    lines = [row("Figure 9", sac.setting(lab.fidelity, 1.05), 1)]
    for count in COUNTS:
        printed = [*published[str(count)], table_3.PUBLISHED[count]]
        lines.append([f"{count} of 20 Mbit/s, published", *(f"{value:.0f}" for value in printed), ""])
        lines.append(row(f"{count} of 20 Mbit/s, here", place_of(lab.fidelity), count))
    head = [*(f"θ = {theta}" for theta in sac.THRESHOLDS), "inverse schedule", "without SAC"]
    return Table("equal-levels", ["kB/s", *head], lines)


def equal_gains(lab: Lab) -> Table:
    """Figure 14 with levels of equal probability. Runs of full length."""
    lines = []
    with sac.using(sac.EQUAL):
        schemes = [sac.inverse(), sac.inverse(predictor="random"), sac.generic()]
    for alpha in (1.05, 1.95):
        ours, random, base = runs(lab, sac.setting(lab.fidelity, alpha), schemes)
        lines.append([f"{alpha:g}", percent(ours, base), percent(random, base), f"{base.total:.0f}"])
    return Table("equal-gains", ["shape", "gain", "gain with a random table", "without SAC, kB/s"], lines)


def equal_items(lab: Lab) -> Table:
    """Every item of the control once more, with levels of equal probability: the ledger's tests."""
    lines = []
    for name in CONTROLLED:
        (claim,) = select([name])
        with sac.using(sac.EQUAL):
            outcome = claim.item().measure(lab)
        word = outcome.verdict if outcome.holds else f"**{outcome.verdict}**"
        for check in outcome.checks:
            told, answer = check.claim.replace("|", "\\|"), "yes" if check.holds else "**no**"
            lines.append([f"`{name}` {word}", told, check.measured, check.allowed, answer])
    return Table("equal-items", ["item", "claim", "measured", "allowed", "holds"], lines)


def lasting(lab: Lab) -> Table:
    """Figure 2: what E[L2 | L1] at shape 1.95 is without files that outlast a block, and where variances are finite. Runs of the
    clients alone, of full length."""
    block = 2.0
    longest = PACE / 8.0 * block
    settings = {
        "1.95": Setting(1.95, LENGTH),
        f"1.95, no file above {longest / 1e3:g} kB": Setting(1.95, LENGTH, largest=longest),
        "3": Setting(3.0, LENGTH),
    }
    lines = []
    found = aggregate.observed(lab, aggregate.levels, list(settings.values()))
    for name, each in zip(settings, found, strict=True):
        expected = ["" if math.isnan(value) else f"{value:.1f}" for value in each.expected[block]]
        lines.append([name, *expected, f"{each.span[block]:.2f}"])
    return Table("lasting", ["shape of sizes", *(f"L1 = {level}" for level in range(1, 9)), "range"], lines)


def scales(lab: Lab) -> Table:
    """Figure 4's slower level: whether it matters when it makes a connection bolder, or only how bold it is. A level with a
    constant schedule changes nothing; one whose schedule is turned round is bold when the inverse one is careful. Runs of full
    length."""
    place = sac.setting(lab.fidelity, 1.05)
    slower = {"history": "20 s", "horizon": "20 s"}
    even = {"name": "table", "values": [1.0 / MEAN_LEVEL] * 8}
    turned = [level / MEAN_LEVEL**2 for level in range(1, 9)]
    schemes = {
        "one": sac.inverse(),
        "two, the slower one inverse, as in the item": sac.inverse(slower=[slower]),
        "two, the slower one constant": sac.inverse(slower=[{**slower, "schedule": even}]),
        "two, the slower one turned round": sac.inverse(
            slower=[{**slower, "schedule": {"name": "table", "values": turned}}]
        ),
        "one, a unit of 27": sac.inverse(unit=0.75 * sac.BANDS.unit),
        "one, a unit of 48": sac.inverse(unit=sac.BANDS.unit / 0.75),
    }
    found = dict(zip(schemes, runs(lab, place, schemes.values()), strict=True))
    lines = [
        [name, f"{run.total:.1f}", percent(run, found["one"], digits=2), f"{100 * run.loss:.2f} %"]
        for name, run in found.items()
    ]
    return Table("scales", ["levels", "γ_k, kB/s", "beside one", "loss"], lines)


def tables(lab: Lab, seconds: float, only: Sequence[str] = ()) -> Iterable[Table]:
    """All of them, or some by name. Those of single items' runs have the items' length, the others so many seconds."""
    short: Mapping[str, Callable[[Lab, float], Table]] = {
        "prediction": prediction,
        "losses": own_losses,
        "shifts": shifts,
        "round-trips": round_trips,
        "background": much_background,
        "reno": over_reno,
        "severity": severity,
    }
    whole: Mapping[str, Callable[[Lab], Table]] = {
        "steps": steps,
        "lasting": lasting,
        "seeds": seeds,
        "scales": scales,
        "reno-trips": reno_trips,
        "equal-levels": equal_levels,
        "equal-gains": equal_gains,
        "equal-items": equal_items,
    }
    for name in only or (*short, *whole):
        yield short[name](lab, seconds) if name in short else whole[name](lab)
