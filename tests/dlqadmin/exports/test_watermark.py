"""A watermark beside two indexers, each in a transaction of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.http import QueryDict

from dlqadmin.deadletters.index import watermark
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.exports import requests
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.deadletters.letters import ALL, NOW, NST, index, letter

pytestmark = [pytest.mark.sql, pytest.mark.django_db(transaction=True)]
SOON_S = 0.5


@pytest.fixture(autouse=True)
def several_writers() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as threads:
        yield threads


@contextmanager
def lower_ids_unseen(pool: ThreadPoolExecutor) -> Iterator[None]:
    """An indexer took ids and did not commit; another one with higher ids, and another trace, did."""
    taken, go = threading.Event(), threading.Event()

    def slow() -> None:
        with transaction.atomic():
            index([letter(n, partition=1, message=NST) for n in range(3)])
            taken.set()
            go.wait(60)

    writing = beside(pool, slow)
    try:
        assert taken.wait(60)
        index([letter(9, partition=2, connector="other", line=90)])
        yield
    finally:
        go.set()
        writing.result(60)


def beside(pool: ThreadPoolExecutor, act: Callable[[], Any]) -> Future[Any]:
    """Runs it with a connection of its own."""

    def whole() -> Any:
        try:
            return act()
        finally:
            connection.close()

    return pool.submit(whole)


@pytest.mark.parametrize("what", ["export", "selection"])
def test_what_is_frozen_waits_for_lower_ids(pool: ThreadPoolExecutor, operator: User, what: str) -> None:
    period = f"from={ALL['from']}&to={ALL['to']}"

    def freeze() -> int:
        if what == "export":
            return requests.ask(QueryDict(period), reader_of(operator)).watermark
        return frozen_selections.by_filter(period, operator, RequestKey(None, ""), NOW).watermark

    with lower_ids_unseen(pool):
        freezing = beside(pool, freeze)
        with pytest.raises(TimeoutError):
            freezing.result(SOON_S)
    last = freezing.result(60)
    assert DeadLetter.objects.filter(pk__lte=last).count() == 4
    index([letter(20)])
    assert DeadLetter.objects.filter(pk__lte=last).count() == 4


def test_whoever_waits_for_too_long_is_refused_and_holds_nobody_up(
    pool: ThreadPoolExecutor, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watermark, "WAIT_S", 0.2)
    with lower_ids_unseen(pool):
        with pytest.raises(StateConflict, match="Try again"):
            watermark.complete_up_to()
        assert index([letter(20, partition=2, connector="other", line=90)]) == 1
