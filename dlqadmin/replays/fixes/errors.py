"""Errors of fixes."""

from __future__ import annotations


class ProgramRefused(ValueError):
    """The program can't be used for any record. The text is a sentence for its author."""


class RecordUnusable(ValueError):
    """The record can't be changed. The text says why."""
