"""Benchmarks of the engine and the dashboard against alternatives, in alternating runs."""
