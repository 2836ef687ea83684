"""Builders of tasks: plans, clients, dead letters, sinks, sources and streams."""
