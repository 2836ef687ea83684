"""The items of a replay: their states, lineage claims and messages."""
