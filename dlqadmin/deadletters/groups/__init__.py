"""Groups of similar dead letters: summaries, details, merges and triage."""
