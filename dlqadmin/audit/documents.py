"""The audit trail as API documents."""

from __future__ import annotations

from typing import Any

from dlqadmin.audit.links import href_of
from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER
from dlqadmin.audit.sentences import Outcome, outcome_of, reason_of, sentence_of
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso


class AuditDocument(Document):
    """One action. `href` is the path of the screen that shows its object; null if there is none."""

    id: int
    at: Time
    actor: str
    action: str
    object: str
    object_type: str
    object_id: str
    sentence: str
    reason: str
    outcome: Outcome
    href: str | None
    detail: dict[str, Any]
    digest: str
    seq: int | None
    seal: str
    address: str | None


class AuditPage(Document):
    """Actions, newest first.

    A search stops after a number of entries. `searched_to` is then the time of the last one; `next` continues.
    """

    results: list[AuditDocument]
    next: str | None
    searched_to: Time | None


class AuditOptions(Document):
    """The actors, actions and types of objects in the audit trail."""

    actors: list[str]
    actions: list[str]
    types: list[str]


# The fields of a detail that contain or cite content of records, or reveal it.
OF_CONTENT = frozenset(("query", "filter", "program", "why", "trouble", "before", "after"))
# The actions whose texts and titles name groups by their titles, which may quote masked values of any record.
NAMING_GROUPS = frozenset(
    ("merged", "split", "dismiss", "undo dismissal", "removed plan", "acknowledge alert", "snooze alert")
)


def audit_document(entry: AuditEntry, *, shows_content: bool, is_masked: bool = False) -> AuditDocument:
    """Return an entry for the API, without details about content if the user may not read it.

    `is_masked`: fields of records are masked for the user, so titles of groups are withheld too.
    """
    hidden = set() if shows_content else OF_CONTENT & entry.detail.keys()
    detail = entry.detail | dict.fromkeys(hidden, f"Withheld. {NEEDS_PAYLOAD_READER}")
    if is_masked and entry.action in NAMING_GROUPS:
        detail |= dict.fromkeys({"text", "title"} & detail.keys(), "…")
    return AuditDocument(
        id=entry.pk,
        at=iso(entry.at),
        actor=entry.actor,
        action=entry.action,
        object=f"{entry.object_type} {entry.object_id}",
        object_type=entry.object_type,
        object_id=entry.object_id,
        sentence=sentence_of(entry, detail),
        reason=reason_of(detail),
        outcome=outcome_of(entry),
        href=href_of(entry),
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
