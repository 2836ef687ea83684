"""The dashboard: indexes dead letters, explains them, and watches the engine."""
