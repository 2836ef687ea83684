"""How failed records shall be sent: drafts, one at a time or many by one change, and what suggests itself."""
