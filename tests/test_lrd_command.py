"""``tailback lrd``: traces from every kind of file, what is said of them, and files that are damaged."""

import json
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter
from typer.testing import CliRunner

import tailback as tb
from tailback.analysis import lrd
from tailback.capture import write_pcapng
from tailback.capture.packets import read_packets
from tailback.cli import app
from tailback.errors import StorageError, TailbackError
from tailback.plot.lrd import overview


@pytest.fixture(scope="module")
def volumes() -> np.ndarray:
    return 1000.0 + 100.0 * lrd.fractional_noise(0.85, 1 << 14, np.random.default_rng(1))


@pytest.fixture(scope="module")
def run() -> tb.Result:
    base = tb.dumbbell(rate="2 Mbit/s", delay="5 ms", duration="12 s", record={"packets": True, "bin": "10 ms"})
    return base.with_flows(tb.flows(2, "reno")).run(seed=1)


def pcap(packets: list[tuple[int, int, int]], order: str = "<", magic: int = 0xA1B2C3D4) -> bytes:
    made = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 1)
    for seconds, part, length in packets:
        made += struct.pack(order + "IIII", seconds, part, 4, length) + b"data"
    return made


def test_tables_of_either_kind_are_the_series_that_they_hold(tmp_path: Path, volumes: np.ndarray) -> None:
    table = pl.DataFrame({"bytes": volumes})
    table.write_parquet(tmp_path / "a.parquet")
    table.write_csv(tmp_path / "a.csv")
    (tmp_path / "bare.csv").write_text("\n".join(map(str, volumes.tolist())))
    timed = table.with_columns(time=0.25 * (1 + np.arange(volumes.size)))
    timed.write_csv(tmp_path / "timed.csv")
    for name in ("a.parquet", "a.csv", "bare.csv"):
        found = lrd.read_trace(tmp_path / name, bin=0.25)
        assert np.allclose(found.values, volumes), name
    found = lrd.read_trace(tmp_path / "timed.csv")
    assert found.bin == pytest.approx(0.25)
    assert np.allclose(found.values, volumes)


def test_a_row_per_packet_is_counted_in_bins(tmp_path: Path) -> None:
    pl.DataFrame({"time": [5.0, 5.01, 5.06, 5.31, 5.5], "size": [1, 2, 4, 8, 16]}).write_csv(tmp_path / "p.csv")
    assert lrd.read_trace(tmp_path / "p.csv", bin=0.1).values.tolist() == [7.0, 0.0, 0.0, 8.0, 0.0]


