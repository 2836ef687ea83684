from __future__ import annotations

from typing import Any

import pytest

from dlqadmin.deadletters.index.followed_topics import follows


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
def test_a_topic_is_indexed_if_its_name_or_a_pattern_says_so(
    settings: Any, names: list[str], topic: str, known: bool
) -> None:
    settings.DLQ_TOPICS = names
    assert follows(topic) is known
