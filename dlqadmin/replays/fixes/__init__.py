"""Fixes of failed records: drafts, bulk fixes, and suggestions."""
