"""Sandboxed Python programs: no network, no view of other processes, and few files."""
