from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from dlqadmin.broker.connection_test import operations


class Silent:
    """A client whose broker answers no question about what is allowed."""

    def __init__(self) -> None:
        self.asked = 0

    def describe_cluster(self, **_: Any) -> Future[Any]:
        self.asked += 1
        return Future()

    def describe_topics(self, _: Any, **more: Any) -> dict[str, Future[Any]]:
        return {"t": self.describe_cluster(**more)}

    def describe_consumer_groups(self, _: Any, **more: Any) -> dict[str, Future[Any]]:
        return {"g": self.describe_cluster(**more)}


@pytest.mark.slow
def test_a_broker_that_does_not_say_is_not_waited_for_once_for_each_question() -> None:
    client: Any = Silent()
    found = operations(client, [f"topic-{number}" for number in range(20)], ["group"], timeout_s=0.5)
    assert len(found) == 22
    assert set(found.values()) == {None}
    assert client.asked == 1
