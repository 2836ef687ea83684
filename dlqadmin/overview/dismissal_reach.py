"""The dismissals that the present request may see: those of findings that it could see."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db.models import Q

from dlqadmin.connectors.connect_clusters import is_in_reach
from dlqadmin.deadletters.models import FingerprintSource, Group
from dlqadmin.deadletters.models.reach import of_source
from dlqadmin.replays.models import Replay
from dlqadmin.teams.reach import Reach, current_reach, remembered

# Findings about parts that all teams share.
SYSTEM_KINDS = ("broker_down", "engine_down", "redis_down", "worker_down", "indexer_down", "index_behind")


def of_findings(_: Reach) -> Q:
    """Return the condition on dismissals of findings in reach. Rows of earlier versions do not tell their object."""
    return Q(kind__in=SYSTEM_KINDS) | Q(pk__in=remembered("dismissals", _of_objects))


def is_for_one_reach(object_type: str, object_id: str) -> bool:
    """Return whether a finding is about nothing beyond the reach of the request.

    A dismissal holds for all users. So a team does not dismiss findings about parts of the system, or about a group
    with dead letters of others.
    """
    if not current_reach().is_limited:
        return True
    if object_type == "group":
        sources = FingerprintSource._base_manager.filter(fingerprint__group_id=object_id)
        return not sources.exclude(of_source()).exists()
    return object_type != ""


def _of_objects(reach: Reach) -> list[int]:
    """Return the ids of dismissals whose object is in reach. There are few: old ones are deleted after 30 days."""
    tests: dict[str, Callable[[Collection[str]], set[str]]] = {
        "connector": lambda names: {name for name in names if is_in_reach(name)},
        "topic": lambda names: {name for name in names if reach.has_topic(name, settings.CLUSTER)},
        "group": lambda ids: _existing(Group, ids),
        "replay": lambda ids: _existing(Replay, ids),
    }
    found = []
    # The models import this module, so it asks Django for the unlimited rows.
    rows = apps.get_model("overview", "Dismissal")._base_manager.exclude(object_type="")
    known = list(rows.values_list("pk", "object_type", "object_id"))
    for object_type, test in tests.items():
        own = test({name for _, kind, name in known if kind == object_type})
        found += [pk for pk, kind, name in known if kind == object_type and name in own]
    return found


def _existing(model: Any, ids: Collection[str]) -> set[str]:
    return (
        {str(pk) for pk in model.objects.filter(pk__in=ids).order_by().values_list("pk", flat=True)} if ids else set()
    )
