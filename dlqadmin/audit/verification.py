"""Verify the chain of audit entries: find changed, removed, inserted and moved entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.utils import timezone

from dlqadmin.audit import digests
from dlqadmin.audit.models import AuditEntry, AuditHead

UNSEALED_S = 60.0  # longer than the interval of the periodic task plus a long transaction


@dataclass(frozen=True, slots=True)
class ChainVerification:
    """The number of intact sealed entries, the last seal, and the breaks, first one first."""

    entries: int
    seal: str
    breaks: tuple[str, ...]

    @property
    def head(self) -> str:
        """The end of the chain. Keep it where no user of the database can change it."""
        return f"{self.entries}:{self.seal}"


def verify(kept_head: str | None = None) -> ChainVerification:
    """Walk the chain up to its first break. `kept_head` is a `head` returned before.

    Raises ValueError for an invalid `kept_head`. The chain may grow meanwhile.
    """
    kept_seq, kept_seal = _parse_head(kept_head)
    first = _head() or AuditHead()
    all_keys = digests.keys()
    key, seq, before = 0, 0, ""  # index of the key in use: a replaced key proves nothing about later entries
    for entry in AuditEntry._base_manager.exclude(seq=None).order_by("seq").iterator(chunk_size=2000):
        seq += 1
        used = next((n for n in range(key, len(all_keys)) if _is_sealed(entry, before, all_keys[n])), None)
        fault = ""
        if entry.seq != seq:
            fault = _gap_message(seq, entry.seq or 0)
        elif used is None:
            fault = f"{_entry_name(entry)} has a wrong seal: it was changed, inserted or moved."
        elif not _is_genuine(entry, all_keys):
            fault = f"{_entry_name(entry)} has a wrong digest: it was changed, or the dashboard did not write it."
        elif seq == kept_seq and not digests.is_same_digest(entry.seal, kept_seal):
            fault = f"{_entry_name(entry)} differs from the copy kept elsewhere: the chain was rewritten."
        elif seq == first.seq and not digests.is_same_digest(entry.seal, first.seal):
            fault = f"{_entry_name(entry)} differs from the entry in the head: the head was changed."
        if fault or used is None:
            return ChainVerification(seq - 1, before, (fault,))
        key, before = used, entry.seal
    return ChainVerification(seq, before, (*_end_breaks(seq, kept_seq, first, all_keys), *_unsealed_breaks(all_keys)))


def _head() -> AuditHead | None:
    return AuditHead.objects.filter(pk=AuditHead.ID).first()


def _end_breaks(seq: int, kept_seq: int, first: AuditHead, all_keys: list[bytes]) -> Iterator[str]:
    """Compare the end of the chain with its head before and after the walk."""
    last = _head()
    if last is None:
        if seq:
            yield "The head of the chain is missing: entries at the end may have been removed."
    elif last.seq and not any(
        digests.is_same_digest(last.digest, digests.head_digest(last.seq, last.seal, key)) for key in all_keys
    ):
        yield "The dashboard did not write the head of the chain."
    elif first.seq > seq:
        yield (
            f"The chain ends at entry {seq}, but its head names entry {first.seq}: the last {first.seq - seq} "
            "were removed."
        )
    elif last.seq < seq:
        yield f"The chain ends at entry {seq}, but its head names entry {last.seq}: the head was set back."
    if kept_seq > seq:
        yield (
            f"The chain ends at entry {seq}, but the head kept elsewhere names entry {kept_seq}: entries were removed."
        )


def _unsealed_breaks(all_keys: list[bytes]) -> Iterator[str]:
    unsealed = AuditEntry._base_manager.filter(seq=None).order_by("id")
    oldest = unsealed.first()
    if oldest and (timezone.now() - oldest.at).total_seconds() > UNSEALED_S:
        yield (
            f"{unsealed.count()} entries are not sealed, the oldest of {oldest.at:%Y-%m-%d %H:%M:%S}. Start "
            "Celery's beat and worker."
        )
    for entry in unsealed.iterator(chunk_size=2000):
        if not _is_genuine(entry, all_keys):
            yield f"{_entry_name(entry)} has a wrong digest: it was changed, or the dashboard did not write it."
            return


def _is_sealed(entry: AuditEntry, before: str, key: bytes) -> bool:
    return digests.is_same_digest(entry.seal, digests.entry_seal(before, entry.seq or 0, entry.digest, key))


def _is_genuine(entry: AuditEntry, all_keys: list[bytes]) -> bool:
    return any(digests.is_same_digest(entry.digest, digests.entry_digest(entry, key)) for key in reversed(all_keys))


def _gap_message(expected: int, found: int) -> str:
    if found == expected + 1:
        return f"Entry {expected} is missing: it was removed."
    return (
        f"Entries {expected} to {found - 1} are missing: they were removed."
        if found > expected
        else (f"Entry {found} is in the place of entry {expected}: it was inserted.")
    )


def _entry_name(entry: AuditEntry) -> str:
    number = f"Entry {entry.seq}" if entry.seq else "An unsealed entry"
    return f"{number} (id {entry.pk}, {entry.at:%Y-%m-%d %H:%M:%S})"


def _parse_head(kept_head: str | None) -> tuple[int, str]:
    if not kept_head:
        return 0, ""
    seq, colon, seal = kept_head.strip().partition(":")
    if not (colon and seq.isdecimal() and len(seal) == 64):
        raise ValueError("a head has the form number:seal, as verify_audit prints it")
    return int(seq), seal
