"""Mistakes at the edge of the library whose messages once said less than they knew: unknown names in sweeps and on the command
line, numbers out of range, files in the place of folders. Those of the fields of scenarios are the Rust tests' business."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import tailback as tb
from tailback import units
from tailback.cli import app
from tailback.results import files

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SMALL = '[topology]\ntemplate = "dumbbell"\nrate = "5 Mbit/s"\n[[flows]]\nscheme = "reno"\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with a scenario in it, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TAILBACK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "small.toml").write_text(f'duration = "1 s"\n{SMALL}', encoding="utf-8")
    return tmp_path


def said(*words: str) -> str:
    """What a command that fails says."""
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code != 0
    return str(done.exception) if isinstance(done.exception, tb.TailbackError) else done.output


def test_a_custom_scheme_has_its_plain_name_in_a_file(here: Path) -> None:
    text = (here / "small.toml").read_text(encoding="utf-8")
    Path("g.toml").write_text(text.replace('"reno"', '"gentle"'), encoding="utf-8")
    done = CliRunner().invoke(app, ["run", "g.toml", "--custom", str(EXAMPLES / "gentle.py"), "--no-plot"])
    assert done.exit_code == 0, done.output
    assert "gentle" in done.output
    Path("g.toml").write_text(text.replace('"reno"', '"genteel"'), encoding="utf-8")
    assert '"gentle" (the nearest name)' in said("run", "g.toml")


class Steady(tb.Controller):
    """A window of eight packets."""

    def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
        """Changes nothing."""

    def directive(self) -> tb.Directive:
        """As it was."""
        return tb.Directive(window=8000)


def test_an_unknown_name_ends_a_sweep_before_anything_runs(here: Path) -> None:
    scenario = tb.Scenario.from_toml("small.toml")
    with pytest.raises(tb.ScenarioError, match=r'"cubix" is not allowed; expected "cubic" \(the nearest name\)'):
        scenario.sweep(scheme=["cubic", "cubix"], seeds=2, progress=False)
    with pytest.raises(tb.ScenarioError, match=r'"bbr" is not allowed; expected "bbr1" \(the nearest name\)'):
        tb.compare(["cubic", "bbr"], scenario, seeds=2, progress=False)
    with pytest.raises(tb.ScenarioError, match=r'topology.queue: "reed" is not allowed; expected "red"'):
        scenario.sweep(points=[{"queue": "red"}, {"queue": "reed"}], progress=False)
    for forgotten, said in ((Steady, "the class Steady itself"), (Steady.scheme, "the method Steady.scheme itself")):
        with pytest.raises(tb.ScenarioError, match=rf'"{said}, .* expected .*Steady\.scheme\(\)'):
            scenario.sweep(scheme=["cubic", forgotten], progress=False)
    assert {path.name for path in here.iterdir()} == {"small.toml"}
    kept = scenario.sweep(buffer=["25 packets", "25 pints"], jobs=1, progress=False)
    assert kept.failed.height == 1, "a value that makes no sense is kept with its error"


def test_negative_quantities_are_told_so() -> None:
    with pytest.raises(
        tb.ScenarioError, match=r'topology.delay: "-15 ms" is not allowed; expected a time that is not n'
    ):
        tb.dumbbell(rate="5 Mbit/s", delay="-15 ms")
    with pytest.raises(ValueError, match="expected a quantity that is not negative"):
        units.number("-15 ms")


def test_a_count_of_flows_is_a_whole_number_and_nothing_like_it() -> None:
    for count in ("2", True):
        with pytest.raises(tb.ScenarioError, match=rf"count: {count!r} is not allowed; expected a whole number from 1"):
            tb.flows(count, "cubic")  # type: ignore[arg-type]  # No whole number, on purpose.
    with pytest.raises(tb.ScenarioError, match=r"\(did you mean tb\.flows\(2, 'cubic'\)\?\)"):
        tb.flows("cubic", 2)  # type: ignore[arg-type]  # The wrong order, on purpose.


def test_a_scheme_without_its_brackets_is_told() -> None:
    class Plain(tb.Controller):
        def on_feedback(self, now: float, feedback: tb.Feedback, cx: tb.Cx) -> None:
            pass

        def directive(self) -> tb.Directive:
            return tb.Directive(window=9000)

    with pytest.raises(
        tb.ScenarioError, match=r'scheme: "the method Plain\.scheme itself, without \(\)" is not allowed'
    ):
        tb.flows(1, Plain.scheme)  # type: ignore[arg-type]  # A method, on purpose.
    with pytest.raises(tb.ScenarioError, match=r'"the class Plain itself, without \.scheme\(\) or \.queue\(\)"'):
        tb.flows(1, Plain)  # type: ignore[arg-type]  # A class, on purpose.


def test_changes_name_their_option_and_what_is_near(here: Path) -> None:
    del here
    told = said("run", "small.toml", "--set", "bufer=3 packets")
    assert (
        told
        == "--set: 1 problem\n  bufer: an unknown field is not allowed; expected a field that there is (did you mean buffer?)"
    )
    told = said("run", "small.toml", "--set", "qqqq=3")
    assert told.endswith("or a field of the topology, of flows or of record")
    assert len(told) < 250
    assert "flows[3].count: [3] is not allowed; expected 0: there is one" in said(
        "run", "small.toml", "--set", "flows[3].count=1"
    )
    assert said("sweep", "small.toml", "--over", "scheme=reno,cubix").startswith(
        "--over: 1 problem\n  flows[0].scheme: "
    )


def test_numbers_of_options_are_told_in_our_words(here: Path) -> None:
    del here
    assert "'x' is not allowed; expected a whole number of at least 0" in said("run", "small.toml", "--seed", "x")
    assert "-1 is not allowed; expected a whole number of at least 0" in said("run", "small.toml", "--seed", "-1")
    assert "expected a whole number of at least 1" in said("sweep", "small.toml", "--jobs", "0")


def test_a_file_in_the_place_of_a_folder_is_named(here: Path) -> None:
    (here / "taken").write_text("", encoding="utf-8")
    for folder in (here / "taken", here / "taken" / "below"):
        with pytest.raises(tb.StorageError, match="taken is a file; expected a folder, or a path where nothing is yet"):
            files.make_folder(folder)
    result = tb.Scenario.from_toml("small.toml").run()
    with pytest.raises(tb.StorageError, match="taken is a file; expected a folder"):
        result.save(here / "taken" / "below")


def test_names_and_delays_may_be_left_out_alike(here: Path) -> None:
    del here
    file = tb.Scenario.from_toml("small.toml")
    assert [flow.name for flow in file.flows] == ["reno"]
    short = tb.dumbbell(rate="5 Mbit/s", duration="1 s", buffer=file.to_dict(full=True)["topology"]["buffer"])
    assert short.with_flows(tb.flows(1, "reno")).run().hash == file.run().hash
    twice = short.with_flows(tb.flows(1, "reno"), tb.flows(1, "reno")).to_dict()
    del twice["flows"][0]["name"], twice["flows"][1]["name"]
    assert tb.Scenario.of(twice).run().flows["flow"].to_list() == ["reno", "reno 2"]


def test_a_loss_is_a_probability(here: Path) -> None:
    del here
    scenario = tb.Scenario.from_toml("small.toml")
    table = scenario.replace(loss={"name": "independent", "probability": 0.02})
    assert scenario.replace(loss=0.02).run().hash == table.run().hash
    assert CliRunner().invoke(app, ["run", "small.toml", "--set", "loss=0.02", "--no-plot"]).exit_code == 0
