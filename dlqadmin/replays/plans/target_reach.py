"""The check that a person may write to the target of a replay."""

from __future__ import annotations

from django.conf import settings
from rest_framework.exceptions import PermissionDenied

from dlqadmin.replays.models import Selection
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.teams.reach import current_reach


def check_target(selection: Selection, options: Options) -> None:
    """Raise PermissionDenied if the request does not reach the target, unless it is each record's own origin."""
    reach, topic, is_abroad = current_reach(), options.target_topic, options.is_abroad
    if not reach.is_limited or not (topic or is_abroad):
        return
    rows = frozen_selections.rows(selection).order_by()
    if topic and not is_abroad and not rows.exclude(origin_topic=topic).exists():
        return
    names = [topic] if topic else rows.values_list("origin_topic", flat=True).distinct() if is_abroad else ()
    for name in names:
        if not reach.has_topic(name, options.target_cluster or settings.CLUSTER):
            raise PermissionDenied(f"Your teams do not own the target topic {name}, so you may not replay to it.")
