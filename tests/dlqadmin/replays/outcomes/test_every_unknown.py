"""Every reason for which an outcome is unknown, with the facts that lead to it: one row at least for each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dlqadmin.replays.outcomes.decision import decide
from dlqadmin.replays.outcomes.evidence import CommitHistory, ItemFacts, LetterEvidence, Observed, ReaderState
from dlqadmin.replays.reasons import WHY_UNKNOWN, Reason, remedy

NOW = datetime(2026, 11, 21, 3, 12, 30, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
DLQ, LETTER = "billing.dlq", LetterEvidence(17, "billing.dlq / 0 / 71")
HIDDEN = "dead letters go to billing.dlq, which is not indexed"


def connector(**known: Any) -> ReaderState:
    """One of the engine's, which has committed past offset 40; its index is complete."""
    return ReaderState(**{"name": "to-sql", "committed": 41, "dead_letters": DLQ, **known})


def foreign(offsets: int | None = 41, *, known: dict[str, Any] | None = None, **seen: Any) -> ReaderState:
    """A consumer group that is not the engine's; one member has had the partition for an hour."""
    observed = Observed(**{"history": CommitHistory(NOW - HOUR, 3), **seen})
    return ReaderState(
        **{"name": "billing", "committed": offsets, "dead_letters": DLQ, **(known or {})}, observed=observed
    )


ROWS: list[tuple[Reason, dict[str, Any]]] = [
    (Reason.NO_GROUP, {"group": None}),
    (Reason.NO_GROUP, {"group": foreign(None, there=False)}),
    (Reason.CLUSTER_UNWATCHED, {"group": connector(), "report": "delivered", "elsewhere": "dr"}),
    (Reason.CLUSTER_UNWATCHED, {"group": connector(), "placed": LETTER, "recreated": True, "elsewhere": "dr"}),
    (Reason.GROUP_UNKNOWN, {"group": foreign(None, undescribed="Group authorization failed")}),
    (Reason.GROUP_EMPTY, {"group": connector(committed=40, stopped="to-sql is paused")}),
    (Reason.GROUP_EMPTY, {"group": foreign(40, owned=False)}),
    (Reason.NO_COMMITTED_OFFSET, {"group": connector(committed=None), "sent_at": NOW - HOUR}),
    (Reason.NO_COMMITTED_OFFSET, {"group": foreign(None), "sent_at": NOW - HOUR}),
    (Reason.OFFSET_MOVED_BY_HAND, {"group": connector()}),
    (Reason.OFFSET_MOVED_BY_HAND, {"group": foreign(history=CommitHistory(NOW, 41))}),
    (
        Reason.OFFSET_MOVED_BY_HAND,
        {"group": foreign(history=CommitHistory(NOW, 41, NOW - MINUTE, NOW - SECOND)), "sent_at": NOW - HOUR},
    ),
    (Reason.NOT_OBSERVED, {"group": foreign(history=None)}),
    (Reason.NOT_OBSERVED, {"group": foreign(history=CommitHistory(NOW, 41)), "sent_at": NOW - MINUTE}),
    (
        Reason.NOT_OBSERVED,
        {"group": foreign(history=CommitHistory(NOW, 41, NOW - MINUTE, NOW - HOUR)), "sent_at": NOW - 2 * HOUR},
    ),
    (Reason.EXTERNAL_OFFSETS, {"group": foreign(None, commits=False), "sent_at": NOW - HOUR}),
    (Reason.EXTERNAL_OFFSETS, {"group": foreign(kind="simple", owned=False)}),
    (Reason.SHARE_GROUP, {"group": foreign(None, kind="share")}),
    (Reason.NO_REPORTS, {"group": connector(), "reports": False}),
    (Reason.NO_REPORTS, {"group": connector(), "reporting": False}),
    (Reason.NO_DEAD_LETTER_PATH, {"group": connector(unseen=HIDDEN), "report": "delivered"}),
    (Reason.NO_DEAD_LETTER_PATH, {"group": foreign(known={"dead_letters": ""})}),
    (Reason.NO_DEAD_LETTER_PATH, {"group": foreign(known={"unseen": HIDDEN})}),
    (Reason.RETRY_TOPICS_UNWATCHED, {"group": foreign(unwatched="nobody commits in its retry topic orders-retry-0")}),
    (Reason.EXPIRED_OR_COMPACTED, {"group": connector(committed=40), "begin": 41}),
    (Reason.EXPIRED_OR_COMPACTED, {"group": connector(), "readable": False}),
    (Reason.EXPIRED_OR_COMPACTED, {"group": foreign(), "readable": False}),
    (Reason.EXPIRED_OR_COMPACTED, {"group": foreign(40), "begin": 41}),
    (Reason.TOPIC_RECREATED, {"group": connector(), "report": "delivered", "recreated": True}),
    (Reason.TOPIC_RECREATED, {"group": foreign(), "recreated": True}),
    (Reason.INDEX_STOPPED, {"group": connector(behind=3), "report": "delivered", "indexing_since": NOW - HOUR}),
    (Reason.INDEX_STOPPED, {"group": foreign(known={"behind": 3}), "indexing_since": NOW - HOUR}),
    (
        Reason.INDEX_STOPPED,
        {"group": foreign(known={"behind": 3}), "settling_since": NOW - HOUR, "indexing_since": NOW - HOUR},
    ),
    (Reason.POSSIBLE_MATCH, {"group": connector(), "report": "delivered", "possible": LETTER}),
    (Reason.POSSIBLE_MATCH, {"group": foreign(), "possible": LETTER}),
    (Reason.POSSIBLE_MATCH, {"group": foreign(), "possible": LETTER, "settling_since": NOW - HOUR}),
    (Reason.COORDINATES_LOST, {"group": connector(), "report": "delivered", "offset": None}),
    (Reason.WATCH_TIMEOUT, {"group": connector(committed=40), "sent_at": NOW - 25 * HOUR}),
    (Reason.WATCH_TIMEOUT, {"group": foreign(40), "sent_at": NOW - 25 * HOUR}),
    (Reason.WATCH_TIMEOUT, {"group": foreign(retrying="orders-retry-0"), "sent_at": NOW - 25 * HOUR}),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "facts"), ROWS)
def test_these_facts_are_unknown_for_this_reason(reason: Reason, facts: dict[str, Any]) -> None:
    decision = decide(ItemFacts(**{"sent_at": NOW - timedelta(seconds=5), "offset": 40, **facts}), NOW)
    assert (decision.state, decision.reason) == ("unknown", reason)
    assert decision.evidence
    assert "succe" not in decision.evidence


def test_each_reason_has_a_row_and_says_what_would_make_the_outcome_known() -> None:
    assert {reason for reason, _ in ROWS} == WHY_UNKNOWN
    assert {reason for reason in Reason if remedy("unknown", reason)} == WHY_UNKNOWN
    assert {remedy("passed", reason) for reason in Reason} == {""}
