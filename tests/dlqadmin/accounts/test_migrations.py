"""Tokens of earlier versions go on, hashed, and their plain table is gone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.accounts.models import ApiToken
from tests.dlqadmin.conftest import person

pytestmark = pytest.mark.sql

KEY = "9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b"


@pytest.fixture
def before(transactional_db: None) -> Iterator[None]:
    """The database as an earlier version left it: an operator and a deactivated user have tokens."""
    ada, gone = person("ada", "operator"), person("gone", "operator")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    call_command("migrate", "accounts", "zero", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE authtoken_token (key varchar(40) NOT NULL PRIMARY KEY, created timestamp NOT NULL,"
            " user_id integer NOT NULL UNIQUE REFERENCES auth_user (id))"
        )
        for user, key in ((ada, KEY), (gone, KEY[::-1])):
            cursor.execute("INSERT INTO authtoken_token VALUES (%s, %s, %s)", [key, timezone.now(), user.pk])
    ContentType.objects.create(app_label="authtoken", model="token")
    yield
    call_command("migrate", verbosity=0)


@pytest.mark.slow
def test_plain_tokens_are_moved_and_forgotten(before: None) -> None:
    call_command("migrate", "accounts", verbosity=0)
    token = ApiToken.objects.get()
    assert (token.name, token.owner.get_username()) == ("moved from before", "ada")
    assert timedelta(days=89) < token.expires_at - timezone.now() <= timedelta(days=90)
    assert KEY not in str(ApiToken.objects.values().get())
    assert "authtoken_token" not in connection.introspection.table_names()
    assert not ContentType.objects.filter(app_label="authtoken").exists()
    answer = APIClient(headers={"Authorization": f"Token {KEY}"}).get("/api/v1/session").json()
    assert (answer["username"], answer["rights"]) == ("ada", ["viewer", "operator", "payload reader"])
