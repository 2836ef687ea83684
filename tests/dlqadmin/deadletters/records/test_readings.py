"""The page of a dead letter says where each fact comes from, and what nobody stated."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from tests.dlqadmin.deadletters.letters import NOW, index, letter
from tests.engine.dialects import foreign_letters as letters


def page(client: APIClient) -> Any:
    return client.get(f"/api/v1/dead-letters/{DeadLetter.objects.get().pk}").json()


def test_a_letter_of_spring_tells_header_fact_and_value(as_reader: APIClient) -> None:
    index([letters.SPRING])
    found = page(as_reader)
    assert (found["dialect"]["name"], found["dialect"]["title"]) == ("spring-kafka", "Spring Kafka")
    notes = {note["field"]: note for note in found["dialect"]["notes"]}
    assert notes["origin partition"] == {
        "field": "origin partition",
        "read_from": "header kafka_dlt-original-partition, big-endian, 4 bytes",
        "value": "3",
        "guessed": False,
    }
    assert (notes["failed at"]["guessed"], notes["failed at"]["read_from"]) == (False, HEADER_OF_TRACE)
    assert {"name": "consumer_group", "label": "Consumer group", "value": "order-listener"} in found["facts"]


HEADER_OF_TRACE = "header kafka_dlt-exception-stacktrace, TimestampedException"


def test_the_chain_of_attempts_has_only_what_the_headers_tell(as_reader: APIClient) -> None:
    index([letters.SPRING_RETRY])
    first, second, third = page(as_reader)["attempts"]
    nothing = dict.fromkeys(("topic", "partition", "offset", "due_at", "failed_at"))
    origin = {"topic": "orders.created", "partition": 3, "offset": 88_412}
    assert first == {"number": 1, **nothing, **origin}
    assert second == {"number": 2, **nothing, "due_at": "2026-09-21T14:13:22.000Z"}
    due = {"due_at": "2026-09-21T14:13:23.000Z"}
    assert third == {"number": 3, **nothing, **due, "failed_at": "2026-11-23T08:58:06.503Z"}


def test_a_due_time_beyond_the_calendar_is_left_out(as_reader: APIClient) -> None:
    headers = tuple(
        (name, b"\xff" * 6 if name == "retry_topic-backoff-timestamp" else value)
        for name, value in letters.SPRING_RETRY.headers
    )
    index([replace(letters.SPRING_RETRY, headers=headers)])
    assert {one["due_at"] for one in page(as_reader)["attempts"]} == {None}


@pytest.mark.parametrize("value", [b'{"error": ' + b"[" * 5000 + b"]" * 5000 + b"}", b'{"\xff": 1}'])
def test_a_letter_that_no_reader_takes_has_a_page(as_reader: APIClient, value: bytes) -> None:
    index([letters.message(value=value)])
    assert page(as_reader)["dialect"]["name"] == "unreadable"


@pytest.mark.parametrize(
    ("kind", "source", "clock"),
    [
        ("CREATE_TIME", "index", "first indexed; the writer does not say when the record failed"),
        ("LOG_APPEND_TIME", "append", "append time of the dead letter"),
    ],
)
def test_a_time_that_nobody_stated_is_a_guess_that_names_its_clock(
    as_reader: APIClient, kind: str, source: str, clock: str
) -> None:
    index([replace(letter(1), timestamp_type=kind, timestamp=int(NOW.timestamp() * 1000))])
    found = page(as_reader)
    assert found["time_source"] == source
    (note,) = [note for note in found["dialect"]["notes"] if note["field"] == "failed at"]
    assert (note["guessed"], note["read_from"]) == (True, clock)
    texts = [event["text"] for event in found["timeline"]]
    assert not any("retried" in text for text in texts)
    assert any("upper bound" in text for text in texts) is (source == "index")
