from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from dlqadmin.deadletters.groups.common_values import MISSING, FeatureCounts, Trait, traits
from dlqadmin.deadletters.groups.samples import SampledLetter, newest
from dlqadmin.deadletters.index.column_values import pack_headers
from dlqadmin.deadletters.models import Group
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.teams.reach import EVERYTHING
from engine.record.record import Headers
from tests.dlqadmin.deadletters.letters import ALL, GAP, NOW, NST, index, letter

pytestmark = pytest.mark.sql


def row(value: Any = None, headers: Headers = (), **facts: Any) -> SampledLetter:
    data = value if isinstance(value, bytes) else None if value is None else json.dumps(value).encode()
    known = {
        "cluster": "local",
        "topic": "t.dlq",
        "origin_topic": "t",
        "origin_partition": 0,
        "connector": "c",
        "task_id": "c-0",
        "original": "embedded",
        "key_text": "k",
        "value_size": None if data is None else len(data),
        "value": data,
        "headers": pack_headers(headers),
        "original_headers": None,
    }
    return SampledLetter(**{**known, **facts})


def tally(rows: list[SampledLetter]) -> FeatureCounts:
    found = FeatureCounts(PayloadReader(None, EVERYTHING, ()))
    for one in rows:
        found.add(one)
    return found


def compared(here: list[SampledLetter], rest: list[SampledLetter]) -> list[tuple[str, str, int, int]]:
    return [(one.field, one.value, one.here, one.elsewhere) for one in traits(tally(here), tally(rest))]


@pytest.mark.parametrize(
    ("here", "elsewhere", "field", "value"),
    [
        ({"value": {"gap": None}}, {"value": {"gap": 12}}, "value.gap", "null"),
        ({"value": {"gap": None}}, {"value": {"gap": "null"}}, "value.gap", "null"),
        ({"value": {"mag": {"type": "ml"}}}, {"value": {"mag": {"type": "mb"}}}, "value.mag.type", '"ml"'),
        ({"value": {"a": 1}}, {"value": {"a": 1, "b": 2}}, "value.b", MISSING),
        ({"value": {"n": 12345678901234567}}, {"value": {"n": 1}}, "value.n", "12345678901234567"),
        ({"value": b"{'a"}, {"value": {"a": 1}}, "value", "not a JSON object"),
        ({"value": b"[1]"}, {"value": {"a": 1}}, "value", "not a JSON object"),
        ({"value": None}, {"value": {"a": 1}}, "value", "null"),
        (
            {"headers": (("schema-version", b"7"),)},
            {"headers": (("schema-version", b"6"),)},
            "header schema-version",
            "7",
        ),
        ({"headers": (("trace", None),)}, {}, "header trace", "null"),
        ({"headers": (("h", b"\xff\x00"),)}, {}, "header h", "0xff00"),
        ({"origin_partition": 3}, {}, "origin partition", "3"),
        ({"origin_topic": "orders"}, {}, "origin topic", "orders"),
        ({"connector": "old"}, {}, "connector", "old"),
        ({"task_id": "c-1"}, {}, "task", "c-1"),
        ({"key_text": None}, {}, "key", "null"),
    ],
)
def test_a_value_that_only_this_group_has_is_named(
    here: dict[str, Any], elsewhere: dict[str, Any], field: str, value: str
) -> None:
    assert compared([row(**here)] * 20, [row(**elsewhere)] * 20) == [(field, value, 20, 0)]


def test_what_is_as_frequent_elsewhere_is_not_named() -> None:
    rows = [row({"gap": None, "net": "ak"}, origin_partition=n % 4) for n in range(40)]
    assert compared(rows, rows) == []


def test_a_field_is_named_once_with_its_strongest_value_and_the_strongest_field_first() -> None:
    here = [row({"net": "ak" if n < 18 else "us", "gap": None}) for n in range(20)]
    rest = [row({"net": "ak" if n < 2 else "ci", "gap": 1}) for n in range(20)]
    assert compared(here, rest) == [("value.gap", "null", 20, 0), ("value.net", '"ak"', 18, 2)]


def test_fewer_than_five_records_prove_nothing() -> None:
    assert compared([row({"gap": None})] * 4, [row({"gap": 1})] * 100) == []


def test_where_nothing_else_failed_what_nearly_all_have_is_named() -> None:
    found = compared([row({"gap": None, "n": n}) for n in range(20)], [])
    assert ("value.gap", "null", 20, 0) in found
    assert not [field for field, *_ in found if field == "value.n"]


def test_what_is_not_known_of_a_lost_original_is_not_called_null() -> None:
    lost = row(original="expired", key_text=None)
    assert tally([lost]).features.keys().isdisjoint({("value", "null"), ("key", "null")})


def test_headers_that_tell_of_the_failure_are_left_out() -> None:
    headers = (("__connect.errors.exception.message", b"boom"), ("dlq.replay.item", b"R-1/1"))
    assert not [field for field, _ in tally([row(headers=headers)]).features if field.startswith("header")]


@pytest.mark.slow
@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.text() | st.integers(), lambda x: st.dictionaries(st.text(), x)).map(
        lambda x: json.dumps(x).encode()
    )
)
def test_any_bytes_are_looked_at(value: bytes) -> None:
    found = tally([row(value)] * 5)
    assert all(isinstance(one, Trait) for one in traits(found, FeatureCounts(PayloadReader(None, EVERYTHING, ()))))


@pytest.mark.django_db
def test_a_group_is_compared_with_all_others_of_the_time(as_reader: APIClient) -> None:
    index(
        [letter(n, partition=1, value=b'{"gap": null, "net": "ak"}', headers=(("v", b"2"),)) for n in range(10)]
        + [
            letter(100 + n, message=NST, value=b'{"gap": %d, "net": "ak"}' % n, headers=(("v", b"1"),))
            for n in range(30)
        ]
    )
    group = Group.objects.get(fingerprints__message=GAP)
    answer = as_reader.get(f"/api/v1/groups/{group.pk}/common", ALL).json()
    assert (answer["here"], answer["elsewhere"], answer["partial"]) == (10, 30, False)
    assert {(one["field"], one["value"], one["here"], one["elsewhere"]) for one in answer["traits"]} == {
        ("value.gap", "null", 10, 0),
        ("header v", "2", 10, 0),
        ("origin partition", "1", 10, 0),
    }


@pytest.mark.django_db
def test_values_that_are_too_large_are_not_read(as_reader: APIClient) -> None:
    index([letter(n, value=b'{"gap": null, "rest": "%s"}' % (b"x" * 40_000)) for n in range(6)])
    found = as_reader.get(f"/api/v1/groups/{Group.objects.get().pk}/common", ALL).json()
    assert found["here"] == 6
    assert not [one for one in found["traits"] if one["field"].startswith("value")]


def test_of_what_nothing_is_counted_nothing_is_looked_at() -> None:
    assert list(newest({1: 0}, NOW, NOW, 0.0)) == []
