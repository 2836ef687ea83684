"""Bodies of requests that run a replay or change its rate."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.replays.jobs import unfinished
from dlqadmin.replays.plans.requests import MAX_RATE
from dlqadmin.replays.requests import MaybeWhyBody, WhyBody
from dlqadmin.rest.documents import Form


class RunBody(WhyBody):
    """The reason, and the digest of the plan that the person saw."""

    plan_digest = serializers.CharField(max_length=64)
    typed = serializers.CharField(max_length=300, required=False, allow_blank=True, default="")
    resolve_groups = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Resolve groups when the replay ends. A group is resolved if all of its records in the selection "
        "were sent and passed, and none failed after the selection was frozen.",
    )


class UnfinishedBody(MaybeWhyBody):
    """The unfinished records to select, and the reason to cancel a paused replay."""

    records = serializers.ChoiceField(
        choices=unfinished.CHOICES,
        help_text="`failed_again`: the records that failed again. `all`: also the unsent records; a paused replay is "
        "cancelled.",
    )


class RateBody(Form):
    """The rate in records per second. 0 means no limit."""

    rate = serializers.IntegerField(min_value=0, max_value=MAX_RATE)
