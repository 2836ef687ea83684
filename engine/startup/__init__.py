"""Starts drivers: of a cluster, standalone, and for the flows of a MirrorMaker 2 file."""
