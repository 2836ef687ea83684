"""Erasures, their previews and their receipts as API documents."""

from __future__ import annotations

from typing import Literal

from dlqadmin.deadletters.records.expiry import ClockReason, ClockState
from dlqadmin.erasures.models import Erasure, ErasureState
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso, iso_or_none

# The kinds of erased things, in the order of a receipt.
KINDS: dict[str, str] = {
    "dead_letters": "Dead letters: keys, values, error contexts, values of headers, messages and traces",
    "drafts": "Drafts",
    "replaced_drafts": "Earlier versions of drafts",
    "item_payloads": "Edited messages of replays",
    "decoded_values": "Decoded values",
    "texts": "Search texts",
    "traces": "Stack traces that no other dead letter has",
    "fingerprint_examples": "Groups whose examples of variable parts were blanked",
    "rehearsals": "Results of rehearsals",
    "bulk_fix_reasons": "Bulk fixes whose reasons were blanked",
    "exports": "Export files deleted",
    "left_before": "Records that retention had deleted before, or that were erased before",
}
# The kinds of rows that may quote the content and stay, with the reason.
STAYS: dict[str, tuple[str, str]] = {
    "audit_entries": ("Audit entries", "The audit trail is sealed. A changed entry would break its chain."),
    "selections": ("Selections", "A person wrote this filter. It tells what was replayed."),
    "saved_searches": ("Saved searches", "A person wrote this query. Its owner can delete it."),
    "export_filters": ("Filters of exports", "A person wrote this filter. The file itself was deleted."),
    "fix_programs": ("Programs of bulk fixes", "A person wrote this program. Its author can delete it."),
    "group_notes": ("Notes about groups", "A person wrote this note."),
    "group_messages": (
        "Groups",
        "Titles and messages of groups are normalised: variable parts are left out. Check that none is left.",
    ),
}
NOTES = (
    (
        "Files that people downloaded, backups of the database, copies of the audit trail and messages to webhooks, "
        "mail and other services are outside the dashboard. Erase the content there too."
    ),
    "PostgreSQL overwrites erased rows when it next vacuums their tables, and its log files when it recycles them.",
    "Replays to other systems, and the targets of connectors, are not changed.",
)


class ErasurePreview(Document):
    """A preview of an erasure.

    - `count`: dead letters to erase. `erased_before`: those of the choice that were erased before.
    - `running_replays`: replays that have not ended and have some of the records. An erasure is refused until they end.
    """

    count: int
    erased_before: int
    title: str
    drafts: int
    replaced_drafts: int
    item_payloads: int
    exports: int
    bulk_fix_reasons: int
    rehearsals: int
    running_replays: list[str]


class ErasedKind(Document):
    """A kind of content, and how much of it was erased."""

    kind: str
    label: str
    count: int


class QuotingRows(Document):
    """Rows that may quote the content and were not changed. The last id is "and more" if there are more than 1000."""

    kind: str
    label: str
    why: str
    ids: list[str]


class ErasureDocument(Document):
    """An erasure and its progress.

    `done` of `count` records were handled. `trouble` is why it waits, or why the rest was given up.
    """

    id: int
    name: str
    state: ErasureState
    by: str
    reason: str
    title: str
    key_digest: str
    future: bool
    count: int
    done: int
    created_at: Time
    done_at: Time | None
    trouble: str
    erased: list[ErasedKind]
    kept: list[QuotingRows]


class ErasurePage(Document):
    """Erasures, newest first."""

    results: list[ErasureDocument]
    next: str | None


class RemainingRecordDocument(Document):
    """A copy of an erased record that Kafka may still have.

    `cluster` is "" for the own cluster. `until` is the earliest time at which Kafka deletes it.
    """

    dead_letter: int
    role: Literal["dead_letter", "origin", "replayed"]
    cluster: str
    topic: str
    partition: int
    offset: int
    state: ClockState
    until: Time | None
    reason: ClockReason | None


class ErasedTopicDocument(Document):
    """A topic that still has copies, with its retention. A negative limit means no limit."""

    topic: str
    cleanup_policy: list[str]
    retention_ms: int
    retention_bytes: int
    advice: str


class RemainsDocument(Document):
    """The copies that Kafka may still have. At most 10 000 are listed; `count` is of all.

    `trouble` says which part of Kafka was not asked.
    """

    as_of: Time
    trouble: str
    count: int
    records: list[RemainingRecordDocument]
    topics: list[ErasedTopicDocument]


class ErasureReceipt(Document):
    """The record of an erasure: its author, time and reason, what was not erased, and what Kafka may still have.

    `records_digest` is the SHA-256 of the dead letters' ids, ascending, each as eight big-endian bytes.
    """

    erasure: ErasureDocument
    cluster: str
    records_digest: str
    kafka: RemainsDocument
    notes: list[str]


class ReceiptFile(Document):
    """A receipt, and the SHA-256 of its bytes: those between `"receipt":` and `,"sha256"`."""

    receipt: ErasureReceipt
    sha256: str


def erasure_document(erasure: Erasure) -> ErasureDocument:
    """Return an erasure with its counts."""
    return ErasureDocument(
        id=erasure.pk,
        name=str(erasure),
        state=ErasureState(erasure.state),
        by=erasure.actor_name,
        reason=erasure.reason,
        title=erasure.title,
        key_digest=erasure.key_digest,
        future=erasure.future,
        count=erasure.count,
        done=erasure.progress,
        created_at=iso(erasure.created_at),
        done_at=iso_or_none(erasure.done_at),
        trouble=erasure.trouble,
        erased=[
            ErasedKind(kind=kind, label=label, count=erasure.counts[kind])
            for kind, label in KINDS.items()
            if erasure.counts.get(kind)
        ],
        kept=[
            QuotingRows(kind=kind, label=label, why=why, ids=erasure.quoted[kind])
            for kind, (label, why) in STAYS.items()
            if erasure.quoted.get(kind)
        ],
    )
