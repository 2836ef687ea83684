"""A request costs the dashboard memory, disk and time only in proportion to what its sender may ask for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from pytest_django import Settings
from rest_framework import serializers
from rest_framework.test import APIClient

from dlqadmin.accounts.body_limits import ANONYMOUS_BYTES, DEFAULT_BYTES, MB, LimitedAsgi, LimitedWsgi, limit_bytes
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.search.completions import complete
from dlqadmin.replays.fixes import file_fixes, json_patch
from dlqadmin.replays.fixes.errors import RecordUnusable
from dlqadmin.rest.fields import BoundedListField
from dlqadmin.teams.reach import NOTHING
from engine.config.masking import PROVIDED, mask_value
from tests.dlqadmin.conftest import alone, anonymous, as_operator, operator, person, token_of

IMPORT = "/api/v1/bulk-fixes/import"
SELECTIONS = "/api/v1/selections"
CHUNK = bytes(32 * 1024)


class App:
    """An ASGI application that reads its body as Django does, and answers 200."""

    def __init__(self) -> None:
        self.read_bytes = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            self.read_bytes += len(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


class Answer:
    """The answer that a client of LimitedAsgi sees, and the size of the body that was taken from it."""

    def __init__(self, path: str, size: int, *, declared: bool, headers: Mapping[str, str] = {}) -> None:
        self.app, self.taken_bytes, self.messages = App(), 0, list[Mapping[str, Any]]()
        rows = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        if declared:
            rows.append((b"content-length", str(size).encode()))
        scope = {
            "type": "http", "http_version": "1.1", "method": "POST", "path": path, "root_path": "", "scheme": "http",
            "query_string": b"", "headers": rows, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000),
        }  # fmt: skip
        chunks = self._chunks(size)

        async def receive() -> dict[str, Any]:
            return next(chunks)

        async def send(message: Mapping[str, Any]) -> None:
            self.messages.append(message)

        async_to_sync(LimitedAsgi(self.app))(scope, receive, send)
        self.status = self.messages[0]["status"]
        self.headers = dict(self.messages[0]["headers"])

    def _chunks(self, size: int) -> Iterator[dict[str, Any]]:
        while self.taken_bytes < size:
            data = CHUNK[: size - self.taken_bytes]
            self.taken_bytes += len(data)
            yield {"type": "http.request", "body": data, "more_body": self.taken_bytes < size}

    @property
    def problem(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.messages[1]["body"])
        return found


__all__ = ["alone", "anonymous", "as_operator", "operator"]  # fixtures


@pytest.fixture
def session(operator: User) -> dict[str, str]:
    client = Client()
    client.force_login(operator)
    return {"Cookie": f"{django_settings.SESSION_COOKIE_NAME}={client.cookies['sessionid'].value}"}


@pytest.fixture
def token(operator: User) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_of(operator, 'viewer', 'operator')}"}


@pytest.mark.slow
def test_a_body_that_is_declared_too_large_is_refused_unread(session: dict[str, str]) -> None:
    answer = Answer(SELECTIONS, DEFAULT_BYTES + 1, declared=True, headers=session)
    assert (answer.status, answer.taken_bytes) == (413, 0)
    assert answer.headers[b"content-type"] == b"application/problem+json"
    assert answer.problem["detail"] == "The body is larger than 1 MB, the limit for this request."


def test_a_body_of_unknown_length_is_refused_where_it_becomes_too_large(session: dict[str, str]) -> None:
    answer = Answer(SELECTIONS, 50 * MB, declared=False, headers=session)
    assert answer.status == 413
    assert answer.taken_bytes <= DEFAULT_BYTES + len(CHUNK)
    assert answer.app.read_bytes <= DEFAULT_BYTES


@pytest.mark.django_db
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(
    "headers",
    [{}, {"Cookie": "sessionid=abcdefghijklmnopqrstuvwxyz012345"}, {"Authorization": "Token abc"}, {"Cookie": "x=y"}],
)
def test_nobody_sends_more_than_a_little_without_signing_in(headers: dict[str, str], declared: bool) -> None:
    answer = Answer(IMPORT, 40 * MB, declared=declared, headers=headers)
    assert answer.status == 413
    assert answer.app.read_bytes <= ANONYMOUS_BYTES
    assert answer.problem["detail"] == "Sign in to send more than 64 KB."


def test_what_anybody_may_send_is_never_put_on_disk() -> None:
    assert ANONYMOUS_BYTES < django_settings.FILE_UPLOAD_MAX_MEMORY_SIZE


@pytest.mark.parametrize("declared", [True, False])
def test_those_who_signed_in_upload_files(session: dict[str, str], declared: bool) -> None:
    answer = Answer(IMPORT, 3 * MB, declared=declared, headers=session)
    assert (answer.status, answer.app.read_bytes) == (200, 3 * MB)


def test_an_ended_session_uploads_nothing(session: dict[str, str], settings: Settings) -> None:
    settings.SESSION_ABSOLUTE_HOURS = 0
    answer = Answer(IMPORT, 3 * MB, declared=True, headers=session)
    assert (answer.status, answer.problem["detail"]) == (413, "Sign in to send more than 64 KB.")


def test_without_a_role_nobody_uploads_files(db: None) -> None:
    client = Client()
    client.force_login(person("nobody-1", None))
    cookie = {"Cookie": f"{django_settings.SESSION_COOKIE_NAME}={client.cookies['sessionid'].value}"}
    assert Answer(IMPORT, 3 * MB, declared=True, headers=cookie).status == 413
    assert Answer(IMPORT, DEFAULT_BYTES, declared=True, headers=cookie).status == 200


def test_a_token_is_a_way_to_sign_in(token: dict[str, str]) -> None:
    assert Answer(IMPORT, 3 * MB, declared=True, headers=token).status == 200


def test_small_bodies_of_anybody_are_read() -> None:
    answer = Answer("/api/v1/session", 1000, declared=True)
    assert (answer.status, answer.app.read_bytes) == (200, 1000)


@pytest.mark.django_db
def test_a_wsgi_server_refuses_the_same() -> None:
    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
        raise AssertionError("it must not be reached")

    told: list[str] = []
    environ = {
        "REQUEST_METHOD": "POST", "PATH_INFO": IMPORT, "CONTENT_LENGTH": str(MB), "wsgi.input": BytesIO(),
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "wsgi.url_scheme": "http",
    }  # fmt: skip
    body = b"".join(LimitedWsgi(app)(environ, lambda status, headers: told.append(status)))
    assert told == ["413 Request Entity Too Large"]
    assert json.loads(body)["status"] == 413


def test_files_may_be_as_large_as_their_readers_take() -> None:
    assert limit_bytes("POST", IMPORT) == file_fixes.MAX_BYTES
    assert limit_bytes("GET", IMPORT) == limit_bytes("POST", f"{IMPORT}/x") == DEFAULT_BYTES


def test_a_list_is_counted_before_its_items_are_looked_at() -> None:
    class Never(serializers.IntegerField):
        def run_validation(self, *_: Any) -> int:
            raise AssertionError("an item was looked at")

    with pytest.raises(serializers.ValidationError, match="no more than 1000 elements"):
        BoundedListField(child=Never(), max_length=1000).run_validation([1] * 1001)


def test_a_million_ids_are_refused_in_no_time(as_operator: APIClient) -> None:
    began = time.process_time()
    answer = as_operator.post(SELECTIONS, {"ids": ["x"] * 1_000_000}, format="json")
    assert answer.status_code == 400
    assert len(answer.content) < 1000
    assert time.process_time() - began < 10


def test_every_list_of_a_request_is_bounded_and_every_text() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    bodies = [
        content["schema"]
        for path in schema["paths"].values()
        for operation in path.values()
        for content in operation.get("requestBody", {}).get("content", {}).values()
    ]
    assert len(bodies) > 20
    assert [where for body in bodies for where in unbounded(schema, body, "")] == []


def test_no_list_of_a_request_looks_at_its_items_before_its_length() -> None:
    found = list(request_serializers())
    assert len(found) > 20
    assert [where for one in found for where in unguarded(one, type(one).__name__)] == []


def test_a_plain_list_would_be_found() -> None:
    class Inner(serializers.Serializer[Any]):
        names = serializers.ListField(child=serializers.CharField(), max_length=20)

    class Body(serializers.Serializer[Any]):
        bounded = BoundedListField(child=Inner(), max_length=20)
        several = Inner(many=True)

    assert list(unguarded(Body(), "Body")) == ["Body.bounded[].names", "Body.several"]


def test_half_a_million_scopes_are_refused_in_no_time(as_operator: APIClient) -> None:
    began = time.process_time()
    answer = as_operator.post("/api/v1/tokens", {"name": "t", "scopes": ["x"] * 500_000}, format="json")
    assert answer.status_code == 400
    assert len(answer.content) < 1000
    assert time.process_time() - began < 10


def request_serializers() -> Iterator[Any]:
    """Each serializer that reads a request's body, as the API's schema names it."""
    generator = SchemaGenerator()
    generator.parse(None, public=True)  # finds the endpoints
    for path, path_regex, method, view in generator._get_paths_and_endpoints():
        schema = view.schema
        schema.view, schema.path, schema.path_regex, schema.method = view, path, path_regex, method
        named = schema.get_request_serializer()
        for one in named.values() if isinstance(named, dict) else [named]:
            made = one() if isinstance(one, type) else one
            if isinstance(made, serializers.BaseSerializer | serializers.Field):
                yield made


def unguarded(field: Any, where: str) -> Iterator[str]:
    """The lists in a request that are counted last, after every item was looked at."""
    if isinstance(field, serializers.ListSerializer | serializers.ListField) and not isinstance(
        field, BoundedListField
    ):
        yield where
    if isinstance(field, serializers.ListField | serializers.DictField):
        yield from unguarded(field.child, f"{where}[]")
    if isinstance(field, serializers.Serializer):
        for name, inner in field.fields.items():
            if not inner.read_only:
                yield from unguarded(inner, f"{where}.{name}")


def unbounded(schema: dict[str, Any], node: dict[str, Any], where: str) -> Iterator[str]:
    """Limits on lists and texts in requests; the body of a file has a limit of its own."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        yield from unbounded(schema, schema["components"]["schemas"][name], name)
    for part in (*node.get("allOf", ()), *node.get("oneOf", ()), *node.get("anyOf", ())):
        yield from unbounded(schema, part, where)
    kinds = node.get("type", [])
    if "array" in kinds:
        if "maxItems" not in node:
            yield where
        yield from unbounded(schema, node["items"], f"{where}[]")
    if "string" in kinds and not {"maxLength", "enum", "format", "pattern"} & node.keys() and where not in BYTES:
        yield where
    for name, inner in node.get("properties", {}).items():
        yield from unbounded(schema, inner, f"{where}.{name}")


