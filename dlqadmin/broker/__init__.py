"""Thin access to Kafka; the only importer of the client in the dashboard."""
