"""Measurements, each a script: `python -m benchmarks.NAME`."""
