from __future__ import annotations

import base64
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.dialects.mapping import MappedFact, Mapping, problems_of, read
from engine.dialects.mapping_proposals import propose
from engine.record.record import RawRecord

TRACE = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: no card'


def letters(values: list[Any], *headers: tuple[str, bytes]) -> list[RawRecord]:
    return [
        RawRecord("payments-errors", 0, n, 1000, "CREATE_TIME", b"k", json.dumps(value).encode(), headers)
        for n, value in enumerate(values)
    ]


def envelope(n: int) -> dict[str, Any]:
    return {
        "error": "ValueError",
        "reason": f"card {n} must not be empty",
        "src": {"topic": "payments.captured", "partition": n % 3, "offset": 918_221 + n},
        "payload_b64": base64.b64encode(b'{"id": %d}' % n).decode(),
        "tries": 3,
        "at": "2026-11-23T09:18:41Z",
        "stack": TRACE,
    }


def proposed(found: list[RawRecord], topics: tuple[str, ...] = ()) -> dict[str, str]:
    return {proposal.fact: proposal.source.label for proposal in propose(found, topics)}


def test_the_members_of_a_python_envelope_are_proposed() -> None:
    assert proposed(letters([envelope(n) for n in range(20)], ("x-consumer-group", b"capture"))) == {
        "trace": "$.stack",
        "exception": "$.error",
        "origin_topic": "$.src.topic",
        "origin_partition": "$.src.partition",
        "origin_offset": "$.src.offset",
        "attempts": "$.tries",
        "failed_at": "$.at",
        "consumer_group": "header x-consumer-group",
        "message": "$.reason",
        "value": "$.payload_b64",
    }


def test_headers_of_another_team_are_proposed() -> None:
    headers = (
        ("error_reason", b"no card"),
        ("sourceTopic", b"orders"),
        ("sourceOffset", (7).to_bytes(8)),
        ("retryCount", b"2"),
        ("failedAt", b"1795425521000"),
    )
    found = {proposal.fact: proposal for proposal in propose(letters([{"id": 5}], *headers))}
    assert {fact: one.source.header for fact, one in found.items()} == {
        "message": "error_reason",
        "origin_topic": "sourceTopic",
        "origin_offset": "sourceOffset",
        "attempts": "retryCount",
        "failed_at": "failedAt",
    }
    assert found["origin_offset"].source.read_as == "int64"
    assert found["failed_at"].source.read_as == "epoch-ms"


def test_the_share_counts_letters_that_have_the_source_in_its_form() -> None:
    values = [envelope(n) for n in range(98)] + [{"reason": None}, {}]
    reason = next(one for one in propose(letters(values)) if one.fact == "message")
    assert (reason.share, reason.example) == (0.98, "card 0 must not be empty")


def test_a_topic_must_exist_where_topics_are_known() -> None:
    found = letters([envelope(1)])
    assert proposed(found, ("payments.captured",))["origin_topic"] == "$.src.topic"
    assert "origin_topic" not in proposed(found, ("orders",))


def test_nothing_is_proposed_for_records_without_errors() -> None:
    assert proposed(letters([{"id": n, "amount": 1.5, "city": "Köln"} for n in range(10)])) == {}


def test_a_proposed_mapping_reads_its_letters() -> None:
    found = letters([envelope(n) for n in range(20)])
    mapping = Mapping("mine", ("*",), {one.fact: MappedFact((one.source,)) for one in propose(found)})
    assert problems_of(mapping) == []
    facts = [read(mapping, one).facts for one in found]
    assert [one.value for one in facts if one] == [b'{"id": %d}' % n for n in range(20)]


def test_a_member_that_nests_deeper_than_json_is_written_is_no_source() -> None:
    deep = {"payload": json.loads('{"a":' * 300 + "1" + "}" * 300)}
    assert proposed(letters([envelope(1) | deep]))["exception"] == proposed(letters([envelope(1)]))["exception"]


@given(st.lists(st.binary(max_size=60), max_size=5), st.lists(st.tuples(st.text(max_size=12), st.binary(max_size=20))))
def test_no_letter_makes_the_proposals_fail(values: list[bytes], headers: list[tuple[str, bytes]]) -> None:
    propose([RawRecord("t", 0, 0, 0, "CREATE_TIME", None, value, tuple(headers)) for value in values])
