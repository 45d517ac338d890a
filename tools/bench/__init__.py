"""Benchmarks: ratios measured in one run on one machine, never a timed test. Run with `make bench`."""
