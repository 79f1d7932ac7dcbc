"""Benchmarks: what `make bench` runs. No product code."""
