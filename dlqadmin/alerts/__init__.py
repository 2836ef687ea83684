"""Alerts: rules about dead letters, their firings, and what people and channels are told."""
