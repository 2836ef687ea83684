"""The index: read dead letter topics, parse messages, write rows, and delete them when they expire."""
