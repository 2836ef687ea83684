"""The figures of the engine's tasks over time."""
