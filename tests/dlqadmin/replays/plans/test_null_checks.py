"""A plan says in how many records the field is still null whose column must not be null."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes import drafts
from dlqadmin.replays.fixes.drafts import DraftChange
from dlqadmin.replays.models import Fix
from dlqadmin.replays.plans.null_checks import MAX_COLUMNS
from dlqadmin.replays.plans.null_columns import has_null, leaves_named, null_column
from tests.dlqadmin.deadletters.letters import NOW, index, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.plans.making import check, levels, plan

READS = {"topics": "usgs.earthquakes", "errors.deadletterqueue.topic.name": "usgs.earthquakes.dlq"}
GAP = "NOT NULL constraint failed: earthquakes.gap"
AGAIN = "will fail again, unless the connector or the table changed."
NULL, SET = b'{"properties": {"gap": null, "nst": 1}}', b'{"properties": {"gap": 0, "nst": null}}'


@pytest.fixture(autouse=True)
def connectors(engine: FakeEngine) -> FakeEngine:
    engine.add("usgs-to-sql", READS)
    return engine


def draft(operator: User, offset: int, value: bytes) -> None:
    row = DeadLetter.objects.select_related("body").get(offset=offset)
    drafts.save(row, operator, DraftChange(value=value), None, NOW)


@pytest.mark.sql
@pytest.mark.django_db
def test_nulls_that_are_left_in_drafts_and_originals_are_counted(operator: User) -> None:
    index([letter(n, value=NULL, message=GAP) for n in range(4)])
    draft(operator, 1, SET)
    draft(operator, 2, NULL.replace(b" ", b""))
    replay = plan(operator)
    text = f"gap is null in 3 of 4 records; they {AGAIN}"
    assert (check(replay, "NULL left in gap"), levels(replay)["NULL left in gap"]) == (text, "warn")
    assert replay.plan["to_send"] == 4


@pytest.mark.sql
@pytest.mark.django_db
def test_a_plan_without_such_nulls_says_so_for_each_column(operator: User) -> None:
    nst = 'null value in column "nst" of relation "earthquakes" violates not-null constraint'
    index([letter(1, value=NULL, message=GAP), letter(2, value=SET, message=nst)])
    draft(operator, 1, SET)
    replay = plan(operator)
    assert check(replay, "No NULL left in gap") == "gap is set in 1 record whose error names it."
    assert check(replay, "NULL left in nst") == f"nst is null in 1 of 1 record; it {AGAIN}"
    assert levels(replay)["No NULL left in gap"] == "ok"


@pytest.mark.sql
@pytest.mark.django_db
def test_drafts_without_a_single_field_of_that_name_are_not_checked(operator: User) -> None:
    index([letter(n, value=NULL, message=GAP) for n in range(2)])
    draft(operator, 0, b'{"mag": 1}')
    draft(operator, 1, b"{")
    text = "not checked: their drafts have no single field gap."
    assert check(plan(operator), "NULL in gap not checked") == f"2 of 2 {text}"
    Fix.objects.filter(dead_letter__offset=1).update(value=SET)
    assert check(plan(operator), "No NULL left in gap") == f"gap is set in 1 record whose error names it. 1 of 2 {text}"


@pytest.mark.sql
@pytest.mark.django_db
def test_records_that_are_left_out_or_go_elsewhere_do_not_count(operator: User) -> None:
    index([letter(1, value=NULL, message=GAP), letter(2, value=NULL, message=GAP)])
    DeadLetter.objects.filter(offset=2).update(original="expired")
    assert check(plan(operator), "NULL left in gap").startswith("gap is null in 1 of 1 record")
    assert not [title for title in levels(plan(operator, target_topic="elsewhere")) if "NULL" in title]


@pytest.mark.django_db
def test_dead_letters_that_name_many_columns_make_few_checks(operator: User) -> None:
    index([letter(n, value=NULL, message=f"{GAP}_{n}") for n in range(MAX_COLUMNS + 5)])
    assert len([title for title in levels(plan(operator)) if "NULL" in title]) == MAX_COLUMNS


@pytest.mark.parametrize(
    ("message", "column"),
    [
        ("NOT NULL constraint failed: earthquakes.gap", "gap"),
        ("NOT NULL constraint failed: quakes.properties.gap", "properties.gap"),
        ('null value in column "mag" of relation "q" violates not-null constraint', "mag"),
        ("Column 'price' cannot be null", "price"),
        ("CHECK constraint failed: mag < 10", ""),
        ("value is null", ""),
        ("", ""),
    ],
)
def test_the_column_is_the_one_that_the_error_names(message: str, column: str) -> None:
    assert null_column(message) == column


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b'{"gap": null}', True),
        (b'{"a": [{"gap": 0}]}', False),
        (b'{"gap": null, "a": {"gap": 1}}', None),
        (b'{"gap": {"b": 1}}', None),
        (b'{"other": null}', None),
        (b"not JSON", None),
        (b"[]", None),
        (None, None),
    ],
)
def test_a_field_counts_if_it_is_the_only_one_of_its_name(value: bytes | None, found: bool | None) -> None:
    assert has_null(value, "gap") is found


def test_leaves_are_found_at_any_depth() -> None:
    deep: dict[str, object] = {"gap": 1}
    for _ in range(5000):
        deep = {"a": deep}
    assert leaves_named(deep, "gap") == [1]
