"""Knows the schema registry of each cluster, and decodes and encodes records with it."""
