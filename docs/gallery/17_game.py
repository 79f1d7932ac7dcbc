"""A game's players switched off and on at random, beside downloads.

A game cannot send slower. Probabilistic congestion control turns players' flows off and on, so that on average each gets
what TCP would: who is on when, and what the players and the downloads get together. ``examples/game.toml`` is the
same scenario as a file.
"""

import tailback as tb

link = tb.dumbbell(
    rate="6 Mbit/s", delay="40 ms", buffer="60 kB", duration="300 s", warm_up="60 s", record={"bin": "1 s"}
)
game = tb.flows(
    24,
    {"name": "probabilistic", "period": "30 s", "small_packets": True, "friendly_rate": "normalised"},
    name="game",
    source={"name": "game", "players": 16},
    start={"from": "0 s", "to": "30 s"},
    datagram={"segment_size": "1000 B", "header": "28 B"},
)
downloads = tb.flows(8, "cubic", name="download", start={"from": "0 s", "to": "5 s"})
result = link.with_flows(game, downloads).replace(name="A game beside downloads").run()

result.plot.overview().savefig("game.svg")
off = result.off_times()
print(f"{off.height} times off, {off['off'].median():.0f} s in the middle, {off['off'].max():.0f} s at most")
