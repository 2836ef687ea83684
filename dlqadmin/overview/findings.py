"""A finding: a state that needs an operator's attention. Pure."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from dlqadmin.overview.documents import AttentionItem, AttentionKind, FindingAction
from dlqadmin.overview.severity import score, severity
from dlqadmin.rest.times import iso_or_none

MOST_OF_A_KIND = 5
# Kinds that one finding can change between while it stays the same finding.
SAME_FINDING: dict[AttentionKind, str] = {
    "budget_exhausted": "budget",
    "approval_yours": "approval",
    "canary_paused": "replay_paused",
}
ACTIONS: dict[AttentionKind, FindingAction] = {
    "failed_task": "restart",
    "connector_held": "resume",
    "canary_paused": "decide",
    "replay_paused": "decide",
    "approval_yours": "review",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding with a link to the relevant page.

    - `subject`: names the thing that it is about. Kind and subject identify the finding.
    - `count`: records or errors behind it. A larger number is worse.
    - `share`: the used share of a limit, from 0 to 1. It orders before `count`.
    - `level`: a higher one is worse, whatever the count.
    - `failed_at`: the time of the failure. A later failure is worse.
    - `active_at`: the last sign that it goes on. A later one is a change.
    - `is_read_only`: nobody can change the thing from the dashboard.
    - `object_type` and `object_id`: the object that it is about, as in the audit trail. Both are empty for parts of the
      system, such as Kafka, which all teams share.
    """

    kind: AttentionKind
    subject: str
    title: str
    text: str
    at: datetime | None
    href: str
    count: int = 0
    share: float = 0.0
    level: int = 0
    failed_at: datetime | None = None
    active_at: datetime | None = None
    by: str | None = None
    reason: str | None = None
    is_read_only: bool = False
    object_type: str = ""
    object_id: str = ""

    @property
    def id(self) -> str:
        """Return a name for URLs that stays the same as long as the finding exists."""
        family = SAME_FINDING.get(self.kind, self.kind)
        return hashlib.sha256(f"{family}\0{self.subject}".encode("utf-8", "replace")).hexdigest()[:16]

    def item(self, now: datetime) -> AttentionItem:
        """Return the finding for the API."""
        return AttentionItem(
            id=self.id,
            kind=self.kind,
            severity=severity(self.kind),
            score=round(score(self.kind, self.at, now), 3),
            title=self.title,
            text=self.text,
            at=iso_or_none(self.at),
            href=self.href,
            action="open" if self.is_read_only else ACTIONS.get(self.kind, "open"),
            count=self.count,
            by=self.by,
            reason=self.reason,
        )


def ordered(found: Iterable[Finding], now: datetime) -> list[Finding]:
    """Return the findings, worst first, then newest. Of equal ones the larger is first, in a stable order."""
    return sorted(found, key=lambda row: (-score(row.kind, row.at, now), -row.share, -row.count, row.id))


def capped(found: Sequence[Finding]) -> tuple[list[Finding], int]:
    """Return at most five findings of each kind, and the number of those left out."""
    seen = Counter[str]()
    shown = []
    for row in found:
        seen[row.kind] += 1
        if seen[row.kind] <= MOST_OF_A_KIND:
            shown.append(row)
    return shown, len(found) - len(shown)