BYTES = ("BytesBodyRequest.base64",)  # of a record: bounded by the body


@pytest.mark.parametrize(
    "unit",
    [
        "://a:", "a://b", "jdbc:oracle:a:", "jdbc:oracle:a:/", "pass={;", "pass='\\;", 'pass="', "password ",
        "password=", "pass= ;", "secret", "-----BEGIN ", "${a:", "${", "api key", "x.",
    ],
)  # fmt: skip
def test_masking_takes_time_in_proportion_to_the_text(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    began = time.process_time()
    mask_value(text)
    PROVIDED.search(text)
    assert time.process_time() - began < 4  # quadratic, most of them took 20 s and more


@pytest.mark.slow
def test_a_patch_that_doubles_the_value_is_ended_early() -> None:
    operations = json_patch.parse(json.dumps([{"op": "copy", "from": "", "path": "/-"}] * 60))
    began = time.process_time()
    with pytest.raises(RecordUnusable, match="copy more than 4 MB"):
        json_patch.apply(operations, [1])
    assert time.process_time() - began < 20  # it took minutes


@pytest.mark.django_db
def test_completing_a_query_of_open_quotes_is_quick() -> None:
    began = time.process_time()
    for text in ('"\\' * 2000, "(-" * 2000, "a" * 3990 + " x"):
        complete(text, len(text), PayloadReader(None, NOTHING, ()))
    assert time.process_time() - began < 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/session", "/api/v1/dead-letters", "/api/v1/nothing", "/api/schema", "/api/v1/dead-letters/export",
        "/metrics",
    ],
)  # fmt: skip
def test_no_cache_keeps_an_answer_of_the_api(anonymous: APIClient, as_operator: APIClient, path: str) -> None:
    for client in (anonymous, as_operator):
        answer = client.get(path)
        assert answer["Cache-Control"] == "no-store", answer.status_code
        if answer.streaming:
            answer.close()


def test_other_origins_embed_nothing(anonymous: APIClient) -> None:
    answer = anonymous.get("/api/v1/alive")
    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in answer["Permissions-Policy"]


@pytest.mark.django_db
def test_assets_with_a_hash_in_their_name_are_still_kept(settings: Settings, tmp_path: Any) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "index-Ab12.js").write_text("1")
    settings.WHITENOISE_ROOT = tmp_path
    answer = Client().get("/assets/index-Ab12.js")
    answer.close()
    assert "immutable" in answer["Cache-Control"]
