"""The log of a replay, and the stream of what happens to it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.test import RequestFactory
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.test import APIClient

from dlqadmin.accounts.event_responses import read_for
from dlqadmin.accounts.models import ApiToken
from dlqadmin.replays.jobs.views import shared_summary
from dlqadmin.teams.reach import EVERYTHING
from tests.dlqadmin.conftest import token_of
from tests.dlqadmin.replays.asking import API, get, planned

pytestmark = pytest.mark.django_db


def test_the_log_tells_that_nothing_was_written(as_operator: APIClient, indexed: None) -> None:
    rows = get(as_operator, f"replays/{planned(as_operator)['id']}/log")["results"]
    assert [row["text"] for row in rows] == ["checked the plan: 10 to send, 0 left out; nothing was written"]


def test_live_events_are_a_stream_of_the_replay(as_operator: APIClient, indexed: None) -> None:
    response: object = as_operator.get(f"{API}/replays/{planned(as_operator)['id']}/events")
    assert isinstance(response, StreamingHttpResponse)
    assert (response["Content-Type"], response.is_async) == ("text/event-stream", True)


def _idle(client: APIClient) -> None:
    session = client.session
    session["active_at"] -= 1801
    session.save()


@pytest.mark.parametrize(
    "leave",
    [
        lambda client, person: client.logout(),
        lambda client, person: _idle(client),
        lambda client, person: person.groups.clear(),
        lambda client, person: User.objects.update(is_active=False),
        lambda client, person: person.delete(),
    ],
)
def test_live_events_end_for_who_may_not_read_any_more(
    as_operator: APIClient, operator: User, indexed: None, leave: Callable[[APIClient, User], object]
) -> None:
    pk = planned(as_operator)["id"]
    request = Request(RequestFactory().get("/"))
    request._request.session = as_operator.session
    assert read_for(request, lambda: shared_summary((pk, EVERYTHING))) is not None
    leave(as_operator, operator)
    assert read_for(request, lambda: shared_summary((pk, EVERYTHING))) is None


@pytest.mark.parametrize(
    "end",
    [
        lambda tokens: tokens.delete(),
        lambda tokens: tokens.update(end="revoked"),
        lambda tokens: tokens.update(expires_at=timezone.now()),
        lambda tokens: tokens.update(scopes=[]),
    ],
)
def test_live_events_end_with_their_token(
    as_operator: APIClient, operator: User, indexed: None, end: Callable[[QuerySet[ApiToken]], object]
) -> None:
    pk = planned(as_operator)["id"]
    request = Request(RequestFactory().get("/"))
    token_of(operator)
    request.auth = ApiToken.objects.get()
    assert read_for(request, lambda: shared_summary((pk, EVERYTHING))) is not None
    end(ApiToken.objects.all())
    assert read_for(request, lambda: shared_summary((pk, EVERYTHING))) is None
