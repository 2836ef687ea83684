"""Who did what, and who may."""
