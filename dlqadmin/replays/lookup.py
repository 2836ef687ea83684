"""Queries that find replays by id."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404

from dlqadmin.replays.models import Replay
from dlqadmin.rest.pagination import MAX_ID


def replays() -> QuerySet[Replay]:
    """Return all replays, with the people that their documents name."""
    people = ("selection__created_by", "created_by", "started_by", "asked_by", "approved_by")
    return Replay.objects.select_related(*people).defer("selection__filters")


def find(pk: int) -> Replay | None:
    """Return the replay with this id, or None."""
    return replays().filter(pk=pk).first()


def replay_of(pk: int) -> Replay:
    """Return the replay with this id. Raises Http404."""
    found = find(pk) if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no replay with this id.")
    return found
