"""Previews: the numbers of what an erasure would erase."""

from __future__ import annotations

from dlqadmin.erasures import erased_parts
from dlqadmin.erasures.chosen_letters import ChosenLetters
from dlqadmin.erasures.documents import ErasurePreview
from dlqadmin.replays.batches import parts
from dlqadmin.replays.models import Fix, ItemPayload, ReplacedDraft


def preview(chosen: ChosenLetters) -> ErasurePreview:
    """Count what an erasure of these dead letters would erase."""
    drafts = replaced = payloads = 0
    exports, bulks, rehearsals = set[int](), set[int](), set[int]()
    for part in parts(chosen.ids):
        drafts += Fix.objects.filter(dead_letter__in=part).count()
        replaced += ReplacedDraft.objects.filter(fix__dead_letter__in=part).count()
        payloads += ItemPayload.objects.filter(item__dead_letter__in=part).count()
        exports |= {one.pk for one in erased_parts.exports_with(part)}
        bulks |= {one.pk for one in erased_parts.bulk_fixes_with(part)}
        rehearsals |= {one.pk for one in erased_parts.rehearsals_with(part)}
    return ErasurePreview(
        count=len(chosen.ids),
        erased_before=chosen.erased_before,
        title=chosen.title,
        drafts=drafts,
        replaced_drafts=replaced,
        item_payloads=payloads,
        exports=len(exports),
        bulk_fix_reasons=len(bulks),
        rehearsals=len(rehearsals),
        running_replays=erased_parts.running_replays(chosen.ids),
    )
