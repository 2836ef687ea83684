from __future__ import annotations

import pytest

from dlqadmin.deadletters.index.candidate_topics import Sample, candidates, sample_of, window
from dlqadmin.deadletters.index.followed_topics import FollowedTopics
from dlqadmin.settings.topic_names import DEAD_LETTER_TOPICS
from tests.dlqadmin.deadletters.letters import letter, plain
from tests.engine.dialects import foreign_letters as letters

USUAL = FollowedTopics(tuple(DEAD_LETTER_TOPICS))


@pytest.mark.parametrize(
    "topic",
    [
        "orders-dlt",
        "orders.created-dlt",
        "orders.DLT",
        "orders-billing-dlt",
        "orders-dlq",
        "orders.dlq",
        "orders_dlq",
        "orders.DLQ",
        "orders-dead-letter",
        "orders.dead.letters",
        "orders_dead_letter_queue",
        "dead-letters",
        "deadletter",
        "dead-letter-topic-orders",
        "dead-letter-queue-orders",
    ],
)
def test_usual_names_of_dead_letter_topics_are_indexed(topic: str) -> None:
    assert USUAL.follows(topic)


@pytest.mark.parametrize("topic", ["orders", "orders-retry-0", "orders.created-retry-1000", "access-log", "xdlq"])
def test_other_topics_are_not(topic: str) -> None:
    assert not USUAL.follows(topic)
    assert candidates([topic], USUAL) == []


@pytest.mark.parametrize(
    "topic",
    [
        "error.orders.billing",
        "orders-errors",
        "dlq-orders",
        "dlq.orders",
        "orders.DLQ.2",
        "parked.orders",
        "failed_orders",
    ],
)
def test_names_that_prove_nothing_are_candidates(topic: str) -> None:
    assert not USUAL.follows(topic)
    assert candidates([topic], USUAL) == [topic]


@pytest.mark.parametrize("topic", ["errors-retry-1", "orders-dlq-retry", "__errors", "terrors", "orders-dlq"])
def test_retry_topics_internal_topics_and_indexed_ones_are_no_candidates(topic: str) -> None:
    assert candidates([topic], USUAL) == []


def test_a_topic_about_which_somebody_decided_is_no_candidate() -> None:
    ruled = FollowedTopics((), frozenset({"orders-errors"}), frozenset({"mail-errors"}))
    assert candidates(["orders-errors", "mail-errors", "errors"], ruled) == ["errors"]


@pytest.mark.parametrize(
    ("last", "found"), [("", "abc"), ("c", "dea"), ("bb", "cde"), ("e", "abc"), ("gone", "abc"), ("Z", "abc")]
)
def test_a_run_continues_after_the_last_name_and_then_from_the_start(last: str, found: str) -> None:
    assert window([*"abcde"], last, 3) == [*found]


def test_every_candidate_is_looked_into_after_a_few_runs() -> None:
    names, last, seen = sorted(f"errors.{n}" for n in range(120)), "", set[str]()
    for _ in range(3):
        run = window(names, last, 50)
        last, seen = run[-1], seen | {*run}
    assert seen == {*names}
    assert (window(names[:9], last, 50), window([], last, 50)) == (names[:9], [])


def test_most_of_the_newest_records_must_be_dead_letters() -> None:
    log = [plain(n, b"GET /orders 500") for n in range(3)]
    assert sample_of([]) == Sample(0, 0, "unreadable")
    assert not sample_of([]).are_dead_letters
    assert not sample_of([*log, letters.SPRING]).are_dead_letters
    half = sample_of([*log, letters.SPRING, letters.SPRING_RETRY, letter(1)])
    assert (half.are_dead_letters, half.words) == (True, "3 of the newest 6 records are dead letters of Spring Kafka")
