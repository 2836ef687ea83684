"""The table of outcomes: one row for each state and reason."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dlqadmin.replays.models import ItemState
from dlqadmin.replays.outcomes.decision import decide
from dlqadmin.replays.outcomes.evidence import Decision, ItemFacts, LetterEvidence, ReaderState

NOW = datetime(2026, 11, 21, 3, 12, 30, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
DEAD = LetterEvidence(17, "usgs.earthquakes.dlq / 0 / 71", "gap is null, TASK_PUT; ")
UNSEEN = "dead letters go to usgs.earthquakes.dlq, which is not indexed"


def group(**known: Any) -> ReaderState:
    """A running connector that has committed past offset 40, its index complete."""
    return ReaderState(**{"name": "usgs-to-sql", "committed": 41, "dead_letters": "usgs.earthquakes.dlq", **known})


def outcome(*, age: timedelta = SECOND, within: ReaderState | None = group(), **known: Any) -> Decision:  # noqa: B008 (frozen)
    return decide(ItemFacts(sent_at=NOW - age, offset=40, group=within, **known), NOW)


def word(decision: Decision) -> str:
    return f"{decision.state.value}({decision.reason})" if decision.reason else decision.state.value


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        # Nothing is known yet.
        ({"within": group(committed=40, lag=13)}, "sent(waiting)"),
        ({"within": group(committed=None, lag=13)}, "sent(waiting)"),
        ({"within": group(committed=40, lag=13), "report": "delivered"}, "sent(waiting)"),
        ({"within": group(committed=40, lag=13), "report": "dead_lettered"}, "sent(waiting)"),
        ({"within": group(committed=40, parked=True)}, "sent(in_retry)"),
        ({"within": group(committed=None, parked=True), "age": HOUR}, "sent(in_retry)"),
        ({"within": group(behind=3), "report": "delivered"}, "sent(indexing)"),
        ({"within": group(behind=3), "report": "filtered"}, "sent(indexing)"),
        ({"within": group(behind=3), "report": "dead_lettered"}, "sent(indexing)"),
        # It passed, by the engine's word.
        ({"report": "delivered"}, "passed"),
        ({"report": "delivered", "within": group(stopped="it is paused")}, "passed"),
        ({"report": "delivered", "within": group(dead_letters="")}, "passed"),
        ({"report": "filtered"}, "passed(filtered)"),
        ({"report": "delivered", "downstream": DEAD}, "passed"),
        # It failed again.
        ({"exact": DEAD}, "failed_again"),
        ({"exact": DEAD, "report": "delivered"}, "failed_again"),
        ({"exact": DEAD, "within": group(committed=40)}, "failed_again"),
        ({"exact": DEAD, "within": None}, "failed_again"),
        ({"exact": DEAD, "recreated": True}, "failed_again"),
        ({"placed": DEAD}, "failed_again"),
        ({"attributed": DEAD}, "failed_again"),
        ({"attributed": DEAD, "report": "delivered"}, "failed_again"),
        ({"report": "dead_lettered"}, "failed_again"),
        ({"report": "dead_lettered", "within": group(unseen=UNSEEN)}, "failed_again"),
        ({"report": "dead_lettered", "within": group(behind=3), "indexing_since": NOW - HOUR}, "failed_again"),
        ({"report": "skipped"}, "failed_again(skipped)"),
        ({"report": "skipped", "within": group(dead_letters="")}, "failed_again(skipped)"),
        # It is unknown, and why.
        ({"within": None}, "unknown(no_group)"),
        ({"within": group(committed=40, stopped="usgs-to-sql is paused")}, "unknown(group_empty)"),
        ({"within": group(committed=None, stopped="usgs-to-sql is no more")}, "unknown(group_empty)"),
        ({"within": group(committed=None), "age": 2 * HOUR}, "unknown(no_committed_offset)"),
        ({}, "unknown(offset_moved_by_hand)"),
        ({"within": group(stopped="it is paused")}, "unknown(offset_moved_by_hand)"),
        ({"reports": False}, "unknown(no_reports)"),
        ({"reporting": False}, "unknown(no_reports)"),
        ({"report": "delivered", "within": group(unseen=UNSEEN)}, "unknown(no_dead_letter_path)"),
        ({"within": group(committed=40), "begin": 41}, "unknown(expired_or_compacted)"),
        ({"begin": 41}, "unknown(expired_or_compacted)"),
        ({"readable": False}, "unknown(expired_or_compacted)"),
        ({"report": "delivered", "begin": 41}, "passed"),
        ({"recreated": True}, "unknown(topic_recreated)"),
        ({"recreated": True, "report": "delivered"}, "unknown(topic_recreated)"),
        ({"recreated": True, "placed": DEAD}, "unknown(topic_recreated)"),
        ({"within": group(behind=3), "report": "delivered", "indexing_since": NOW - HOUR}, "unknown(index_stopped)"),
        ({"within": group(behind=3), "report": "delivered", "indexing_since": NOW - SECOND}, "sent(indexing)"),
        (
            {"within": group(behind=3, index_at=NOW - HOUR), "report": "delivered", "indexing_since": NOW - HOUR},
            "unknown(index_stopped)",
        ),
        (
            {"within": group(behind=3, index_at=NOW - SECOND), "report": "delivered", "indexing_since": NOW - HOUR},
            "sent(indexing)",
        ),
        ({"report": "delivered", "possible": DEAD}, "unknown(possible_match)"),
        ({"report": "filtered", "possible": DEAD}, "unknown(possible_match)"),
        ({"within": group(committed=40, lag=13), "age": 25 * HOUR}, "unknown(watch_timeout)"),
        ({"within": group(committed=40, parked=True), "age": 25 * HOUR}, "unknown(watch_timeout)"),
        ({"report": "delivered", "age": 25 * HOUR}, "passed"),
    ],
)
def test_each_state_and_reason_has_its_facts(facts: dict[str, Any], expected: str) -> None:
    assert word(outcome(**facts)) == expected


def test_lost_coordinates_stay_unknown_until_a_dead_letter_carries_the_item() -> None:
    lost = ItemFacts(sent_at=NOW, offset=None, group=group(), report="delivered")
    assert word(decide(lost, NOW)) == "unknown(coordinates_lost)"
    found = decide(ItemFacts(sent_at=NOW, offset=None, group=group(), attributed=DEAD), NOW)
    assert (word(found), found.refailure) == ("failed_again", 17)


@pytest.mark.parametrize(
    ("facts", "evidence"),
    [
        ({"within": group(committed=40, lag=13)}, "lag 13"),
        (
            {"report": "delivered"},
            "proven: usgs-to-sql reported it delivered; the index has read usgs.earthquakes.dlq to its end",
        ),
        ({"report": "delivered", "within": group(dead_letters="")}, "proven: usgs-to-sql reported it delivered"),
        ({"report": "filtered"}, "proven: usgs-to-sql reported that a transform filtered the record"),
        ({"report": "delivered", "within": group(unseen=UNSEEN)}, UNSEEN),
        ({"reporting": False}, "usgs-to-sql committed past the record, but did not report it"),
        (
            {"exact": DEAD},
            ("gap is null, TASK_PUT; proven: the origin in its dead letter is the position it was sent to"),
        ),
        ({"attributed": DEAD}, "gap is null, TASK_PUT; proven: its dead letter names this item and attempt"),
        ({"within": group(committed=40, stopped="usgs-to-sql is paused")}, "usgs-to-sql is paused"),
        ({"within": group(committed=40, lag=13), "age": 25 * HOUR}, "24 hours after it was sent: lag 13"),
    ],
)
def test_the_evidence_is_one_exact_sentence(facts: dict[str, Any], evidence: str) -> None:
    assert outcome(**facts).evidence == evidence


def test_only_a_dead_letter_of_the_record_itself_is_its_failure() -> None:
    assert outcome(exact=DEAD).refailure == 17
    downstream = outcome(report="delivered", downstream=DEAD)
    assert (downstream.state, downstream.refailure) == (ItemState.PASSED, 17)
    assert downstream.evidence.endswith("failed downstream: usgs.earthquakes.dlq / 0 / 71")
    assert outcome(report="delivered", possible=DEAD).refailure is None


def test_no_sentence_claims_success() -> None:
    assert "succe" not in outcome(report="delivered").evidence + outcome(report="filtered").evidence
