from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from dlqadmin.host.network import wait_until
from engine.errors import RetriableError
from engine.herder.discovery import Discovery
from engine.reporting.checkpoints import CheckpointMetrics


class Watch:
    """Answers what it is told to; counts what is open."""

    pause_s = 0.01
    open = 0
    checkpoints = CheckpointMetrics("A", "B")

    def __init__(self, answer: Callable[[Sequence[Mapping[str, str]]], Any]) -> None:
        self.answer = answer
        Watch.open += 1

    def look(self, current: Sequence[Mapping[str, str]]) -> Sequence[dict[str, str]]:
        answer: Sequence[dict[str, str]] = self.answer(current)
        return answer

    def close(self) -> None:
        Watch.open -= 1


@pytest.fixture
def discovery() -> Iterator[Discovery]:
    made = Discovery()
    yield made
    made.close()
    until(lambda: Watch.open == 0)


def until(true: Callable[[], bool]) -> None:
    wait_until(true, "The watch", 60, 0.005)


def test_what_was_found_last_is_there_at_once(discovery: Discovery) -> None:
    held, found = threading.Event(), [{"a": "1"}]

    def look(_: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        held.wait(60)
        return list(found)

    def ask() -> Sequence[dict[str, str]] | None:
        return discovery.tasks("c", {}, lambda: Watch(look), [])

    assert ask() is None
    held.set()
    until(lambda: ask() == [{"a": "1"}])
    found.append({"a": "2"})
    until(lambda: ask() == [{"a": "1"}, {"a": "2"}])


def test_a_watch_is_told_of_the_tasks_as_they_are(discovery: Discovery) -> None:
    def ask(current: list[dict[str, str]]) -> Sequence[dict[str, str]] | None:
        return discovery.tasks("c", {}, lambda: Watch(lambda given: [dict(one) for one in given]), current)

    ask([])
    until(lambda: ask([{"a": "1"}]) == [{"a": "1"}])


@pytest.mark.parametrize("error", [RetriableError("away"), ValueError("a bug")])
def test_trouble_is_told_and_what_was_found_stays(discovery: Discovery, error: Exception) -> None:
    def look(_: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
        raise error

    def told() -> str:
        try:
            discovery.tasks("c", {}, lambda: Watch(look), [])
        except RetriableError as trouble:
            return str(trouble)
        return ""

    until(lambda: str(error) in told())


def test_changed_properties_are_watched_anew_and_a_connector_that_is_gone_is_not(discovery: Discovery) -> None:
    def ask(name: str) -> Sequence[dict[str, str]] | None:
        return discovery.tasks("c", {"name": name}, lambda: Watch(lambda _: [{"name": name}]), [])

    until(lambda: ask("old") == [{"name": "old"}])
    assert ask("new") in (None, [{"name": "new"}]), "what was found for other properties"
    until(lambda: ask("new") == [{"name": "new"}])
    until(lambda: Watch.open == 1)
    discovery.retain(())
    until(lambda: Watch.open == 0)
