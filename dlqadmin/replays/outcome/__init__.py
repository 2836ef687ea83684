"""What became of a sent item, and how that is known."""
