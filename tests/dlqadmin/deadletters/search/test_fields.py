"""The table of fields: what each row says of its column, and what readers of files rely on."""

from __future__ import annotations

import orjson
import pytest
from django.db import models
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter, Fingerprint, ReplayMark
from dlqadmin.deadletters.search.fields import EXPORTED, FACETS, FIELDS, FILTER_FIELDS, TERMS, FieldHome, FieldKind
from dlqadmin.exports.columns import FACTS
from tests.dlqadmin.deadletters.letters import ALL, index, index_one, letter, plain
from tests.dlqadmin.exports.reading import body

HOMES: dict[FieldHome, type[models.Model]] = {
    FieldHome.LETTER: DeadLetter,
    FieldHome.COUNTER: DeadLetter,
    FieldHome.FINGERPRINT: Fingerprint,
    FieldHome.MARK: ReplayMark,
}
TYPES = {
    models.BigAutoField: "long",
    models.BigIntegerField: "long",
    models.ForeignKey: "long",
    models.IntegerField: "int",
    models.CharField: "text",
    models.DateTimeField: "time",
    models.BooleanField: "flag",
}


def test_every_field_has_a_name_for_people_and_an_explanation() -> None:
    assert [name for name, field in FIELDS.items() if not (field.label and field.help)] == []


def test_files_have_the_types_of_the_columns() -> None:
    stored = {
        field.export_name: TYPES[type(HOMES[field.home]._meta.get_field(field.column.removesuffix("_id")))]
        if field.home is FieldHome.FINGERPRINT
        else TYPES[type(HOMES[field.home]._meta.get_field(field.column))]
        for field in EXPORTED
    }
    assert {column.name: column.type for column in FACTS} == stored


def test_the_columns_of_files_stay_where_they_are() -> None:
    assert [field.export for field in EXPORTED] == list(range(1, len(EXPORTED) + 1))
    assert [column.name for column in FACTS] == [
        *("id", "cluster", "topic", "partition", "offset", "failed_at", "indexed_at"),
        *("origin_topic", "origin_partition", "origin_offset", "origin_timestamp"),
        *("connector", "task_id", "stage", "exception_class", "message", "group", "attempt"),
        *("dialect", "readable", "original", "replay_state", "consumer_group"),
    ]


def test_facets_have_one_position_each() -> None:
    assert [FILTER_FIELDS[name].facet for name in FACETS] == list(range(1, len(FACETS) + 1))


def test_a_query_can_use_every_filter_but_text() -> None:
    asked = {field.name for field in TERMS.values() if field.kind is not FieldKind.TIME}
    assert FILTER_FIELDS.keys() - asked == {"text"}


def test_the_words_of_a_choice_are_values_of_its_column() -> None:
    states = {value for value, _ in ReplayMark._meta.get_field("state").flatchoices}
    assert set(TERMS["replay"].words.values()) == states
    assert set(TERMS["is"].words.values()) == {"true", "false"}


GROUP = "kafka_dlt-original-consumer-group"


@pytest.mark.django_db
@pytest.mark.sql
@pytest.mark.parametrize(
    ("headers", "group"),
    [
        ((), None),
        (((GROUP, None),), None),
        (((GROUP, b""),), None),
        (((GROUP, b"orders"), (GROUP, b"billing")), "billing"),
        (((GROUP, b"\xff\0"),), "\ufffd\ufffd"),
        (((GROUP, b"g" * 300),), "g" * 255),
    ],
)
def test_the_consumer_group_is_that_of_the_last_header(
    headers: tuple[tuple[str, bytes | None], ...], group: str | None
) -> None:
    assert index_one(plain(0, b"?", headers=headers)).consumer_group == group


@pytest.mark.django_db
@pytest.mark.sql
def test_headers_of_the_failed_record_name_no_group() -> None:
    assert index_one(letter(0, headers=((GROUP, b"orders"),))).consumer_group is None


@pytest.mark.django_db
@pytest.mark.sql
@pytest.mark.parametrize(
    ("asked", "offsets"),
    [
        ({"consumer_group": "billing"}, [1]),
        ({"not_consumer_group": "billing"}, [0, 2]),
        ({"q": "consumer_group:billing,orders"}, [1, 2]),
        ({"q": "-consumer_group:orders"}, [0, 1]),
    ],
)
def test_dead_letters_are_found_and_exported_by_consumer_group(
    as_operator: APIClient, asked: dict[str, str], offsets: list[int]
) -> None:
    groups = {0: None, 1: "billing", 2: "orders"}
    index([plain(n, b"?", headers=((GROUP, group.encode()),) if group else ()) for n, group in groups.items()])
    listed = as_operator.get("/api/v1/dead-letters", {**ALL, **asked}).json()["results"]
    assert sorted(row["offset"] for row in listed) == offsets
    lines = body(as_operator.get("/api/v1/dead-letters/export", {**ALL, **asked})).splitlines()
    assert {row["offset"]: row["consumer_group"] for row in map(orjson.loads, lines)} == {
        offset: groups[offset] for offset in offsets
    }
    for row in listed:
        facts = as_operator.get(f"/api/v1/dead-letters/{row['id']}").json()["facts"]
        group = groups[row["offset"]]
        assert facts == (
            [{"name": "consumer_group", "label": "Consumer group", "value": group}] if group is not None else []
        )
