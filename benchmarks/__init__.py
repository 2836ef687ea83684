"""Benchmarks: ours and what people would use instead, alternating in one run."""
