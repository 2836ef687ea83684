"""The session and the audit trail as API documents."""

from __future__ import annotations

from typing import Any

from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER, Role
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso


class SessionDocument(Document):
    """The signed-in user, and the cluster. `ended` is the reason why the browser's last session ended by itself."""

    authenticated: bool
    username: str | None
    role: Role | None
    approver: bool
    rights: list[str]
    ended: str | None
    payload_reader: bool
    environment: str
    cluster: str
    read_only: bool
    kafka: str | None


class AuditDocument(Document):
    """One action."""

    id: int
    at: Time
    actor: str
    action: str
    object: str
    detail: dict[str, Any]
    digest: str
    seq: int | None
    seal: str
    address: str | None


class AuditPage(Document):
    """Actions, newest first."""

    results: list[AuditDocument]
    next: str | None


# The fields of a detail that contain or cite content of records, or reveal it.
OF_CONTENT = frozenset(("query", "filter", "program", "why", "trouble", "before", "after"))


def audit_document(entry: AuditEntry, *, payload_reader: bool) -> AuditDocument:
    """Return an entry for the API, without details about content if the user may not read it."""
    hidden = set() if payload_reader else OF_CONTENT & entry.detail.keys()
    detail = entry.detail | dict.fromkeys(hidden, f"Withheld. {NEEDS_PAYLOAD_READER}")
    return AuditDocument(
        id=entry.pk,
        at=iso(entry.at),
        actor=entry.actor,
        action=entry.action,
        object=f"{entry.object_type} {entry.object_id}",
        detail=detail,
        digest=entry.digest,
        seq=entry.seq,
        seal=entry.seal,
        address=entry.address,
    )


class TrailHealth(Document):
    """The progress of sealing the audit trail and of sending it to its external target."""

    unsealed_seconds: float
    unshipped: int
    shipping_trouble: str
