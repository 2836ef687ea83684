"""Members and headers whose names need quotes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from dlqadmin.deadletters.search.byte_search import SearchedBytes, probes
from dlqadmin.deadletters.search.member_paths import read_path, write_member, write_path
from dlqadmin.deadletters.search.query_parser import parse, write
from tests.dlqadmin.deadletters.letters import ALL, index, letter

FILM = {"US Gross": "n/a", "a.b": {"x:y": 1, 'say "hi"': 2, "größe": 3}, "plain": {"deep": 4}}
STEP = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@given(st.lists(STEP, min_size=1, max_size=4), st.sampled_from(["n/a", "1"]))
@example(["US Gross"], "n/a")
@example(['"', "\\", "."], "1")
@example([""], "1")
def test_every_member_has_a_clause_that_finds_it(steps: list[str], value: str) -> None:
    name = write_member(steps)
    assert read_path(name) == tuple(steps)
    assert write_path(name) == name
    [placed] = parse(f"{name}:{value}").clauses
    assert (placed.clause.field, write([placed.clause])) == (name, f"{name}:{value}")
    document: Any = value
    for step in reversed(steps):
        document = {step: document}
    (probe,) = probes({name: (f'"{value}"',)}, {})
    assert probe.passes(SearchedBytes(json.dumps(document).encode(), []))


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ('value."gap"', "value.gap"),
        ("value.properties.gap", "value.properties.gap"),
        ('value."a.b"."x:y"', 'value."a.b"."x:y"'),
        ('header."trace id"', 'header."trace id"'),
        ('header."a.b"', "header.a.b"),
        ("header.a.b", "header.a.b"),
    ],
)
def test_a_path_has_one_spelling(typed: str, name: str) -> None:
    assert write_path(typed) == name


@pytest.fixture
def films() -> None:
    index([letter(n, value=json.dumps(FILM).encode(), headers=(("trace id", b"t1"),)) for n in range(3)])


def get(client: APIClient, query: str, path: str = "dead-letters", **params: str) -> Any:
    answer = client.get(f"/api/v1/{path}", {**ALL, "q": query, **params})
    return {"status": answer.status_code, **answer.json()}


@pytest.mark.django_db
@pytest.mark.sql
@pytest.mark.parametrize(
    "query",
    [
        'value."US Gross":"n/a"',
        'value."US Gross":n*',
        'value."a.b"."x:y":1',
        'value."a.b"."say \\"hi\\"":2',
        'value."a.b".größe:3',
        'header."trace id":t1',
        'stage:TASK_PUT value."US Gross":"n/a","none"',
    ],
)
def test_records_are_found_by_members_with_any_name(as_operator: APIClient, films: None, query: str) -> None:
    answer = get(as_operator, query)
    assert (len(answer["results"]), answer["searched"], answer["absent"]) == (3, 3, [])


@pytest.mark.django_db
@pytest.mark.sql
@pytest.mark.parametrize(
    ("query", "absent"),
    [
        ("value.gross:1", [{"name": "value.gross", "similar": None}]),
        ('value."US Gros":1', [{"name": 'value."US Gros"', "similar": 'value."US Gross"'}]),
        ("value.deep:4", [{"name": "value.deep", "similar": "value.plain.deep"}]),
        ("header.trace-id:t1", [{"name": "header.trace-id", "similar": None}]),
        ("-value.plan.deep:4", [{"name": "value.plan.deep", "similar": "value.plain.deep"}]),
        ("value.plain.deep:5", []),
    ],
)
def test_a_member_that_no_record_has_is_told(
    as_operator: APIClient, films: None, query: str, absent: list[dict[str, str]]
) -> None:
    assert get(as_operator, query)["absent"] == absent


@pytest.mark.django_db
@pytest.mark.sql
@pytest.mark.parametrize("typed", ["value.us", 'value."US', 'value."us gr'])
def test_completions_quote_names_that_need_it(as_operator: APIClient, films: None, typed: str) -> None:
    answer = as_operator.get("/api/v1/dead-letters/complete", {"q": typed}).json()
    assert [item["text"] for item in answer["items"]] == ['value."US Gross":']
    assert (answer["start"], answer["end"]) == (0, len(typed))


@pytest.mark.django_db
@pytest.mark.sql
def test_common_values_name_members_as_queries_do(as_operator: APIClient) -> None:
    index([letter(n, value=json.dumps(FILM).encode()) for n in range(8)])
    index([letter(20 + n, message="other") for n in range(8)])
    [group] = [row for row in get(as_operator, "", "groups")["results"] if "gap" in row["title"]]
    traits = as_operator.get(f"/api/v1/groups/{group['id']}/common", ALL).json()["traits"]
    assert 'value."US Gross"' in {trait["field"] for trait in traits}


def test_a_quote_in_the_wrong_place_is_told(as_operator: APIClient, db: None) -> None:
    answer = get(as_operator, 'value."a"b:1')
    assert answer["status"] == 400
    assert "Quote whole names between dots" in answer["errors"][0]["message"]
