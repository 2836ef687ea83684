"""The documents of the session and the audit trail."""

from typing import Any

from rest_framework import serializers

from dlqadmin.audit.models import AuditEntry
from dlqadmin.rest.times import iso


class SignIn(serializers.Serializer[Any]):
    """A name and a password."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(max_length=1000, trim_whitespace=False, write_only=True)


class SessionDocument(serializers.Serializer[Any]):
    """Who is signed in, and where."""

    authenticated = serializers.BooleanField()
    username = serializers.CharField(allow_null=True)
    role = serializers.ChoiceField(choices=["viewer", "operator"], allow_null=True)
    approver = serializers.BooleanField()
    environment = serializers.CharField()
    cluster = serializers.CharField()
    read_only = serializers.BooleanField()  # type: ignore[assignment]  # a field's name is also an attribute of the base
    kafka = serializers.CharField(allow_null=True)


class AuditDocument(serializers.Serializer[Any]):
    """One act."""

    id = serializers.IntegerField()
    at = serializers.CharField()
    actor = serializers.CharField()
    action = serializers.CharField()
    object = serializers.CharField()
    detail = serializers.JSONField()
    digest = serializers.CharField()


class AuditPage(serializers.Serializer[Any]):
    """Acts, newest first."""

    results = AuditDocument(many=True)
    next = serializers.CharField(allow_null=True)


def audit_document(entry: AuditEntry) -> dict[str, Any]:
    """An entry as the API shows it."""
    return {
        "id": entry.pk,
        "at": iso(entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "object": f"{entry.object_type} {entry.object_id}",
        "detail": entry.detail,
        "digest": entry.digest,
    }