def test_a_table_without_numbers_says_so(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("time,bytes\n0,few\n1,many\n")
    with pytest.raises(
        tb.ArgumentError, match=r"words\.csv has none of numbers, beside times; expected one of volumes"
    ):
        lrd.read_trace(tmp_path / "words.csv")


@pytest.mark.parametrize(("order", "magic", "unit"), [("<", 0xA1B2C3D4, 1e-6), (">", 0xA1B23C4D, 1e-9)])
def test_a_pcap_of_either_byte_order_is_read(tmp_path: Path, order: str, magic: int, unit: float) -> None:
    place = tmp_path / "a.pcap"
    place.write_bytes(pcap([(1_700_000_000, 5, 60), (1_700_000_002, 1, 1500), (1_700_000_001, 0, 90)], order, magic))
    found = read_packets(place)
    assert found.lengths.tolist() == [60, 90, 1500]
    assert found.times == pytest.approx([0.0, 1.0 - 5 * unit, 2.0 - 4 * unit], abs=1e-12)


def test_what_we_write_as_pcapng_we_read(tmp_path: Path, run: tb.Result) -> None:
    place = write_pcapng(run, tmp_path / "a.pcapng", at="r0->r1")
    found = read_packets(place)
    offered = run.packets.filter(
        (pl.col("event").cast(pl.String) == "offered") & (pl.col("link").cast(pl.String) == "r0->r1")
    )
    assert found.times.size == offered.height
    assert found.lengths.sum() == offered["size"].sum()
    times = offered["time"].to_numpy()
    assert np.allclose(found.times, times - times[0], atol=1e-9)


def test_a_run_of_ours_is_its_bottleneck_s_series(tmp_path: Path, run: tb.Result) -> None:
    run.save(tmp_path / "run")
    found = lrd.read_trace(tmp_path / "run")
    assert np.array_equal(found.values, run.series(link="r0->r1")["transmitted_bytes"].to_numpy())
    wider = lrd.read_trace(tmp_path / "run", bin=0.05, column="transmitted_packets", link="r1->r0")
    assert wider.values.sum() == run.series(link="r1->r0")["transmitted_packets"].sum()


def test_the_command_says_what_it_found(tmp_path: Path, volumes: np.ndarray) -> None:
    place = tmp_path / "a.parquet"
    pl.DataFrame({"bytes": volumes}).write_parquet(place)
    said = CliRunner().invoke(app, ["lrd", str(place), "--out", str(tmp_path / "out"), "--json"])
    assert said.exit_code == 0, said.output
    data = json.loads(said.stdout)
    assert data["long_range_dependent"] is True
    assert {each["method"] for each in data["estimates"]} >= {"R/S", "variance-time", "local Whittle", "wavelet", "DFA"}
    for each in data["estimates"]:
        assert each["low"] < each["hurst"] < each["high"]
    assert (tmp_path / "out" / "overview.svg").stat().st_size > 10_000
    assert pl.read_csv(tmp_path / "out" / "time_scales.csv").height == len(data["time_scales"])
    plain = CliRunner().invoke(app, ["lrd", str(place), "--no-plot"])
    assert "Long-range dependent: H is 0.8" in plain.stdout


def test_traffic_without_memory_is_called_so() -> None:
    poisson = np.random.default_rng(1).poisson(5.0, 1 << 14).astype(np.float64)
    found = lrd.study(lrd.Trace("poisson", poisson, 0.01))
    assert found.long_range_dependent is False
    assert overview(found).axes


@pytest.mark.parametrize("phi", [0.9, 0.95])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_short_memory_is_not_called_long(phi: float, seed: int) -> None:
    """An autoregressive process: its estimates fall toward 1/2 as shorter scales are left out."""
    shocks = np.random.default_rng(seed).normal(0.0, 20.0, 120_000)
    found = lrd.study(lrd.Trace("ar", 1000.0 + lfilter([1.0], [1.0, -phi], shocks), 0.01))
    assert found.long_range_dependent is None
    assert found.verdict.startswith("Undecided: ")
    assert any("H changes with the scale" in doubt for doubt in found.doubts)


def test_a_periodic_trace_has_no_verdict() -> None:
    t = np.arange(120_000, dtype=np.float64)
    volumes: np.ndarray = 1000.0 + 5.0 * (t % 190) + np.random.default_rng(1).poisson(50.0, t.size).astype(np.float64)
    found = lrd.study(lrd.Trace("ramps", volumes, 0.01))
    assert found.long_range_dependent is None
    assert "by wavelet, which no stationary series has: expected 0 to 1" in found.verdict
    assert "local Whittle and wavelet disagree" in found.verdict


def test_halves_that_differ_leave_it_undecided() -> None:
    rng = np.random.default_rng(1)
    halves = [lrd.fractional_noise(hurst, 1 << 13, rng) for hurst in (0.55, 0.9)]
    found = lrd.study(lrd.Trace("two", np.concatenate(halves), 0.01))
    assert found.long_range_dependent is None
    assert "its halves differ" in found.verdict


@pytest.mark.parametrize("hurst", [0.6, 0.75, 0.9])
def test_a_scaling_law_is_not_doubted(hurst: float) -> None:
    found = lrd.study(lrd.Trace("fgn", lrd.fractional_noise(hurst, 120_000, np.random.default_rng(3)), 0.01))
    assert (found.long_range_dependent, found.doubts) == (True, ())


def test_volumes_below_zero_are_refused(tmp_path: Path) -> None:
    place = tmp_path / "negative.csv"
    pl.DataFrame({"bytes": [5.0, -2.0, 3.0] * 200}).write_csv(place)
    with pytest.raises(StorageError, match=r"negative\.csv: column bytes has -2; expected volumes"):
        lrd.read_trace(place)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--bin", "10"], "--bin: '10' is not allowed"),
        (["--bin", "10 Mbit/s"], "--bin"),
        (["--quantiser", "thirds"], "--quantiser: 'thirds'"),
        (["--column", "bites"], "did you mean bytes"),
        (["--link", "a->b"], "link"),
        (["--shortest", "1 h"], "shortest"),
    ],
)
def test_options_that_make_no_sense_are_one_message(
    tmp_path: Path, volumes: np.ndarray, options: list[str], said: str
) -> None:
    place = tmp_path / "a.parquet"
    pl.DataFrame({"bytes": volumes}).write_parquet(place)
    result = CliRunner().invoke(app, ["lrd", str(place), "--no-plot", *options])
    assert isinstance(result.exception, TailbackError)
    assert said in str(result.exception)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_capture_is_one_complaint(tmp_path: Path, run: tb.Result, data: st.DataObject) -> None:
    whole = tmp_path / "whole.pcapng"
    if not whole.exists():
        write_pcapng(run, whole)
    for kind, good in ((".pcapng", whole.read_bytes()[:4000]), (".pcap", pcap([(1, 2, 3)] * 30))):
        bad = bytearray(good)
        for _ in range(data.draw(st.integers(0, 4))):
            bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
        place = tmp_path / f"bad{kind}"
        place.write_bytes(bad[: data.draw(st.integers(0, len(bad)))])
        with suppress(StorageError):
            found = read_packets(place)
            assert np.all(np.isfinite(found.times))
            assert np.all(np.diff(found.times) >= 0.0)


@pytest.mark.parametrize("text", ["", "bytes\n", "bytes\nx\ny\n", "a,b\n1,2\n3,4\n", "bytes\n1\n\n2\n", "\x00\xff"])
def test_a_table_that_will_not_do_is_one_complaint(tmp_path: Path, text: str) -> None:
    place = tmp_path / "bad.csv"
    place.write_text(text, encoding="latin-1")
    with pytest.raises(TailbackError) as found:
        lrd.study(lrd.read_trace(place))
    assert "bad.csv" in str(found.value)


@pytest.mark.parametrize("name", ["missing.name", "missing.csv", "missing.pcap", "missing"])
def test_a_file_that_is_not_there_is_said_to_be_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError) as raised:
        lrd.read_trace(tmp_path / name)
    assert str(raised.value) == f"{tmp_path / name}: there is no such file; expected a trace, or the folder of a run"
