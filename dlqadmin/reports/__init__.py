"""Incidents as documents that leave the dashboard: of a group, of a replay."""
