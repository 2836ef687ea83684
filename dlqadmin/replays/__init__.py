"""Writing records back: drafts, selections, plans, replays, and what became of each record."""
