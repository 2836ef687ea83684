"""Programs of bulk fixes: the versions that were previewed, and templates."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from dlqadmin.accounts.names import username
from dlqadmin.audit.entries import record
from dlqadmin.replays.fixes.documents import BulkPreview, FixProgramDocument, PreviewCounts
from dlqadmin.replays.models import BulkFixKind, FixProgram, Selection
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.times import iso

MAX_VERSIONS = 100  # of one person and selection
MAX_TEMPLATES = 500


def keep_version(
    selection: Selection, author: User, kind: str, program: str, shown: BulkPreview, now: datetime
) -> FixProgram:
    """Store a previewed program. The same program again moves its version to the top. The oldest ones are deleted."""
    counts = {**msgspec.structs.asdict(shown.counts), "counted_all": shown.counted_all}
    own = FixProgram.objects.filter(selection=selection, author=author, name=None)
    with transaction.atomic():
        own.filter(kind=kind, program=program).delete()
        made = FixProgram.objects.create(
            selection=selection, author=author, kind=kind, program=program, counts=counts, created_at=now
        )
        old = list(own.order_by("-pk").values_list("pk", flat=True)[MAX_VERSIONS:])
        FixProgram.objects.filter(pk__in=old).delete()
    return made


def versions(selection: Selection) -> QuerySet[FixProgram]:
    """Return the versions of all people for this selection, the latest first."""
    found = FixProgram.objects.filter(selection=selection, name=None).select_related("author")
    return found.order_by("-pk")[:MAX_VERSIONS]


def templates(user: User, *, shared: bool) -> QuerySet[FixProgram]:
    """Return the person's own templates and, if asked for, shared ones, by name."""
    whose = Q(author=user) | Q(is_shared=True) if shared else Q(author=user)
    found = FixProgram.objects.filter(whose, name__isnull=False)
    return found.select_related("author").order_by("name", "pk")[:MAX_TEMPLATES]


def save_template(author: User, name: str, kind: str, program: str, now: datetime, *, shared: bool) -> FixProgram:
    """Store a template. Raises StateConflict if the author has one of this name."""
    try:
        with transaction.atomic():
            made = FixProgram.objects.create(
                author=author, name=name, kind=kind, program=program, is_shared=shared, created_at=now
            )
            record(author, "saved", "fix template", str(made.pk), {"name": name, "kind": kind, "shared": shared})
    except IntegrityError:
        raise StateConflict(f"You have a template named {name!r} already. Choose another name, or delete it.") from None
    return made


def delete_template(author: User, pk: int) -> bool:
    """Delete a template of this author. Return whether there was one."""
    with transaction.atomic():
        found = FixProgram.objects.select_for_update().filter(pk=pk, author=author, name__isnull=False).first()
        if found is None:
            return False
        record(author, "deleted", "fix template", str(pk), {"name": found.name})
        found.delete()
    return True


def program_documents(found: Iterable[FixProgram], user: User) -> list[FixProgramDocument]:
    """Return programs as documents. Only payload readers may see them, because programs cite values."""
    return [
        FixProgramDocument(
            id=one.pk,
            kind=BulkFixKind(one.kind),
            program=one.program,
            name=one.name,
            shared=one.is_shared,
            own=one.author_id == user.pk,
            author=username(one.author),
            created_at=iso(one.created_at),
            counts=PreviewCounts(**{name: one.counts.get(name, 0) for name in PreviewCounts.__struct_fields__})
            if one.counts
            else None,
            counted_all=one.counts.get("counted_all", False),
        )
        for one in found
    ]
