from __future__ import annotations

from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dlqadmin.deadletters.index.message_parser import parse_message
from engine.record.record import RawRecord
from tests.dlqadmin.deadletters.letters import letter

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SENT_MS = 1_790_000_000_000


def message(value: bytes | None) -> RawRecord:
    return RawRecord("t.dlq", 0, 0, SENT_MS, "CREATE_TIME", None, value)


def test_a_context_that_is_null_everywhere_failed_when_its_dead_letter_was_written() -> None:
    value = b'{"record":null,"stages":null,"index":null,"exception":null,"task_id":null,"time_of_error":null}'
    prepared = parse_message(message(value), NOW)
    assert (prepared.facts.dialect, prepared.failed_at.timestamp()) == ("kip298", SENT_MS / 1000)


def test_failures_belong_to_their_connector_else_to_their_origin_topic_else_to_their_topic() -> None:
    spring = tuple(
        (name, value) for name, value in letter(1, connector="").headers if name != "__connect.errors.connector.name"
    )
    found = [letter(1), msgspec.structs.replace(letter(1), headers=spring), message(b"?")]
    origins = [parse_message(one, NOW).fingerprint.origin for one in found]
    assert origins == ["usgs-to-sql", "usgs.earthquakes", "t.dlq"]


@given(st.none() | st.binary(max_size=200))
def test_no_message_is_too_strange(value: bytes | None) -> None:
    assert parse_message(message(value), NOW).message.value == value
