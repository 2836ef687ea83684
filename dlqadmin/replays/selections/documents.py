"""Selections as API documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dlqadmin.accounts.names import username
from dlqadmin.deadletters.search.filters import content_names
from dlqadmin.replays.models import Selection
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso


class SelectionDocument(Document):
    """A frozen selection, without its ids.

    - `filters` are as they were stored, or count the `ticked` records.
    - `continues`: the replay whose unfinished records it has.
    """

    id: int
    count: int
    watermark: int
    digest: str
    title: str
    filters: dict[str, Any]
    created_at: Time
    created_by: str | None
    continues: int | None


class SelectionDetail(SelectionDocument):
    """A selection. `drifted`: its filter names other records by now."""

    drifted: bool


def chosen_by(selections: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return the filters of these selections, as they are shown.

    Ids are only counted and stay in the database, because a selection can have 200 000.
    """
    named = Selection.objects.filter(pk__in=list(selections))
    ticked = named.filter(filters__has_key="ids").values_list("pk", "count")
    return {
        **{pk: {"ticked": count} for pk, count in ticked},
        **dict(named.exclude(filters__has_key="ids").values_list("pk", "filters")),
    }


def selection_document(selection: Selection, filters: dict[str, Any] | None = None) -> SelectionDocument:
    """Return a selection without its ids, and without the content that it was chosen by.

    `filters` are the shown filters, if the caller has read them separately.
    """
    if filters is None:
        ticked = selection.filters.get("ids")
        filters = {"ticked": len(ticked)} if ticked else selection.filters
    return SelectionDocument(
        id=selection.pk,
        count=selection.count,
        watermark=selection.watermark,
        digest=selection.digest,
        title=selection.title,
        filters=_without_content(filters),
        created_at=iso(selection.created_at),
        created_by=username(selection.created_by),
        continues=selection.continues_id,
    )


def _without_content(filters: dict[str, Any]) -> dict[str, Any]:
    """Return the filters without the values of content filters.

    Everybody sees the selections of replays, so these values must not be shown.
    """
    told = dict(filters)
    for side in {"include", "exclude"} & filters.keys():
        told[side] = filters[side] | {name: [] for name in content_names(filters[side])}
    if "choices" in filters:
        told["choices"] = [
            {**choice, "alternatives": [_without_content(group) for group in choice["alternatives"]]}
            for choice in filters["choices"]
        ]
    return told
