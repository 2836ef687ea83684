"""How a fix can fail."""

from __future__ import annotations


class Refused(ValueError):
    """The program can't be used for any record; the text is a sentence for whoever wrote it."""


class Unusable(ValueError):
    """This record can't be changed so; the text says why."""
