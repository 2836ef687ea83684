"""Filters of audit entries, for the list and for exports.

Indexes serve the filters by time, actor, action and object. Sentences and outcomes are no columns: entries are
checked for them one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.db.models import QuerySet

from dlqadmin.audit.documents import AuditDocument
from dlqadmin.audit.models import READ, AuditEntry
from dlqadmin.audit.sentences import ACTIONS_OF_OUTCOME, OUTCOMES
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.text import storable
from dlqadmin.rest.times import parse_time

MAX_TEXT = 300
TEXT_PARAMETERS = ("actor", "action", "type", "object", "text")
PARAMETERS = (*TEXT_PARAMETERS, "outcome", "reads", "from", "to")


class EntryFilter(msgspec.Struct, frozen=True):
    """The conditions that an entry must meet. An empty one matches all entries."""

    actor: str = ""
    action: str = ""
    type: str = ""
    object: str = ""
    outcome: str = ""
    text: str = ""
    reads: bool = True
    start: datetime | None = None
    end: datetime | None = None

    @property
    def is_checked_by_entry(self) -> bool:
        """Return whether a query alone cannot answer the filter, so that `matches` must be called too."""
        return bool(self.outcome or self.text)

    def query(self) -> QuerySet[AuditEntry]:
        """Return the entries that meet the conditions on columns, in no order."""
        columns = {"actor": self.actor, "action": self.action, "object_type": self.type, "object_id": self.object}
        entries = AuditEntry.objects.filter(**{name: value for name, value in columns.items() if value})
        if self.start:
            entries = entries.filter(at__gte=self.start)
        if self.end:
            entries = entries.filter(at__lt=self.end)
        if self.outcome in ACTIONS_OF_OUTCOME:
            entries = entries.filter(action__in=ACTIONS_OF_OUTCOME[self.outcome])
        # A filter that asks for reads by name is not contradicted by the switch that hides them.
        return entries if self.reads or self.action == READ else entries.exclude(action=READ)

    def matches(self, document: AuditDocument) -> bool:
        """Return whether the entry meets the other conditions.

        Only the text that the reader can see is searched. A search in withheld details would reveal them.
        """
        if self.outcome and document.outcome != self.outcome:
            return False
        shown = f"{document.actor} {document.sentence} {document.reason}"
        return self.text.casefold() in shown.casefold()


def parse_filter(params: Mapping[str, Any], now: datetime) -> EntryFilter:
    """Parse query parameters. Raises ParameterError."""
    texts = {name: storable(str(params.get(name) or "").strip()) for name in TEXT_PARAMETERS}
    if too_long := next((name for name, text in texts.items() if len(text) > MAX_TEXT), None):
        raise ParameterError(too_long, f"must have at most {MAX_TEXT} characters")
    outcome = params.get("outcome") or ""
    if outcome and outcome not in OUTCOMES:
        raise ParameterError("outcome", f"must be one of {', '.join(OUTCOMES)}")
    reads = params.get("reads") or "true"
    if reads not in ("true", "false"):
        raise ParameterError("reads", "must be true or false")
    start, end = (parse_time(name, params[name], now) if params.get(name) else None for name in ("from", "to"))
    if start and end and start >= end:
        raise ParameterError("from", "must be before `to`")
    return EntryFilter(**texts, outcome=outcome, reads=reads == "true", start=start, end=end)
