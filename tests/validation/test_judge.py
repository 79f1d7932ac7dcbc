"""The validation's reference and its verdicts, on made-up measurements. No simulation runs here."""

import sys

import pytest

from tailback import validation
from tailback.errors import ArgumentError
from tailback.pool import Pool
from tailback.validation import differences, judge, reference, settings, table
from tailback.validation.judge import Verdict
from tailback.validation.measure import Job
from tailback.validation.reference import Row

BY_NAME = {row.name: row for row in reference.rows()}
JITTER = BY_NAME["dumbbell/sack/droptail/64/jitter"]


def exact(row: Row) -> dict[str, list[float]]:
    """What a simulator would measure that agrees with ns-2 to the last digit."""
    figures = judge.tolerances(row)
    return {name: [found.mean] * 3 for name in figures if (found := judge.expected(row, name)) is not None}


def test_every_row_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(reference.rows()) == 130


@pytest.mark.parametrize("row", reference.rows(), ids=lambda row: row.name)
def test_the_reference_agrees_with_itself(row: Row) -> None:
    found = judge.compare(row, exact(row), {})
    assert found
    assert {item.verdict for item in found} == {Verdict.AGREES}


@pytest.mark.parametrize(
    ("figure", "factor", "verdict"),
    [
        ("throughput", 0.98, Verdict.AGREES),
        ("throughput", 0.96, Verdict.DIFFERS),
        ("utilization", 0.985, Verdict.AGREES),
        ("utilization", 0.975, Verdict.DIFFERS),
        ("loss", 1.09, Verdict.AGREES),
        ("loss", 1.11, Verdict.DIFFERS),
        ("mean_queue", 0.91, Verdict.AGREES),
        ("mean_queue", 0.89, Verdict.DIFFERS),
    ],
)
def test_tolerances_are_where_they_are_said_to_be(figure: str, factor: float, verdict: Verdict) -> None:
    measured = exact(JITTER)
    measured[figure] = [value * factor for value in measured[figure]]
    verdicts = {item.figure: item.verdict for item in judge.compare(JITTER, measured, {})}
    assert verdicts.pop(figure) is verdict
    assert set(verdicts.values()) == {Verdict.AGREES}


def test_two_deviations_count_where_they_are_larger() -> None:
    vegas = BY_NAME["dumbbell/vegas/droptail/8/jitter"]
    queue = vegas.figures["mean_queue"]
    assert 2 * queue.deviation > 0.1 * queue.mean
    measured = exact(vegas) | {"mean_queue": [queue.mean + 1.9 * queue.deviation]}
    assert all(item.verdict is Verdict.AGREES for item in judge.compare(vegas, measured, {}))
    measured["mean_queue"] = [queue.mean + 2.1 * queue.deviation]
    assert any(item.verdict is Verdict.DIFFERS for item in judge.compare(vegas, measured, {}))


def test_independent_loss_is_held_to_five_percent_of_goodput_alone() -> None:
    row = BY_NAME["bernoulli/reno/loss-0.01"]
    mean = row.figures["goodput"].mean
    (close,) = judge.compare(row, {"goodput": [mean * 1.049]}, {})
    (far,) = judge.compare(row, {"goodput": [mean * 1.051]}, {"goodput": "a reason"})
    assert (close.verdict, far.verdict, far.reason) == (Verdict.AGREES, Verdict.DIFFERS, "a reason")


def test_the_page_shows_every_row_and_every_reason() -> None:
    comparisons = [
        *judge.compare(JITTER, exact(JITTER) | {"loss": [0.5, 0.6]}, {"loss": "made up for this test"}),
        *judge.left_out(BY_NAME["bernoulli/tfrc/loss-0.01"], "no such scheme here"),
    ]
    page = table.markdown(comparisons)
    assert "3 of 4 figures agree" in page
    assert "1 rows were not compared" in page
    assert "made up for this test" in page
    assert "no such scheme here: bernoulli/tfrc/loss-0.01" in page
    assert table.frame(comparisons).height == 5


def test_a_row_says_its_network_in_the_scenarios_words() -> None:
    red = settings.scenario(BY_NAME["dumbbell/newreno/red/64/jitter"], seed=3)
    assert red["topology"]["rate"] == "32 Mbit/s"
    assert red["topology"]["delay"] == "20000000 ns"
    assert red["topology"]["access"]["delay"] == "5000000 ns"
    assert red["topology"]["queue"]["min"] == "48 packets"
    assert red["topology"]["queue"]["max"] == "144 packets"
    assert red["flows"][0]["transport"]["send_jitter"] == "250000 ns"
    assert red["flows"][0]["count"] == 64


def test_differences_beyond_the_rows_are_told_with_options_that_the_script_takes() -> None:
    for one in differences.BEYOND:
        options = dict(option.split("=") for option in one.options.split())
        assert set(options) <= set(reference.OPTIONS)
        assert options["proto"] in {"newreno", "sack", "vegas"}
        assert one.reason in table.markdown([])


def test_as_many_runs_are_made_as_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, int]] = []

    def run(job: Job) -> dict[str, float]:
        made.append((job.row.name, job.seed))
        return {name: values[0] + job.seed for name, values in exact(job.row).items()}

    monkeypatch.setattr(sys.modules[validation.validate.__module__], "measure", run)
    with Pool(1) as pool:
        found = validation.validate(pool, lambda row: row is JITTER, 3)
    assert made == [(JITTER.name, 1), (JITTER.name, 2), (JITTER.name, 3)]
    assert validation.run_count(lambda row: row is JITTER, 3) == 3
    assert validation.run_count(lambda row: row is JITTER) == JITTER.seeds
    assert validation.run_count() == sum(row.seeds for row in reference.rows())
    assert validation.run_count(lambda _: False) == 0
    for item in found:
        assert isinstance(item, validation.Comparison)
        # The mean of seeds 1, 2 and 3 beyond the reference.
        assert item.difference == pytest.approx(2.0)
        assert item.measured is not None
        assert item.measured.deviation == pytest.approx(1.0)
        assert item.verdict is (Verdict.AGREES if item.allowed >= 2.0 else Verdict.DIFFERS)
    assert {item.verdict for item in found} == set(Verdict) - {Verdict.NOT_COMPARED}


@pytest.mark.parametrize("seeds", [0, -1, 1.5])
def test_no_seeds_are_no_validation(seeds: int) -> None:
    with pytest.raises(ArgumentError, match=r"^seeds: .* is not allowed; expected a whole number of at least 1"):
        validation.run_count(seeds=seeds)


def test_a_row_that_cannot_be_run_has_no_difference() -> None:
    for item in judge.left_out(JITTER, "no such scheme"):
        assert item.difference is None
        assert (item.verdict, item.reason) == (Verdict.NOT_COMPARED, "no such scheme")
