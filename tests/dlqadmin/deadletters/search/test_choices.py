"""OR and parentheses: a compiled query finds the same dead letters as a plain evaluation in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from django.http import QueryDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from dlqadmin.deadletters.index.word_index import write_queued_words
from dlqadmin.deadletters.index.words import words_of
from dlqadmin.deadletters.models import DeadLetter, Group, ReplayMark
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.search import counters
from dlqadmin.deadletters.search.candidates import newest
from dlqadmin.deadletters.search.filter_queries import apply, freeze_groups
from dlqadmin.deadletters.search.filters import parse_filters
from dlqadmin.teams.reach import EVERYTHING
from tests.dlqadmin.deadletters.letters import ALL, BAD_JSON, HOUR_MS, NOW_MS, NST, index, letter, plain

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
LIST = "/api/v1/dead-letters"
READER = PayloadReader(None, EVERYTHING, ())


class Leaf(NamedTuple):
    text: str
    negated: bool = False


class Node(NamedTuple):
    """Alternatives, each of which is a list of leaves and nodes side by side."""

    alternatives: Sequence[Sequence[Any]]
    negated: bool = False


LEAVES = (
    *("topic:orders.dlq", "topic:usgs*,orders.dlq", "stage:TASK_PUT", "stage:VALUE_CONVERTER", "connector:other"),
    *("exception:JSONDecodeError", "is:unreadable", "replay:passed", "replay:none,sent", "key:ak1", "key:ak*"),
    *("offset:>48003", "offset:<48006", "offset:48001..48002,48007", "dlq_partition:1", "message:nst"),
    *("gap", "nst", "line", "consumer_group:billing"),
)
leaves = st.builds(Leaf, st.sampled_from(LEAVES), st.booleans())


def _nodes(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Node]:
    groups = st.lists(st.one_of(leaves, inner), min_size=1, max_size=3)
    return st.builds(Node, st.lists(groups, min_size=1, max_size=3), st.booleans())


nodes = st.recursive(leaves, _nodes, max_leaves=8)
queries = st.builds(Node, st.lists(st.lists(nodes, min_size=1, max_size=3), min_size=1, max_size=3))


def text_of(groups: Sequence[Sequence[Any]]) -> str:
    return " OR ".join(" ".join(_piece(one) for one in group) for group in groups)


def _piece(one: Any) -> str:
    inner = one.text if isinstance(one, Leaf) else f"({text_of(one.alternatives)})"
    return f"-{inner}" if one.negated else inner


def holds(groups: Sequence[Sequence[Any]], row: DeadLetter) -> bool:
    return any(_group_holds(group, row) for group in groups)


def _group_holds(group: Sequence[Any], row: DeadLetter) -> bool:
    """Evaluate what stands side by side: values of one field are alternatives, and words must all occur."""
    wanted: dict[str, list[str]] = {}
    unwanted: dict[str, list[str]] = {}
    for one in group:
        if isinstance(one, Node):
            if holds(one.alternatives, row) == one.negated:
                return False
            continue
        name, _, values = one.text.rpartition(":")
        (unwanted if one.negated else wanted).setdefault(name, []).extend(values.split(","))
    return all(_matches(name, values, row) for name, values in wanted.items()) and not any(
        any(_matches(name, [value], row) for value in values) if name == "" else _matches(name, values, row)
        for name, values in unwanted.items()
    )


def _matches(name: str, values: Sequence[str], row: DeadLetter) -> bool:
    fingerprint = row.fingerprint
    if name == "":
        text = words_of(f"{row.message} {fingerprint.exception_class} {row.key_text} {bytes(row.body.value or b'')!r}")
        of_group = f"{fingerprint.message} {fingerprint.exception_class}".casefold()
        return all(word in text for word in values) or all(word in of_group for word in values)
    if name == "offset":
        at = row.origin_offset
        if at is None:
            return False
        bounds = [
            at > int(value[1:]) if value[0] == ">" else at < int(value[1:]) for value in values if value[0] in "<>"
        ]
        others = [value.partition("..") for value in values if value[0] not in "<>"]
        spans = [int(low) <= at <= int(high or low) for low, _, high in others]
        return any(spans) or (bool(bounds) and all(bounds))
    held = {
        "topic": row.topic,
        "stage": fingerprint.stage,
        "connector": row.connector,
        "exception": fingerprint.exception_class.rpartition(".")[2],
        "is": "readable" if row.readable else "unreadable",
        "replay": row.replay_state,
        "key": row.key_text or "",
        "dlq_partition": str(row.partition),
        "message": " ".join(words_of(row.message)),
        "consumer_group": row.consumer_group or "",
    }[name]
    if name == "message":
        return any(value in held.split() for value in values)
    return any(held.startswith(value[:-1]) if value.endswith("*") else held == value for value in values)


@pytest.fixture
def indexed() -> list[DeadLetter]:
    group = (("kafka_dlt-original-consumer-group", b"billing"),)
    index(
        [letter(n, partition=n % 2, at_ms=NOW_MS - n * HOUR_MS) for n in range(5)]
        + [letter(5 + n, message=NST, key=b"ak%d" % n, connector="other") for n in range(3)]
        + [letter(8, message=BAD_JSON, exception="orjson.JSONDecodeError", stage="VALUE_CONVERTER", key=None)]
        + [letter(9, topic="orders.dlq", key=b"line", value=b'{"gap": 1}')]
        + [plain(0, b"?"), plain(1, b"nst", headers=group)]
    )
    while write_queued_words():
        pass
    for row, state in zip(DeadLetter.objects.order_by("pk")[1::3], ("passed", "sent", "queued"), strict=False):
        ReplayMark.objects.create(dead_letter=row, state=state, failed_at=row.failed_at)
    return list(DeadLetter.objects.select_related("fingerprint", "body", "mark"))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=queries)
def test_a_query_finds_what_a_plain_evaluation_finds(indexed: list[DeadLetter], query: Node) -> None:
    params = QueryDict(mutable=True)
    params.update({**ALL, "q": text_of(query.alternatives)})
    filters = parse_filters(params, READER)
    expected = {row.pk for row in indexed if holds(query.alternatives, row)}
    for meant in (filters, freeze_groups(filters)):
        assert set(apply(meant, DeadLetter.objects.all()).values_list("pk", flat=True)) == expected
    found = newest(filters, (), 100)
    assert ({row[1] for row in found.rows}, len(found.rows)) == (expected, len(expected))
    if filters.counted:
        assert counters.count(filters) == len(expected)


def get(client: APIClient, path: str = LIST, **params: Any) -> Any:
    response = client.get(path, {**ALL, **params})
    assert response.status_code == 200, response.content
    return response.json()


def test_alternatives_of_counted_fields_are_counted_exactly(as_viewer: APIClient, indexed: list[DeadLetter]) -> None:
    query = "(connector:other OR stage:VALUE_CONVERTER) -topic:orders.dlq"
    total = get(as_viewer, q=query)["total"]
    assert total == {"count": 4, "exact": True}
    facets = get(as_viewer, f"{LIST}/facets", q=query)
    assert sum(row["count"] for row in facets["facets"]["stage"]) == 4
    chart = get(as_viewer, f"{LIST}/histogram", q=query)
    assert (sum(row["total"] for row in chart["series"]), chart["exact"]) == (4, True)
    groups = as_viewer.get("/api/v1/groups", {**ALL, "q": query}).json()["results"]
    assert sum(row["events"] for row in groups) == 4


def test_alternatives_that_read_content_need_the_right(as_viewer: APIClient, indexed: list[DeadLetter]) -> None:
    for query in ("stage:A OR key:ak1", "-(stage:A -(gap OR topic:b))", "stage:A OR (topic:b key:a*)"):
        assert as_viewer.get(LIST, {**ALL, "q": query}).status_code == 403


def test_frozen_alternatives_keep_their_groups(indexed: list[DeadLetter]) -> None:
    group = Group.objects.get(fingerprints__stage="VALUE_CONVERTER")
    params = QueryDict(mutable=True)
    params.update({**ALL, "q": f"group:{group.pk} OR connector:other"})
    frozen = freeze_groups(parse_filters(params, READER))
    group.fingerprints.update(group=Group.objects.exclude(pk=group.pk).earliest("pk"))
    assert apply(frozen, DeadLetter.objects.all()).count() == 4
