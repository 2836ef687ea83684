"""Outcomes of sent items, and the evidence for them."""
