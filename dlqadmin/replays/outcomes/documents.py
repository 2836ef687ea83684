"""Resolvable groups as API documents."""

from __future__ import annotations

from dlqadmin.rest.documents import Document


class ResolvableGroup(Document):
    """A group, and the number of its records that passed in the replay."""

    id: int
    title: str
    count: int


class ResolvableDocument(Document):
    """The resolvable groups of a replay."""

    results: list[ResolvableGroup]
