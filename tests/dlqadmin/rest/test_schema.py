"""The API answers as it says it does, whatever it is sent."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from dlqadmin.accounts import body_limits
from dlqadmin.deadletters.models import DeadLetter, Group
from dlqadmin.replays.fixes.bulk_views import NDJSON
from dlqadmin.wsgi import application
from tests.dlqadmin.conftest import token_of
from tests.dlqadmin.deadletters.letters import NST, index, letter

# Signing out would end the run; exports and live events stream, which this client can't follow.
NOT_HERE = ("/session", "/export", "/events", "/live")
ASK_OTHERS = (
    "/api/v1/connector",
    "/api/v1/topics",
    "/api/v1/dialects/try",
)  # these ask the engine and Kafka, which are not there
HYPOTHESIS = settings(deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))

JSON = st.recursive(
    st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
PART = st.fixed_dictionaries(
    {"base64": st.none() | st.just("YQ==") | st.text()}, optional={"text": st.none() | st.text()}
)
LINE = st.fixed_dictionaries(
    {
        "id": st.integers(),
        "digest": st.text(),
        "key": PART,
        "value": PART,
        "headers": st.lists(st.fixed_dictionaries({"name": st.text(), "value": PART}), max_size=2),
    }
)
# The description says no more of the file than that it is bytes.
schemathesis.openapi.media_type(
    NDJSON,
    st.binary() | st.lists(LINE | JSON, max_size=3).map(lambda lines: "\n".join(map(json.dumps, lines)).encode()),
)


@pytest.fixture
def token(operator: User) -> str:
    return token_of(operator)


@pytest.fixture
def known(token: str) -> dict[str, dict[str, Any]]:
    """What stands at addresses with these beginnings, for their parameters."""
    index([letter(1), letter(2, message=NST, value=b"<script>"), letter(3, value=None, key=b"\xff")])
    row = DeadLetter.objects.order_by("pk")[0]
    place = {"topic": row.topic, "partition": row.partition, "offset": row.offset}
    return {
        "/api/v1/dead-letters/": {"id": row.pk, **place},
        "/api/v1/groups/": {"id": Group.objects.order_by("pk")[0].pk},
    }


@pytest.fixture
def one_connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Requests leave the test's transaction open, as they do through Django's own test client."""
    monkeypatch.setattr(body_limits, "close_old_connections", lambda: None)
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


# How many requests each operation gets of a kind, and how many of these ask for something that exists. The databases
# differ in what they take, as NUL in texts and large integers. Thousands of requests are for soak.
@pytest.mark.sql
@pytest.mark.slow
@pytest.mark.usefixtures("one_connection")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("requests", "there"), [(2, 1), pytest.param(20, 4, marks=pytest.mark.soak)])
def test_no_request_made_from_the_description_ends_in_a_500(
    token: str, known: dict[str, dict[str, Any]], requests: int, there: int
) -> None:
    headers = {"Authorization": f"Token {token}"}
    schema = schemathesis.openapi.from_wsgi("/api/schema", application, headers=headers)
    found = list(schema.get_all_operations())
    operations = [one.ok() for one in found if isinstance(one, Ok)]
    assert len(operations) == len(found) > 40

    there_asked: Counter[tuple[str, GenerationMode]] = Counter()

    def check(case: Any, mode: GenerationMode) -> None:
        ask(case)
        exists = next((exists for start, exists in known.items() if case.path.startswith(start)), {})
        asked = (case.operation.label, mode)
        if case.path_parameters and case.path_parameters.keys() <= exists.keys() and there_asked[asked] < there:
            there_asked[asked] += 1
            case.path_parameters = {name: exists[name] for name in case.path_parameters}
            ask(case)

    def ask(case: Any) -> None:
        response = case.call(headers=headers)
        path = f"{case.method} {case.formatted_path} {case.query} {case.body!r}"
        assert response.status_code < 500 or (response.status_code == 503 and case.path.startswith(ASK_OTHERS)), path
        if response.status_code >= 400:
            assert response.headers["content-type"] == ["application/problem+json"], path
        case.validate_response(response, checks=[response_schema_conformance, status_code_conformance])

    within = settings(HYPOTHESIS, max_examples=requests)
    for operation, mode in product(operations, GenerationMode):
        if operation.path.endswith(NOT_HERE):
            continue
        run = within(given(case=operation.as_strategy(generation_mode=mode), mode=st.just(mode))(check))
        with suppress(Unsatisfiable):  # some operations take nothing that could be wrong
            run()


@pytest.mark.slow
def test_the_description_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("spectacular", fail_on_warn=True, validate=True)
    assert "openapi: 3.1.0" in capsys.readouterr().out
