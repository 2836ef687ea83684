from __future__ import annotations

import pytest

from engine.assembly.validation import validate
from engine.config.masking import MASK
from engine.config.worker import WorkerConfig, parse_worker
from engine.errors import ConfigError
from engine.record.stage import StageType

PROPS = {"name": "c", "connector.class": "HttpSink", "topics": "t", "http.url": "https://api.example.com/in"}


def worker(**options: str) -> WorkerConfig:
    return parse_worker(
        {"bootstrap.servers": "127.0.0.1:9", **{key.replace("_", "."): v for key, v in options.items()}}
    )


def problems(given: dict[str, str], **options: str) -> list[tuple[str, str | None, str]]:
    with pytest.raises(ConfigError) as caught:
        validate({**PROPS, **given}, worker(**options))
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("ftp://a/b", "must be an HTTP URL"),
        ("https:///path", "must be an HTTP URL"),
        ("https://a:b", "must be an HTTP URL"),
        ("https://user:pass@a/b", "user or a password"),
        ("https://a/b#c", "fragment"),
    ],
)
def test_a_wrong_url_is_refused_and_not_quoted(url: str, word: str) -> None:
    ((option, value, text),) = problems({"http.url": url})
    assert (option, value) == ("http.url", MASK)
    assert word in text
    assert url not in text


def test_the_names_of_other_sinks_are_known() -> None:
    given = {**PROPS, "http.api.url": PROPS["http.url"], "http.method": "put", "auth.type": "NONE"}
    del given["http.url"]
    own = validate(given, worker()).config.own
    assert (own["http.url"], own["request.method"], own["http.authorization.type"]) == (
        PROPS["http.url"],
        "PUT",
        "none",
    )


@pytest.mark.parametrize(
    ("kind", "missing"),
    [
        ("static", ["http.headers.authorization"]),
        ("basic", ["connection.user", "connection.password"]),
        ("oauth2", ["oauth2.access.token.url", "oauth2.client.id", "oauth2.client.secret"]),
    ],
)
def test_each_kind_of_authorization_names_what_it_needs(kind: str, missing: list[str]) -> None:
    assert [row[0] for row in problems({"http.authorization.type": kind})] == missing


@pytest.mark.parametrize(
    "headers", ["X-A", "X A: 1", "X-A: 1, x-a: 2", "Host: internal", "content-type: text/plain", "Authorization: x"]
)
def test_headers_that_can_t_be_sent_are_refused(headers: str) -> None:
    assert [row[0] for row in problems({"http.headers.additional": headers})] == ["http.headers.additional"]


def test_only_allowed_hosts_may_be_named() -> None:
    allowed = {"http_hosts_allow": "*.example.com, hooks.internal"}
    assert validate(PROPS, worker(**allowed)).config.own["http.url"]
    assert validate({**PROPS, "http.url": "http://HOOKS.internal:8080/"}, worker(**allowed))
    token = {
        "http.authorization.type": "oauth2", "oauth2.access.token.url": "https://login.example.org/token",
        "oauth2.client.id": "a", "oauth2.client.secret": "b",
    }  # fmt: skip
    ((option, _, text),) = problems(token, **allowed)
    assert option == "oauth2.access.token.url"
    assert "login.example.org, which the worker does not allow" in text
    assert [row[0] for row in problems({"http.url": "https://example.com.evil.net/"}, **allowed)] == ["http.url"]


def test_secrets_are_masked_where_the_connector_is_shown() -> None:
    given = {
        **PROPS, "http.authorization.type": "basic", "connection.user": "u", "connection.password": "hidden-1",
        "http.headers.additional": "X-Key: hidden-2", "http.url": "https://hooks.example.com/hidden-3",
    }  # fmt: skip
    put = next(stage for stage in validate(given, worker()).stages if stage.type is StageType.TASK_PUT)
    assert "hidden" not in str(put)
