"""A game's players switched off and on at random, beside downloads.

A game cannot send slower. Probabilistic congestion control turns players' flows off and on, so that on average each gets
what TCP would: who is on when, and what the players and the downloads get together. ``examples/game.toml`` is the
same scenario as a file.
"""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import tailback as tb

link = tb.dumbbell(rate="4 Mbit/s", delay="25 ms", buffer="50 packets", duration="400 s", record={"bin": "1 s"})
game = tb.flows(
    24,
    {"name": "probabilistic", "period": "30 s", "small_packets": True},
    name="game",
    source={"name": "game", "players": 4},
    start={"from": "0 s", "to": "30 s"},
    datagram={"segment_size": "1000 B", "header": "28 B"},
)
result = link.with_flows(game, tb.flows(8, "cubic", name="download", start={"from": "0 s", "to": "5 s"})).run()


def rates(group: str, count: int) -> np.ndarray:
    """Mbit/s by flow and second."""
    of = result.flow_series.filter(pl.col("flow").str.starts_with(f"{group}-")).sort("flow", "time")
    return np.asarray(of["received_bytes"], dtype=float).reshape(count, -1) * 8e-6


players, downloads = rates("game", 24), rates("download", 8)
figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, height_ratios=[2, 1], layout="constrained")
on = (players > 0.01).astype(float)
top.pcolormesh(np.arange(401), np.arange(25), on, cmap="Blues", vmin=0.0, vmax=1.4)
top.invert_yaxis()
top.set_ylabel("player, on where blue")
bottom.plot(np.arange(1, 401), downloads.sum(axis=0), linewidth=0.8, label="8 downloads")
bottom.plot(np.arange(1, 401), players.sum(axis=0), label="24 players")
bottom.set_ylabel("Mbit/s")
bottom.set_xlabel("time (s)")
bottom.set_ylim(bottom=0)
bottom.legend()
figure.savefig("game.svg")
print(f"a player {1e3 * players[:, 60:].mean():.0f} kbit/s, a download {1e3 * downloads[:, 60:].mean():.0f} kbit/s")
