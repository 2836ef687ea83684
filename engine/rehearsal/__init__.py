"""Rehearsals: run a connector's steps over given records, without any effect outside."""
