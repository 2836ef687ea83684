"""What requests about fixes, selections and replays may hold, and how views read them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from dlqadmin.broker import clusters
from dlqadmin.deadletters.serializers import Document
from dlqadmin.replays import queries
from dlqadmin.replays.fixing.drafts import Edit
from dlqadmin.replays.models import OrderGuard, Replay
from dlqadmin.replays.planning.options import Options
from dlqadmin.rest.pagination import MAX_ID
from engine.record.replay import PREFIX

MAX_RATE = 1_000_000
MAX_CHUNK = 2000  # records in one transaction


@extend_schema_field(OpenApiTypes.STR)
class Base64(serializers.Field[bytes, str, str, Any]):
    """Exact bytes, written in base64."""

    def to_internal_value(self, data: Any) -> bytes:
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise serializers.ValidationError("must be base64") from None

    def to_representation(self, value: bytes) -> str:
        return base64.b64encode(value).decode()


class BytesBody(Document):
    """Bytes as they shall be; null is null."""

    base64 = Base64(allow_null=True)


class HeaderBody(Document):
    """One header as it shall be."""

    name = serializers.CharField(max_length=10_000, trim_whitespace=False, allow_blank=True)
    value = BytesBody()

    def validate_name(self, name: str) -> str:
        """The replay's own headers are put on when it is sent."""
        if name.startswith(PREFIX):
            raise serializers.ValidationError(f"{PREFIX}* is put on when the record is sent")
        return name


class FixBody(Document):
    """Parts of a draft; one that is left out stays as it is."""

    key = BytesBody(required=False)
    value = BytesBody(required=False)
    headers = HeaderBody(many=True, required=False)
    base_updated_at = serializers.DateTimeField(allow_null=True, required=False, default=None)

    def edit(self) -> Edit:
        """The checked body as an edit."""
        found = self.validated_data
        return Edit(
            key=found["key"]["base64"] if "key" in found else msgspec.UNSET,
            value=found["value"]["base64"] if "value" in found else msgspec.UNSET,
            headers=tuple((row["name"], row["value"]["base64"]) for row in found["headers"])
            if "headers" in found
            else msgspec.UNSET,
        )


class SelectionBody(Document):
    """What to freeze: ticked records, or what a list's address shows."""

    ids = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MAX_ID), required=False, min_length=1, max_length=1000
    )
    filter = serializers.CharField(required=False, allow_blank=True, max_length=20_000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One of both."""
        if ("ids" in attrs) == ("filter" in attrs):
            raise serializers.ValidationError("Give either ids or filter.")
        return attrs


class OptionsBody(Document):
    """How to replay; what is left out stays as it is."""

    target_topic = serializers.RegexField(r"^[A-Za-z0-9._-]*\Z", max_length=249, required=False, allow_blank=True)
    use_fixes = serializers.BooleanField(required=False)
    resend = serializers.BooleanField(required=False)
    rate = serializers.IntegerField(min_value=0, max_value=MAX_RATE, required=False)
    target_cluster = serializers.CharField(max_length=100, required=False, allow_blank=True)
    shadow = serializers.BooleanField(required=False)
    keep_timestamps = serializers.BooleanField(required=False)
    order = serializers.ChoiceField(choices=OrderGuard.choices, required=False)
    steps = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=MAX_RATE), required=False, max_length=10
    )
    breaker_percent = serializers.IntegerField(min_value=0, max_value=100, required=False, allow_null=True)
    max_lag = serializers.IntegerField(min_value=0, max_value=MAX_ID, required=False, allow_null=True)
    chunk_records = serializers.IntegerField(min_value=1, max_value=MAX_CHUNK, required=False)
    watch = serializers.ListField(child=serializers.CharField(max_length=249), required=False, max_length=20)

    def validate_target_cluster(self, name: str) -> str:
        """One of those that are configured."""
        if name and name not in clusters.names():
            raise serializers.ValidationError(
                f"there is no cluster {name}; configured are: {_listed(clusters.names())}"
            )
        return name

    def validate_steps(self, steps: list[int]) -> list[int]:
        """Each larger than the one before."""
        if steps != sorted(set(steps)):
            raise serializers.ValidationError("must grow: 1, 10, 100")
        return steps

    def options(self, before: Options | None = None) -> Options:
        """The checked body over the options that stood before."""
        known = {name: value for name, value in self.validated_data.items() if name in Options.__struct_fields__}
        listed = {name: tuple(value) for name, value in known.items() if name in ("steps", "watch")}
        return msgspec.structs.replace(before or Options(), **{**known, **listed})


class ReplayBody(OptionsBody):
    """Which selection to replay, and how."""

    selection = serializers.IntegerField(min_value=1, max_value=MAX_ID)
    title = serializers.CharField(required=False, allow_blank=True, default="", max_length=300)


class WhyBody(Document):
    """Why; for the log and the audit trail."""

    reason = serializers.CharField(max_length=2000)


class RunBody(WhyBody):
    """Why, and which plan: the digest of the one that the person saw."""

    plan_digest = serializers.CharField(max_length=64)
    typed = serializers.CharField(max_length=300, required=False, allow_blank=True, default="")
    resolve_groups = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Resolve each group of which every record of the selection went out and passed, and none failed "
        "since it was frozen, once no outcome is awaited any more.",
    )


class AskBody(WhyBody):
    """Why, and which plan somebody else is to agree to."""

    plan_digest = serializers.CharField(max_length=64)


class ApproveBody(Document):
    """Which plan: the digest of the one that the person saw."""

    plan_digest = serializers.CharField(max_length=64)
    reason = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")


class MaybeWhyBody(Document):
    """Why, if there is something to say."""

    reason = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")


class RateBody(Document):
    """Records a second; 0 means no limit."""

    rate = serializers.IntegerField(min_value=0, max_value=MAX_RATE)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def actor(request: Request) -> User:
    """The person who asks."""
    user: Any = request.user
    assert isinstance(user, User)
    return user


def checked(form: type[Document], request: Request) -> dict[str, Any]:
    """The request's body as the form reads it. Raises ValidationError."""
    body = form(data=request.data)
    body.is_valid(raise_exception=True)
    found: dict[str, Any] = body.validated_data
    return found


def replay_of(pk: int) -> Replay:
    """The replay with this id. Raises Http404."""
    found = queries.find(pk) if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no replay with this id.")
    return found
