"""The metrics of the engine's tasks over time."""
