"""Masked fields are shown at no door, in no form, to people whom a rule does not except."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dlqadmin.masking.models import MaskingRule
from tests.dlqadmin.conftest import alone, member, person, signed_in, team  # noqa: F401 (every test uses `alone`)
from tests.security.test_payload_reader import (  # noqa: F401 (fixtures)
    API,
    SECRET,
    WEEK,
    Ids,
    _asked,
    _holds_secret,
    _operations,
    _post,
    ids,
    operator,
    rows,
    someone,
)

pytestmark = pytest.mark.django_db
ADMIN = {"team": None, "role": "admin"}


def rule(kind: str, field: str, show: str = "last four", *topics: str, **more: Any) -> MaskingRule:
    return MaskingRule.objects.create(
        topics=topics or ["*"],
        kind=kind,
        field=field,
        show=show,
        reason="private",
        created_at=timezone.now(),
        changed_at=timezone.now(),
        **more,
    )


def by_path() -> None:
    rule("json path", "$.ssn", "hash")
    rule("json path", "key.$")
    rule("header", "h", "nothing")


def by_expression() -> None:
    rule("regular expression", r"Zx9\w+", "nothing")


@pytest.mark.slow
@pytest.mark.parametrize("make", [by_path, by_expression])
def test_no_door_shows_a_masked_field(ids: Ids, operator: User, make: Any) -> None:  # noqa: F811
    make()
    reader = person("masked", "operator")
    shown = set()
    for client in (signed_in(reader), signed_in(operator)):  # of the second, the drafts and programs are their own
        shown |= {operation for operation, address in _operations(ids) if holds(_asked(client, address))}
    assert shown - OWN_WORDS == set()


# What a person wrote themselves is shown to them.
OWN_WORDS = {"exports_list", "exports_retrieve", "exports_manifest", "fix_templates_list", "saved_searches_list",
             "selections_programs"}  # fmt: skip


def holds(body: bytes) -> bool:
    plain = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    return _holds_secret(plain) or SECRET.encode("utf-16-le") in plain
