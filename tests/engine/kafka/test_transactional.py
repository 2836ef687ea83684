"""Calls of the client that do not come back."""

from __future__ import annotations

import threading

import pytest

from engine.errors import GenerationFenced, RetriableError
from engine.kafka import transactional
from engine.kafka.transactional import KafkaTransactional

NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "transactional.id": "id", "log_level": "0"}


def test_a_call_that_does_not_come_back_in_time_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactional, "GRACE_S", 0.0)
    client = KafkaTransactional(NOWHERE, timeout_s=0.05)
    answered = threading.Event()
    with pytest.raises(RetriableError, match="did not respond"):
        client._call_in_thread(answered.wait)
    answered.set()


def test_what_a_call_raises_is_raised_where_it_was_made() -> None:
    def fenced() -> None:
        raise GenerationFenced("another has the id")

    with pytest.raises(GenerationFenced):
        KafkaTransactional(NOWHERE)._call_in_thread(fenced)
