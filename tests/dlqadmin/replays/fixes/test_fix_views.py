"""What opening the fix screen reads, and suggests, over REST."""

from __future__ import annotations

import base64

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from msgspec.structs import replace
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes.drafts import DraftChange, save
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.conftest import person, signed_in
from tests.dlqadmin.deadletters.letters import index_one, letter
from tests.dlqadmin.replays.fixes.making import API, NULL

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


def test_opening_a_fix_reads_no_bytes_but_the_records_own_and_ones_own_draft(
    as_operator: APIClient, operator: User, indexed: list[int]
) -> None:
    url = f"{API}/dead-letters/{indexed[0]}/fix"
    for client in (as_operator, signed_in(person("operator-2", "operator"))):
        assert client.put(url, {"key": {"base64": None}}).status_code == 200
    with CaptureQueriesContext(connection) as queries:
        answer = as_operator.get(url).json()
    assert (answer["draft"]["key"]["base64"], [one["author"] for one in answer["others"]]) == (None, ["operator-2"])
    sql = [query["sql"] for query in queries.captured_queries]
    (drafts,) = [text for text in sql if '"replays_fix"."value"' in text]
    assert f'"replays_fix"."author_id" = {operator.pk}' in drafts
    for column in ('"deadletters_deadletterbody"."context"', '"replays_replayitem"."history"'):
        assert not [text for text in sql if column in text]


@pytest.mark.django_db(transaction=True)
def test_a_record_that_is_removed_while_its_draft_is_saved_is_a_conflict(operator: User) -> None:
    row = index_one(letter(1))
    assert row.body.value
    DeadLetter.objects.all().delete()
    with pytest.raises(StateConflict, match="was deleted"):
        save(row, operator, DraftChange(value=b"mine"), None, timezone.now())


def test_suggestions_come_with_their_reasons(as_reader: APIClient, indexed: list[int]) -> None:
    answer = as_reader.get(f"{API}/dead-letters/{indexed[0]}/suggestions").json()["results"]
    assert answer[0]["title"] == "Set /gap to 0"
    assert base64.b64decode(answer[0]["value"]["base64"]) == NULL.replace(b"null", b"0")


def test_suggestions_read_the_causes_of_the_error(as_reader: APIClient) -> None:
    message = letter(1, value=NULL, message="sorry")
    causes = (b"x.Failed: sorry", b"Caused by: y.Null: column 'gap' cannot be null", b"Caused by: z.Root: no more")
    trace = b"".join(line + b"\n\tat a.b(c:1)\n" for line in causes)
    headers = tuple((name, trace if name.endswith("stacktrace") else value) for name, value in message.headers)
    row = index_one(replace(message, headers=headers))
    answer = as_reader.get(f"{API}/dead-letters/{row.pk}/suggestions").json()["results"]
    assert [one["title"] for one in answer] == ["Set /gap to 0", 'Set /gap to ""']
