"""Repair and replay of dead letters: drafts, selections, plans, replays, and outcomes."""
