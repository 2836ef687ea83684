from datetime import UTC, datetime

from dlqadmin.broker.availability import KafkaAvailability
from dlqadmin.clusters import index_progress
from dlqadmin.clusters.index_progress import TopicIndexProgress
from dlqadmin.deadletters.index.followed_topics import FollowedTopics
from dlqadmin.overview.index_lag import IndexLag, PartitionLag

NOW = datetime(2026, 11, 20, tzinfo=UTC)
AWAY = KafkaAvailability(reachable=False, brokers=0, topics={})
FOLLOWED = FollowedTopics((r".*[.-]dlq$",))


def lag(*rows: tuple[str, int, int, int, float]) -> IndexLag:
    return IndexLag([PartitionLag(topic, partition, at, end, NOW, s) for topic, partition, at, end, s in rows])


def test_a_topic_is_as_far_as_its_partitions_together() -> None:
    found = index_progress.progress(lag(("a.dlq", 0, 40, 100, 7.0), ("a.dlq", 1, 10, 10, 0.0)), AWAY, FOLLOWED)
    assert found == [TopicIndexProgress("a.dlq", 2, read=50, of=110, behind=60, seconds=7.0)]
    assert found[0].eta_s is None


def test_a_topic_that_was_not_read_yet_is_there() -> None:
    broker = KafkaAvailability(reachable=True, brokers=1, topics={"new.dlq": 3, "orders": 9})
    (found,) = index_progress.progress(lag(), broker, FOLLOWED)
    assert found == TopicIndexProgress("new.dlq", 3, 0, 0, 0, 0.0, is_read=False)
    assert found.eta_s is None


def test_the_rate_is_measured_between_two_looks() -> None:
    first = (100.0, {"a": 0, "again": 50})
    assert index_progress.rates([], (110.0, {"a": 500})) == {}
    assert index_progress.rates([first], (101.0, {"a": 500})) == {}
    assert index_progress.rates([first], (110.0, {"a": 500, "again": 3, "new": 9})) == {"a": 50.0}


def test_the_end_is_as_far_as_the_rate_says() -> None:
    assert TopicIndexProgress("a", 1, 10, 110, 100, 5.0, rate=50.0).eta_s == 2.0
    assert TopicIndexProgress("a", 1, 110, 110, 0, 0.0).eta_s == 0.0
    assert TopicIndexProgress("a", 1, 10, 110, 100, 5.0, rate=0.0).eta_s is None


def test_topics_that_look_like_dead_letters_are_found() -> None:
    names = [
        "orders",
        "orders.dlq",
        "payments-dlt",
        "mail.DLQ.2",
        "errors",
        "terrors",
        "__dead_letter",
        "app_dead_letter",
    ]
    broker = KafkaAvailability(reachable=True, brokers=1, topics=dict.fromkeys(names, 1))
    assert index_progress.unfollowed_topics(broker, FOLLOWED) == [
        "app_dead_letter", "errors", "mail.DLQ.2", "payments-dlt",
    ]  # fmt: skip
    ruled = FollowedTopics(FOLLOWED.patterns, frozenset({"errors"}), frozenset({"payments-dlt"}))
    assert index_progress.unfollowed_topics(broker, ruled) == ["app_dead_letter", "mail.DLQ.2"]
