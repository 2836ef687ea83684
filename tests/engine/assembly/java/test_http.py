"""Configurations of the HTTP sinks of Aiven and Confluent, translated."""

from __future__ import annotations

import pytest

from engine.assembly.translation import translate
from tests.support.translations import open_points, unknown_options, valid_result

AIVEN = {
    "name": "orders",
    "connector.class": "io.aiven.kafka.connect.http.HttpSinkConnector",
    "topics": "orders",
    "http.url": "https://api.example/orders",
    "http.authorization.type": "oauth2",
    "oauth2.access.token.url": "https://id.example/token",
    "oauth2.client.id": "me",
    "oauth2.client.secret": "${file:/secrets:oauth}",
    "oauth2.grant.type": "client_credentials",
    "http.headers.additional": "X-Team:shop",
    "http.ssl.trust.all.certs": "false",
    "batching.enabled": "true",
    "batch.max.size": "100",
    "batch.separator": "\n",
    "max.retries": "5",
    "retry.backoff.ms": "2000",
}
CONFLUENT = {
    "name": "orders",
    "connector.class": "io.confluent.connect.http.HttpSinkConnector",
    "topics": "orders",
    "http.api.url": "https://api.example/${topic}",
    "request.method": "PUT",
    "request.body.format": "json",
    "headers": "Content-Type:application/vnd.shop+json|X-Team:shop",
    "auth.type": "BASIC",
    "connection.user": "me",
    "connection.password": "secret",
    "ssl.enabled": "true",
    "batch.max.size": "50",
    "http.request.timeout.ms": "2500",
    "retry.on.status.codes": "500-",
    "max.retries": "3",
    "reporter.bootstrap.servers": "kafka:9092",
    "confluent.topic.bootstrap.servers": "kafka:9092",
}
STRINGS = {**CONFLUENT, "request.body.format": "string", "batch.max.size": "1"}

# The options of Aiven's HttpSinkConfig.
AIVEN_OPTIONS = """
http.url http.proxy.host http.proxy.port http.ssl.trust.all.certs http.ssl.truststore.location
http.ssl.truststore.password http.authorization.type http.headers.authorization http.headers.content.type
http.headers.additional kafka.retry.backoff.ms oauth2.access.token.url oauth2.request.grant.type.property
oauth2.grant.type oauth2.request.client.id.property oauth2.client.id oauth2.request.client.secret.property
oauth2.client.secret oauth2.client.authorization.mode oauth2.client.scope oauth2.response.token.property
oauth2.token.renew.on.status.codes batching.enabled batch.max.size batch.prefix batch.suffix batch.separator max.retries
retry.backoff.ms http.timeout decimal.format errors.tolerance
"""
# The options that Confluent's reference and examples name. The source is closed.
CONFLUENT_OPTIONS = """
http.api.url request.method request.body.format behavior.on.null.values behavior.on.error report.errors.as headers
header.separator http.proxy.host http.proxy.port http.proxy.user http.proxy.password http.connect.timeout.ms
http.request.timeout.ms auth.type connection.user connection.password oauth2.token.url oauth2.client.id
oauth2.client.secret oauth2.token.property oauth2.client.auth.mode oauth2.client.scope oauth2.client.headers
oauth2.client.header.separator oauth2.jwt.enabled oauth2.jwt.claimset oauth2.jwt.keystore.path
oauth2.jwt.keystore.password oauth2.jwt.keystore.type ssl.enabled https.ssl.protocol https.ssl.truststore.location
https.ssl.truststore.password https.ssl.truststorefile https.ssl.keystorefile https.ssl.keystore.password
https.ssl.key.password https.host.verifier.enabled batch.key.pattern batch.max.size batch.prefix batch.suffix
batch.separator batch.json.as.array regex.patterns regex.replacements regex.separator max.retries retry.backoff.ms
retry.backoff.policy retry.on.status.codes reporter.bootstrap.servers reporter.error.topic.name
reporter.result.topic.name reporter.error.topic.replication.factor confluent.license confluent.topic.bootstrap.servers
"""


def test_aivens_configuration_keeps_its_meaning() -> None:
    result = valid_result(AIVEN)
    assert result["connector.class"] == "HttpSink"
    assert result["batch.separator"] == "\\n"
    assert (result["errors.retry.limit"], result["errors.retry.delay.max.ms"]) == ("5", "2000")


def test_confluents_configuration_keeps_its_meaning() -> None:
    result = valid_result(CONFLUENT)
    expected = {
        "http.url": "https://api.example/orders",
        "http.headers.content.type": "application/vnd.shop+json",
        "http.headers.additional": "X-Team:shop",
        "http.authorization.type": "basic",
        "http.timeout": "3",
        "errors.retry.limit": "3",
        "behavior.on.null.values": "ignore",
    }
    assert expected.items() <= result.items()


