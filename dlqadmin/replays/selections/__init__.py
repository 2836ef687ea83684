"""Frozen selections of dead letters."""
