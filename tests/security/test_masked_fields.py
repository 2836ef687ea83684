"""Masked fields are shown at no door, in no form, to people whom a rule does not except."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dlqadmin.masking.models import MaskingRule
from tests.dlqadmin.conftest import alone, member, person, signed_in, team  # noqa: F401 (every test uses `alone`)
from tests.dlqadmin.exports.reading import body as streamed
from tests.security.operations import bodies, operations
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
def test_no_door_shows_a_masked_field(ids: Ids, operator: User, make: Any) -> None:  # noqa: F811 (the fixture)
    make()
    reader = person("masked", "operator")
    shown = set()
    for client in (signed_in(reader), signed_in(operator)):  # of the second, the drafts and programs are their own
        shown |= {operation for operation, address in _operations(ids) if holds(_asked(client, address))}
    assert shown - OWN_WORDS == set()


@pytest.mark.slow
@pytest.mark.parametrize("make", [by_path, by_expression])
def test_no_write_answers_with_a_masked_field(ids: Ids, operator: User, make: Any) -> None:  # noqa: F811 (the fixture)
    make()
    shown, answered = set(), set()
    for client in (signed_in(person("masked", "operator")), signed_in(operator)):
        for operation, method, address, body in _writes(ids):
            with transaction.atomic():
                data = "" if body is None else json.dumps(body)
                answer: Any = client.generic(method, address, data, "application/json", headers=GZIP)
                content = streamed(answer) if answer.streaming else answer.content
                transaction.set_rollback(True)
            assert answer.status_code < 500 or answer.status_code in (501, 502, 503, 504), (address, answer.content)
            if answer.status_code < 300:
                answered.add(operation)
            if holds(content):
                shown.add(operation)
    assert shown - WROTE_IT == set()
    assert {"fixes_save", "bulk_fixes_preview", "bulk_fixes_create", "selections_create"} <= answered


GZIP = {"Accept-Encoding": "gzip"}
# A reveal is asked for, and audited. The others answer with the person's own words.
WROTE_IT = {"dead_letters_reveal", "exports_destroy"}


def _writes(ids: Ids) -> Iterator[tuple[str, str, str, Any]]:  # noqa: F811 (the fixture)
    """Yield each write with bodies that fit it, the end of the session last."""
    letters, chosen = ids["dead-letters"], ids["selections"][0]
    known = {
        "ids": letters[:2], "dead_letters": letters[:2], "source": letters[0], "selection": chosen, "part": "value",
        "groups": ids["groups"], "into": ids["groups"][0], "replay": ids["replays"][0], "reason": "a reason",
        "path": "", "header": "", "format": "ndjson", "filter": WEEK, "kind": "patch", "topic": "usgs.earthquakes.dlq",
        "program": '[{"op": "replace", "path": "/gap", "value": 0}]', "key": {"base64": None}, "base64": None,
        "value": {"base64": None}, "base_updated_at": None, "json": "{}", "headers": [],
    }  # fmt: skip
    # Bodies that succeed where those of the description alone do not.
    plausible: dict[str, list[Any]] = {"fixes_save": [{}], "selections_create": [{"ids": letters[:2]}]}
    names = {"connectors": "people", "topics": "usgs.earthquakes.dlq", "clusters": "local", "dialects": "none"}
    for name, method, path, operation in sorted(operations(), key=lambda row: row[0] == "session_destroy"):
        if method == "GET" or name == "session_destroy":
            continue
        resource = path.removeprefix(f"{API}/").split("/")[0]
        address = re.sub(r"\{(?!id\})\w+\}", names.get(resource, "0"), path)
        for pk in ids.get(resource, [1]) if "{id}" in address else [0]:
            for body in [*bodies(operation, known), *plausible.get(name, ())]:
                yield name, method, address.replace("{id}", str(pk)), body


# What a person wrote themselves is shown to them.
OWN_WORDS = {"exports_list", "exports_retrieve", "exports_manifest", "fix_templates_list", "saved_searches_list",
             "selections_programs"}  # fmt: skip


def holds(body: bytes) -> bool:
    plain = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    return _holds_secret(plain) or SECRET.encode("utf-16-le") in plain
