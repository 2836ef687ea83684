"""Commits that are made aside."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from engine.pipeline.background_commits import BackgroundCommits


@pytest.fixture
def aside() -> Iterator[BackgroundCommits[int]]:
    made = BackgroundCommits[int]()
    yield made
    made.close()


def test_while_a_commit_is_under_way_its_task_is_busy_and_others_are_not(aside: BackgroundCommits[int]) -> None:
    go_on = threading.Event()

    def slow() -> int:
        assert go_on.wait(60)
        return 1

    aside.begin("a", slow)
    assert (aside.is_under_way("a"), aside.is_under_way("b")) == (True, False)
    assert aside.take("b") is None
    go_on.set()
    assert (aside.take("a"), aside.is_under_way("a"), aside.take("a")) == (1, False, None)


def test_whoever_takes_it_gets_what_it_raised(aside: BackgroundCommits[int]) -> None:
    def broken() -> int:
        raise KeyError("x")

    aside.begin("a", broken)
    with pytest.raises(KeyError):
        aside.take("a")
    assert aside.take("a") is None
