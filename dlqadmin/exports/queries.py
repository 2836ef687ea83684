"""Queries of exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django.db.models import Q

from dlqadmin.deadletters.models import FingerprintSource
from dlqadmin.deadletters.models.reach import of_source
from dlqadmin.deadletters.search.filter_groups import FilterGroup
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.exports.models import Export
from dlqadmin.rest.pagination import newest_page
from dlqadmin.teams.reach import current_reach

OF_SOURCES = ("topic", "connector")  # filters, named as the columns of FingerprintSource


def page(cursor: str | None, limit: int) -> tuple[list[Export], str | None]:
    """Return exports, newest first, and the cursor of the next page. Raises ParameterError."""
    return newest_page(Export.objects.select_related("created_by"), cursor, limit)


def may_exceed_reach(export: Export) -> bool:
    """Return whether the export's filters match a source that the present request does not reach.

    Its author may have lost a role since. The file may hold dead letters that are not indexed any more, so the known
    sources are asked, and not the dead letters.
    """
    if not current_reach().is_limited:
        return False
    filters = msgspec.convert(export.filters, Filters)
    sources: Any = FingerprintSource._base_manager.all()
    sources = sources.filter(_on_sources(filters.include))
    for choice in filters.choices:
        if not choice.negated and all(_is_of_sources(group) for group in choice.alternatives):
            ways = Q()
            for group in choice.alternatives:
                ways |= _on_sources(group.include)
            sources = sources.filter(ways)
    return bool(sources.exclude(of_source()).exists())


def _on_sources(include: Mapping[str, Sequence[str]]) -> Q:
    """Return the part of the conditions that a source can decide."""
    return Q(**{f"{name}__in": list(include[name]) for name in OF_SOURCES if name in include})


def _is_of_sources(group: FilterGroup) -> bool:
    return group.include.keys() <= set(OF_SOURCES) and not group.exclude and not group.choices
