from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from dlqadmin.replays.models import Selection
from dlqadmin.rest.idempotency import RequestKey, made_by, once
from dlqadmin.rest.problems import ParameterError, StateConflict
from tests.dlqadmin.deadletters.letters import NOW


def asked(body: Any, key: str | None = "once", pk: int = 1) -> RequestKey:
    headers = {} if key is None else {"Idempotency-Key": key}
    request = Request(APIRequestFactory().post("/", body, headers=headers), parsers=[JSONParser()])
    request.user = User(pk=pk)
    return once(request)


def test_the_order_of_a_body_s_names_makes_no_other_request() -> None:
    assert asked({"a": 1, "b": 2**70}) == asked({"b": 2**70, "a": 1})


def test_each_person_has_keys_of_their_own_and_each_body_a_digest() -> None:
    assert asked({}).key != asked({}, pk=2).key
    assert asked({}).digest != asked({"a": 1}).digest


def test_without_a_key_nothing_is_remembered() -> None:
    assert asked({"a": 1}, key=None) == RequestKey()
    assert made_by(Selection, RequestKey()) is None


@pytest.mark.parametrize("key", ["k" * 65, "\t", "é"])
def test_a_key_is_short_and_printable(key: str) -> None:
    with pytest.raises(ParameterError):
        asked({}, key=key)


@pytest.mark.django_db
def test_a_key_answers_what_the_same_body_made_and_no_other_one() -> None:
    first = asked({"a": 1})
    made = Selection.objects.create(
        created_at=NOW, filters={}, title="some", watermark=1, count=1, digest="d",
        idempotency_key=first.key, request_digest=first.digest,
    )  # fmt: skip
    assert made_by(Selection, asked({"a": 1})) == made
    with pytest.raises(StateConflict):
        made_by(Selection, asked({"a": 2}))
