"""The selections, and everything made of them, that the present request may reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.db.models import Q, QuerySet

from dlqadmin.deadletters.models.reach import of_source
from dlqadmin.teams.reach import Reach


def of_selection(path: str) -> Callable[[Reach], Q]:
    """Return the condition that all records of the selection at the end of `path` are in reach."""
    return lambda _: Q(**{f"{path}__in": selections_in_reach()})


def selections_in_reach() -> QuerySet[Any]:
    """Return the ids of selections of which all sources are in reach.

    A selection of an earlier version may have no known sources. Only a request without limits reaches it.
    """
    # The models import this module, so it asks Django for the unlimited rows.
    sources = apps.get_model("replays", "SelectionSource")._base_manager.order_by()
    outside = sources.exclude(of_source()).values("selection_id")
    return sources.exclude(selection_id__in=outside).values("selection_id")
