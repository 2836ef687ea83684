"""Incident reports about a group or a replay, for use outside the dashboard."""