@pytest.mark.parametrize(
    ("properties", "names"), [(AIVEN, AIVEN_OPTIONS), (CONFLUENT, CONFLUENT_OPTIONS)], ids=["aiven", "confluent"]
)
def test_the_table_knows_every_option(properties: dict[str, str], names: str) -> None:
    assert unknown_options(properties, names) == []


def test_confluents_json_batches_are_arrays() -> None:
    result = valid_result(CONFLUENT)
    assert result["batching.enabled"] == "true"
    assert [result[f"batch.{part}"] for part in ("max.size", "prefix", "separator", "suffix")] == ["50", "[", ",", "]"]
    single = {**CONFLUENT, "batch.max.size": "1", "batch.json.as.array": "false"}
    assert "batching.enabled" not in valid_result(single)
    [point] = open_points({**CONFLUENT, "batch.prefix": '{"rows":['})
    assert "batch.prefix has no equivalent beside batch.json.as.array=true" in point


def test_confluents_text_batches_have_its_default_separator() -> None:
    assert "batching.enabled" not in valid_result(STRINGS)
    result = valid_result({**STRINGS, "batch.max.size": "2"})
    assert [result[f"batch.{part}"] for part in ("prefix", "separator", "suffix")] == ["", ",", ""]


def test_an_authorization_header_is_static_authorization() -> None:
    without = {name: value for name, value in CONFLUENT.items() if not name.startswith("connection.")}
    headers = {"auth.type": "none", "headers": "Authorization: Bearer ${file:/secrets:token}"}
    result = valid_result({**without, **headers})
    assert result["http.authorization.type"] == "static"
    assert result["http.headers.authorization"] == "Bearer ${file:/secrets:token}"


def test_oauth_has_confluents_default_scope() -> None:
    token = {"oauth2.token.url": "https://id.example/t", "oauth2.client.id": "me", "oauth2.client.secret": "s"}
    result = valid_result({**CONFLUENT, **token, "auth.type": "OAUTH2"})
    assert (result["oauth2.access.token.url"], result["oauth2.client.scope"]) == ("https://id.example/t", "any")


def test_a_default_that_differs_here_is_written_down() -> None:
    without = {name: value for name, value in AIVEN.items() if name != "max.retries"}
    assert valid_result(without)["errors.retry.limit"] == "1"
    [option] = [option for option in translate(without).options if option.name == "errors.retry.limit"]
    assert option.comment == "max.retries is errors.retry.limit here; 1 is the default there"


@pytest.mark.parametrize(
    ("base", "more"),
    [
        (AIVEN, {"http.ssl.trust.all.certs": "true"}),
        (AIVEN, {"http.ssl.truststore.location": "/ca.jks"}),
        (AIVEN, {"http.proxy.host": "proxy"}),
        (AIVEN, {"oauth2.grant.type": "password"}),
        (AIVEN, {"decimal.format": "BASE64"}),
        (AIVEN, {"batch.max.size": "0"}),
        (CONFLUENT, {"https.host.verifier.enabled": "false"}),
        (CONFLUENT, {"https.ssl.endpoint.identification.algorithm": ""}),
        (CONFLUENT, {"https.ssl.keystorefile": "/me.jks"}),
        (CONFLUENT, {"https.ssl.enabled.protocols": "TLSv1.3"}),
        (CONFLUENT, {"http.api.url": "http://api.example/"}),
        (CONFLUENT, {"http.api.url": "https://api.example/${key}"}),
        (CONFLUENT, {"topics": "a,b"}),
        (CONFLUENT, {"auth.type": "BEARER"}),
        (CONFLUENT, {"behavior.on.error": "ignore"}),
        (CONFLUENT, {"behavior.on.null.values": "log"}),
        (CONFLUENT, {"reporter.error.topic.name": "errors"}),
        (CONFLUENT, {"regex.patterns": "a"}),
        (CONFLUENT, {"headers": "Accept:a,b"}),
        (CONFLUENT, {"headers": "X-Key:${key}"}),
        (CONFLUENT, {"batch.key.pattern": "${key}"}),
        (CONFLUENT, {"retry.on.status.codes": "404"}),
    ],
)
def test_an_option_without_equivalent_is_open(base: dict[str, str], more: dict[str, str]) -> None:
    assert len(open_points({**base, **more})) == 1


def test_comments_hide_secrets() -> None:
    lines = "\n".join(translate({**AIVEN, "http.ssl.truststore.password": "hidden"}).lines())
    assert "http.ssl.truststore.password=******** is dropped" in lines
    assert "hidden" not in lines


def test_a_short_name_of_two_classes_is_refused() -> None:
    result = translate({**AIVEN, "connector.class": "HttpSinkConnector"})
    assert result.equivalent is None
    assert result.reason == (
        "io.aiven.kafka.connect.http.HttpSinkConnector and io.confluent.connect.http.HttpSinkConnector have this short "
        "name; write the full name"
    )
    assert translate({"connector.class": "HttpSink"}).equivalent == "HttpSink"
