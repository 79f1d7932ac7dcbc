"""S. Keshav, "Packet-Pair Flow Control" (1994): one module per table, figure or claim. What several of them share is in
``scenes.py`` (the base scenario), ``benchmarks.py`` (the file transfers of §9.4) and ``traces.py``."""
