"""A source's failed record, corrected, through the stages that were left, to the topic that it would have gone to."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from msgspec.structs import replace

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import Fix, Rehearsal
from dlqadmin.replays.rehearsals import corrected_source_records
from dlqadmin.replays.rehearsals.rehearsal_jobs import create, perform
from engine.record.context import ErrorContext
from engine.record.error_context_json import encode
from engine.record.record import RawRecord, Record
from engine.record.stage import Stage, StageType
from tests.dlqadmin.deadletters.letters import NOW, NOW_MS, index_one
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import check, plan, sends

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
TRANSFORMS = "org.apache.kafka.connect.transforms"
STRINGS, JSON = "org.apache.kafka.connect.storage.StringConverter", "org.apache.kafka.connect.json.JsonConverter"
HEADERS = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
CONFIG = {
    "connector.class": "FileStreamSource", "file": "/data/people", "topic": "people",
    "value.converter.schemas.enable": "false",
    "transforms": "hoist,cast,route",
    "transforms.hoist.type": f"{TRANSFORMS}.HoistField$Value", "transforms.hoist.field": "age",
    "transforms.cast.type": f"{TRANSFORMS}.Cast$Value", "transforms.cast.spec": "age:int32",
    "transforms.route.type": f"{TRANSFORMS}.RegexRouter",
    "transforms.route.regex": "(.*)", "transforms.route.replacement": "clean-$1",
}  # fmt: skip
STAGES = (
    Stage(StageType.TASK_POLL, "FileStreamSource"),
    Stage(StageType.TRANSFORMATION, f"{TRANSFORMS}.HoistField$Value"),
    Stage(StageType.TRANSFORMATION, f"{TRANSFORMS}.Cast$Value"),
    Stage(StageType.TRANSFORMATION, f"{TRANSFORMS}.RegexRouter"),
    Stage(StageType.KEY_CONVERTER, STRINGS),
    Stage(StageType.VALUE_CONVERTER, JSON),
    Stage(StageType.HEADER_CONVERTER, HEADERS),
    Stage(StageType.KAFKA_PRODUCE, "KafkaProducer"),
)
READ = Record(
    "people", None, None, None, {"age": "old"}, source_partition={"file": "/data/people"}, source_offset={"position": 7}
)


def dead(*, messages: bool = True, stages: tuple[Stage, ...] = STAGES) -> DeadLetter:
    """What the cast of a source refused."""
    context = ErrorContext(
        READ, None, stages, 2, "engine.errors.TransformError: no", "engine.errors.TransformError", "no",
        "engine.errors.TransformError", "no", 0, "people-0", "people", NOW_MS, NOW_MS, 0,
    )  # fmt: skip
    value = encode(context, include_messages=messages)
    return index_one(RawRecord("people.dlq", 0, 3, NOW_MS, "CREATE_TIME", None, value))


def corrected(author: User, row: DeadLetter, value: str | None = '{"age": "41"}') -> Rehearsal:
    made = create(author, {"source": row.pk, "value": value}, NOW)
    perform(made.pk)
    made.refresh_from_db()
    return made


def test_the_corrected_record_goes_on_where_it_failed(engine: FakeEngine, operator: User) -> None:
    engine.add("people", CONFIG)
    made = corrected(operator, dead())
    assert made.trouble == ""
    (result,) = made.result
    assert [stage["state"] for stage in result["stages"]] == ["before"] * 2 + ["ok"] * 5 + ["not_rehearsable"]
    assert result["text"].startswith("TRANSFORMATION 'cast' failed before and passes now.")
    assert result["produced"]["topic"] == "clean-people"
    assert result["produced"]["through"] == (
        "through the remaining stages of people: transforms cast, route; "
        "StringConverter, JsonConverter, SimpleHeaderConverter"
    )
    assert bytes(Fix.objects.get().value or b"") == b'{"age":41}'


def test_the_plan_sends_what_the_source_would_have_written_and_says_so(engine: FakeEngine, operator: User) -> None:
    engine.add("people", CONFIG)
    corrected(operator, dead())
    replay = plan(operator, cluster=FakeCluster(**{"clean-people": 3}))
    assert (replay.plan["to_send"], replay.plan["runnable"]) == (1, True)
    assert check(replay, "Records of a source").startswith("1 record through the remaining stages of people: ")
    item = replay.items.get()
    assert (item.target_topic, item.target_partition, item.edited) == ("clean-people", None, True)
    assert [message.value for message in sends(replay)] == [b'{"age":41}']


def test_a_draft_that_came_about_otherwise_is_not_sent(engine: FakeEngine, operator: User, viewer: User) -> None:
    engine.add("people", CONFIG)
    row = dead()
    corrected(operator, row)
    assert corrected_source_records.written(viewer, [row.pk]) == {}
    Fix.objects.update(digest="another")
    assert corrected_source_records.written(operator, [row.pk]) == {}


def test_without_a_draft_it_is_not_replayable(operator: User) -> None:
    dead()
    replay = plan(operator)
    assert (replay.plan["to_send"], replay.items.get().reason) == (0, "unknown_bytes")


def test_a_correction_that_still_fails_makes_no_draft(engine: FakeEngine, operator: User) -> None:
    engine.add("people", CONFIG)
    (result,) = corrected(operator, dead(), '{"age": "young"}').result
    assert (result["verdict"], result["produced"], Fix.objects.count()) == ("still_fails", None, 0)


@pytest.mark.parametrize(
    ("config", "letter", "text"),
    [
        ({}, {"messages": False}, "The dead letter does not contain the record"),
        ({"transforms": "hoist,cast"}, {}, "people can't be rehearsed: "),
        ({"transforms": "cast,hoist,route"}, {}, "The stages of people changed since the record failed"),
    ],
)
def test_what_cannot_be_known_is_said_in_one_sentence(
    engine: FakeEngine, operator: User, config: dict[str, str], letter: dict[str, Any], text: str
) -> None:
    engine.add("people", CONFIG | config)
    assert corrected(operator, dead(**letter)).trouble.startswith(text)


def test_a_converter_that_writes_schemas_is_not_trusted_with_a_record_that_has_lost_its_own(
    engine: FakeEngine, operator: User
) -> None:
    engine.add("people", {**CONFIG, "value.converter.schemas.enable": "true"})
    (result,) = corrected(operator, dead()).result
    assert (result["produced"], Fix.objects.count()) == (None, 0)
    assert "writes the record's schema, which its dead letter does not contain" in result["text"]


def test_a_record_of_kafka_is_no_record_of_a_source(engine: FakeEngine, operator: User) -> None:
    engine.add("people", CONFIG)
    row = dead(stages=(*STAGES[:2], replace(STAGES[2], class_name="x"), *STAGES[3:]))
    assert corrected(operator, row).trouble.startswith("The stages of people changed")
