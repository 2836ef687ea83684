from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from dlqadmin.accounts.models import ApiToken
from dlqadmin.audit.models import AuditEntry


def test_the_command_prints_a_token_that_works(operator: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_token", "operator-1", "--name", "prometheus", "--days", "7")
    secret = capsys.readouterr().out.strip()
    session = APIClient(headers={"Authorization": f"Bearer {secret}"}).get("/api/v1/session").json()
    assert (session["username"], session["rights"]) == ("operator-1", ["viewer"])
    token = ApiToken.objects.get()
    assert (token.name, (token.expires_at - token.created_at).days) == ("prometheus", 7)
    assert AuditEntry.objects.values_list("actor", "action").get() == ("manage.py", "API token created")


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["nobody", "--name", "x"], "No active user is named nobody."),
        (["operator-1", "--name", "x", "--days", "0"], "--days is 0; it must be between 1 and 365"),
        (["operator-1", "--name", "x", "--days", "400"], "--days is 400; it must be between 1 and 365"),
        (["operator-1", "--name", "x", "--role", "approver"], "operator-1 does not have the right approver"),
        (["operator-1", "--name", "x", "--role", "root"], "invalid choice: 'root'"),
        (["operator-1"], "--name"),
    ],
)
def test_what_cannot_be_a_token_is_refused(operator: User, words: list[str], fault: str) -> None:
    with pytest.raises(CommandError, match=fault.replace("(", r"\(")):
        call_command("create_token", *words)
    assert not ApiToken.objects.exists()
