"""Replays over REST: their documents, controls and events."""
