"""The engine's connectors and their tasks."""
