"""Rounds of fencing: all at once, and none that can't succeed for long."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from engine.errors import RetriableError
from engine.kafka.fencing import MOST_THREADS, fence


class Ids:
    """Makes producers; says whose ids were taken over, and fails those of a cluster that is away."""

    def __init__(self, *, away: bool = False) -> None:
        self.away = away
        self.lock = threading.Lock()
        self.tried: list[int] = []
        self.closed = 0

    def connect(self, task: int) -> Any:
        ids = self

        class Producer:
            def init(self) -> None:
                with ids.lock:
                    ids.tried.append(task)
                if ids.away:
                    threading.Event().wait(0.1)
                    raise RetriableError("away")

            def close(self) -> None:
                with ids.lock:
                    ids.closed += 1

        return Producer()


def test_every_id_is_taken_over_and_let_go() -> None:
    ids = Ids()
    fence(ids.connect, range(20))
    assert (sorted(ids.tried), ids.closed) == (list(range(20)), 20)


def test_a_round_ends_soon_after_its_first_failure() -> None:
    ids = Ids(away=True)
    with pytest.raises(RetriableError):
        fence(ids.connect, range(100))
    assert len(ids.tried) <= MOST_THREADS
    assert ids.closed == len(ids.tried)


def test_nothing_is_to_be_fenced() -> None:
    fence(Ids(away=True).connect, ())
