from __future__ import annotations

import pytest

from dlqadmin.deadletters.index.followed_topics import FollowedTopics


@pytest.mark.parametrize(
    ("names", "topic", "known"),
    [
        ([r".*[.-]dlq$"], "usgs.earthquakes.dlq", True),
        ([r".*[.-]dlq$"], "usgs.earthquakes.dlq.old", False),
        (["quakes.dlq"], "quakes.dlq", True),
        (["quakes.dlq"], "quakes-dlq", False),
        (["^quakes.*"], "quakes", True),
        (["a|b"], "b", True),
        ([], "quakes.dlq", False),
    ],
)
def test_a_topic_is_indexed_if_its_name_or_a_pattern_says_so(names: list[str], topic: str, known: bool) -> None:
    assert FollowedTopics(tuple(names)).follows(topic) is known


def test_rules_take_precedence_over_patterns() -> None:
    followed = FollowedTopics((".*dlq", "named", "other"), frozenset({"added"}), frozenset({"a.dlq", "named"}))
    assert [one for one in ("a.dlq", "b.dlq", "named", "added", "x") if followed.follows(one)] == ["b.dlq", "added"]
    assert followed.subscription == ["^.*dlq", "other", "added"]
    assert [followed.matching_pattern(one) for one in ("b.dlq", "added")] == [".*dlq", None]


def test_an_excluded_topic_is_still_a_dead_letter_topic() -> None:
    """No replay may write to it, and no pointer may lead to it."""
    assert FollowedTopics((".*dlq",), excluded=frozenset({"a.dlq"})).is_dead_letter_topic("a.dlq")
