"""A sweep over a real local Dask cluster, which gives an executor of the standard interface."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailback as tb

distributed = pytest.importorskip(
    "distributed", reason="the extra 'cluster' is not installed: pip install tailback[cluster]"
)


def test_a_dask_cluster_gives_the_same_runs(tmp_path: Path) -> None:
    base = tb.dumbbell(rate="10 Mbit/s", delay="10 ms", duration="3 s").with_flows(tb.flows(2, "cubic"))
    options = {"local_directory": str(tmp_path), "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        far = base.sweep(buffer=["10 packets", "30 packets"], seeds=3, executor=client.get_executor(), cache=False)
    near = base.sweep(buffer=["10 packets", "30 packets"], seeds=3, jobs=1, cache=False)
    assert far.failed.is_empty(), far.failed["error"][0]
    assert far.table["hash"].to_list() == near.table["hash"].to_list()
