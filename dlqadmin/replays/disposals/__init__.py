"""Disposals: people's decisions not to replay dead letters."""
