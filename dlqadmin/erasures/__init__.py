"""Erasures: the content of chosen dead letters is removed from all tables and files of the dashboard."""
