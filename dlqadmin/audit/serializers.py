"""The API documents of the session and the audit trail."""

from typing import Any

from rest_framework import serializers

from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER
from dlqadmin.rest.times import iso


class SignIn(serializers.Serializer[Any]):
    """A user name and a password."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)


class SessionDocument(serializers.Serializer[Any]):
    """The signed-in user, and the cluster."""

    authenticated = serializers.BooleanField()
    username = serializers.CharField(allow_null=True)
    role = serializers.ChoiceField(choices=["viewer", "operator"], allow_null=True)
    approver = serializers.BooleanField()
    rights = serializers.ListField(child=serializers.CharField())
    ended = serializers.CharField(allow_null=True, help_text="Why the browser's last session ended by itself.")
    payload_reader = serializers.BooleanField()
    environment = serializers.CharField()
    cluster = serializers.CharField()
    read_only = serializers.BooleanField()  # type: ignore[assignment]  # a field's name is also an attribute of the base
    kafka = serializers.CharField(allow_null=True)


class AuditDocument(serializers.Serializer[Any]):
    """One action."""

    id = serializers.IntegerField()
    at = serializers.CharField()
    actor = serializers.CharField()
    action = serializers.CharField()
    object = serializers.CharField()
    detail = serializers.JSONField()
    digest = serializers.CharField()
    seq = serializers.IntegerField(allow_null=True)
    seal = serializers.CharField(allow_blank=True)
    address = serializers.CharField(allow_null=True)


class AuditPage(serializers.Serializer[Any]):
    """Actions, newest first."""

    results = AuditDocument(many=True)
    next = serializers.CharField(allow_null=True)


# The fields of a detail that contain or cite content of records, or reveal it.
OF_CONTENT = frozenset(("query", "filter", "program", "why", "trouble", "before", "after"))


def audit_document(entry: AuditEntry, *, payload_reader: bool) -> dict[str, Any]:
    """Return an entry for the API, without details about content if the user may not read it."""
    hidden = set() if payload_reader else OF_CONTENT & entry.detail.keys()
    detail = entry.detail | dict.fromkeys(hidden, f"Withheld. {NEEDS_PAYLOAD_READER}")
    return {
        "id": entry.pk,
        "at": iso(entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "object": f"{entry.object_type} {entry.object_id}",
        "detail": detail,
        "digest": entry.digest,
        "seq": entry.seq,
        "seal": entry.seal,
        "address": entry.address,
    }
