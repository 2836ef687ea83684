"""Bodies of requests that make, change or approve a plan."""

from __future__ import annotations

import msgspec
from django.conf import settings
from rest_framework import serializers

from dlqadmin.broker import clusters
from dlqadmin.replays.models import OrderGuard
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.requests import WhyBody
from dlqadmin.rest.documents import Form
from dlqadmin.rest.fields import BoundedListField, IdField
from dlqadmin.rest.pagination import MAX_ID

MAX_RATE = 1_000_000


MAX_CHUNK = 2000  # records in one transaction


class OptionsBody(Form):
    """The options of a replay. Missing options stay as they are."""

    target_topic = serializers.RegexField(r"^[A-Za-z0-9._-]*\Z", max_length=249, required=False, allow_blank=True)
    use_fixes = serializers.BooleanField(required=False)
    resend = serializers.BooleanField(required=False)
    rate = serializers.IntegerField(min_value=0, max_value=MAX_RATE, required=False)
    target_cluster = serializers.CharField(max_length=100, required=False, allow_blank=True)
    shadow = serializers.BooleanField(required=False)
    keep_timestamps = serializers.BooleanField(required=False)
    order = serializers.ChoiceField(choices=OrderGuard.choices, required=False)
    steps = BoundedListField(
        child=serializers.IntegerField(min_value=1, max_value=MAX_RATE), required=False, max_length=10
    )
    breaker_percent = serializers.IntegerField(min_value=0, max_value=100, required=False, allow_null=True)
    max_lag = serializers.IntegerField(min_value=0, max_value=MAX_ID, required=False, allow_null=True)
    chunk_records = serializers.IntegerField(min_value=1, max_value=MAX_CHUNK, required=False)
    resolve_groups = serializers.BooleanField(required=False)
    watch = BoundedListField(child=serializers.CharField(max_length=249), required=False, max_length=20)

    def validate_target_cluster(self, name: str) -> str:
        """Check that the cluster is configured, and takes replays."""
        if name and not clusters.is_known(name):
            known = (settings.CLUSTER, *clusters.names())
            raise serializers.ValidationError(f"cluster {name} does not exist; configured are: {', '.join(known)}")
        if name and clusters.is_read_only(name):
            raise serializers.ValidationError(f"cluster {name} is read-only")
        return name

    def validate_steps(self, steps: list[int]) -> list[int]:
        """Check that the steps grow."""
        if steps != sorted(set(steps)):
            raise serializers.ValidationError("must increase, for example 1, 10, 100")
        return steps

    def options(self, before: Options | None = None) -> Options:
        """Return the validated options, merged over the earlier ones.

        An empty `target_cluster` of the request is the cluster of the dead letters.
        """
        earlier = before or Options()
        known = {name: value for name, value in self.validated_data.items() if name in Options.__struct_fields__}
        listed = {name: tuple(value) for name, value in known.items() if name in ("steps", "watch")}
        if "target_cluster" in known:
            given = known["target_cluster"]
            known["target_cluster"] = clusters.key(given) if given else earlier.source_cluster
        return msgspec.structs.replace(earlier, **{**known, **listed})


class ReplayBody(OptionsBody):
    """The selection to replay, and the options."""

    selection = IdField()
    title = serializers.CharField(required=False, allow_blank=True, default="", max_length=300)


class AskBody(WhyBody):
    """The reason, and the digest of the plan that needs approval."""

    plan_digest = serializers.CharField(max_length=64)


class ApproveBody(Form):
    """The digest of the plan that the approver saw, and a reason."""

    plan_digest = serializers.CharField(max_length=64)
    reason = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")
