"""The API answers as it says it does, whatever it is sent."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from rest_framework.authtoken.models import Token
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import response_schema_conformance

from dlqadmin.wsgi import application

# Signing out would end the run; exports and live events stream, which this client can't follow.
NOT_HERE = ("/session", "/export", "/events")
QUICK = settings(
    max_examples=6, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@pytest.fixture
def token(operator: User) -> str:
    return Token.objects.create(user=operator).key


@pytest.fixture
def one_connection() -> Iterator[None]:
    """Requests leave the test's transaction open, as they do through Django's own test client."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.usefixtures("one_connection")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_no_request_made_from_the_description_ends_in_a_500(token: str, mode: GenerationMode) -> None:
    headers = {"Authorization": f"Token {token}"}
    schema = schemathesis.openapi.from_wsgi("/api/schema", application, headers=headers)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 40

    def check(case: Any) -> None:
        response = case.call(headers=headers)
        path = f"{case.method} {case.formatted_path} {case.query} {case.body!r}"
        assert response.status_code < 500 or (response.status_code == 503 and "/connectors/" in case.path), path
        if response.status_code >= 400:
            assert response.headers["content-type"] == ["application/problem+json"], path
        case.validate_response(response, checks=[response_schema_conformance])

    for operation in operations:
        if operation.path.endswith(NOT_HERE):
            continue
        run = QUICK(given(case=operation.as_strategy(generation_mode=mode))(check))
        with suppress(Unsatisfiable):  # some operations take nothing that could be wrong
            run()


def test_the_description_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("spectacular", fail_on_warn=True, validate=True)
    assert "openapi: 3.1.0" in capsys.readouterr().out
