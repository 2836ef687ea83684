"""A sink connects only to hosts that the worker allows, as nobody but itself, and tells no address or credential."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from engine.assembly.validation import validate
from engine.config.permissions import Permissions
from engine.config.worker import parse_worker
from engine.connectors.delta.sink import DeltaSink
from engine.connectors.delta.table import UNWANTED
from engine.connectors.elasticsearch.sink import ElasticsearchSink
from engine.connectors.http.sink import HttpSink
from engine.connectors.http_client import HttpClient
from engine.connectors.objects.sink import ObjectStoreSink
from engine.errors import ConfigError, RetriableError
from engine.record.record import RawRecord, Record, TopicPartition
from tests.support.certificates import self_signed
from tests.support.http_target import HttpTarget, Reply, http_target

RAW = RawRecord("t", 0, 0, 0, "CREATE_TIME", b"k", b"{}")
RECORD = Record("t", 0, 0, "k", {"n": 1}, offset=0, raw=RAW)
PARTITION = TopicPartition("t", 0)
SINKS = {
    "HttpSink": {"http.url": "http://inside.example.com:8080/"},
    "ElasticsearchSink": {"connection.url": "https://search.example.com,http://inside.example.com:9200"},
    "ObjectStoreSink": {"s3.bucket.name": "b", "store.url": "http://inside.example.com"},
    "DeltaSink": {"s3.bucket.name": "b", "store.url": "http://inside.example.com"},
}


@pytest.fixture
def target() -> Iterator[HttpTarget]:
    with http_target() as server:
        yield server


def put(sink: Any, **options: str) -> None:
    """Start the sink, put a record and stop it."""
    sink.start({name.replace("_", "."): value for name, value in options.items()})
    try:
        if isinstance(sink, (ObjectStoreSink, DeltaSink)):
            sink.find_ends({PARTITION: 0}, {PARTITION: 1})
        sink.put([RECORD])
        if isinstance(sink, (ObjectStoreSink, DeltaSink)):
            sink.write({PARTITION: 1})
    finally:
        sink.stop()


@pytest.mark.parametrize("name", SINKS)
def test_a_configuration_names_only_allowed_hosts(name: str) -> None:
    props = {"name": "c", "connector.class": name, "topics": "t", **SINKS[name]}
    servers = {"bootstrap.servers": "127.0.0.1:9"}
    validate(props, parse_worker(servers))
    validate(props, parse_worker({**servers, "http.hosts.allow": "*.example.com"}))
    with pytest.raises(ConfigError, match="inside"):
        validate(props, parse_worker({**servers, "http.hosts.allow": "search.example.com"}))


def test_registries_of_converters_are_on_allowed_hosts() -> None:
    registry = "http://search.example.com,http://inside.example.com:8081"
    props = {"name": "c", "connector.class": "FileStreamSink", "topics": "t", "value.converter": "AvroConverter"}
    props |= {"value.converter.schema.registry.url": registry}
    validate(props, parse_worker({"bootstrap.servers": "127.0.0.1:9", "http.hosts.allow": "*.example.com"}))
    with pytest.raises(ConfigError, match=r"value\.converter\.schema\.registry\.url.*the host inside\.example\.com"):
        validate(props, parse_worker({"bootstrap.servers": "127.0.0.1:9", "http.hosts.allow": "search.example.com"}))


def test_the_worker_refuses_a_host_that_a_config_provider_gave(target: HttpTarget) -> None:
    permissions = Permissions(hosts=("*.example.com",))
    for sink, option in ((HttpSink(permissions), "http_url"), (ElasticsearchSink(permissions), "connection_url")):
        with pytest.raises(ConfigError, match="does not allow"):
            put(sink, **{option: target.url})
    assert target.seen == []


def test_a_name_that_leads_to_a_metadata_service_is_refused(target: HttpTarget) -> None:
    """Also if only one of its addresses does, and if the name led elsewhere when it was validated."""
    answers = iter([["127.0.0.1"], ["127.0.0.1", "169.254.169.254"]])
    client = HttpClient(Permissions(), "http.url", 5, resolve=lambda *_: next(answers))
    url = f"http://rebinding.example.com:{target.port}/"
    assert client.send("POST", url, b"", {}).status == 200
    with pytest.raises(ConfigError, match="never allowed"):
        client.send("POST", f"http://other.example.com:{target.port}/", b"", {})
    client.close()
    assert [one.headers["Host"] for one in target.seen] == [f"rebinding.example.com:{target.port}"]


def test_the_certificate_must_be_trusted_and_name_the_host_of_the_url(tmp_path: Path) -> None:
    """Though the connection goes to an address, which no certificate names."""
    pem, trusted = self_signed(tmp_path / "api", host=x509.DNSName("api.example.com"))
    with http_target(tls=pem) as target:
        for host, ca, works in [("api", trusted, True), ("api", "", False), ("other", trusted, False)]:
            client = HttpClient(Permissions(), "http.url", 5, ca, resolve=lambda *_: ["127.0.0.1"])
            url = f"https://{host}.example.com:{target.port}/"
            if works:
                assert client.send("POST", url, b"{}", {}).status == 200
            else:
                with pytest.raises(RetriableError, match="CERTIFICATE_VERIFY_FAILED"):
                    client.send("POST", url, b"{}", {})
            client.close()
        assert [one.headers["Host"] for one in target.seen] == [f"api.example.com:{target.port}"]
    with pytest.raises(ConfigError, match="PEM"):
        HttpClient(Permissions(), "http.url", 5, "no certificate")


@pytest.mark.parametrize("url", ["http://169.254.169.254/", "http://[::ffff:169.254.169.254]/", "http://2852039166/"])
def test_a_metadata_service_is_refused_in_each_spelling(url: str) -> None:
    for sink, options in (
        (HttpSink(), {"http_url": url}),
        (ElasticsearchSink(), {"connection_url": url}),
        (ObjectStoreSink(), {"store_url": url, "s3_bucket_name": "b"}),
        (DeltaSink(), {"store_url": url, "s3_bucket_name": "b"}),
    ):
        with pytest.raises(ConfigError, match="never allowed"):
            put(sink, **options)


def test_a_redirect_is_not_followed(target: HttpTarget) -> None:
    with http_target(lambda _: Reply(307, headers={"Location": target.url})) as first:
        for sink, option in ((HttpSink(), "http_url"), (ElasticsearchSink(), "connection_url")):
            with pytest.raises(ConfigError):
                put(sink, **{option: first.url})
        with pytest.raises((ConfigError, RetriableError)):
            put(ObjectStoreSink(), store_url=first.url, s3_bucket_name="b")
    # The library of lake tables follows redirects, but finds no way to another host.
    with http_target(lambda _: Reply(307, headers={"Location": f"http://localhost:{target.port}"})) as first:
        with pytest.raises((ConfigError, RetriableError)):
            put(DeltaSink(), store_url=first.url, s3_bucket_name="b", auto_create="true")
        assert first.seen
    assert target.seen == []


def test_no_proxy_and_no_credential_of_the_worker_is_used(target: HttpTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-worker")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-the-worker")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-the-worker")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    put(HttpSink(), http_url=target.url)
    target.answer = lambda _: Reply(412)  # as a store answers whose object is there
    with pytest.raises((ConfigError, RetriableError)):
        put(ObjectStoreSink(), store_url=target.url, s3_bucket_name="b")
    with pytest.raises((ConfigError, RetriableError)):
        put(
            ObjectStoreSink(), store_url=target.url, s3_bucket_name="b", aws_access_key_id="own",
            aws_secret_access_key="own",
        )  # fmt: skip
    assert {one.method for one in target.seen} >= {"POST", "PUT"}
    assert not any("of-the-worker" in str(one.headers) for one in target.seen)
    assert any("Credential=own/" in str(one.headers) for one in target.seen)


def test_addresses_and_credentials_are_in_no_log(target: HttpTarget, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        put(
            HttpSink(), http_url=f"{target.url}/hidden-1", http_authorization_type="static",
            http_headers_authorization="Bearer hidden-2",
        )  # fmt: skip
    assert target.accepted[0].headers["Authorization"] == "Bearer hidden-2"
    assert "hidden" not in caplog.text


def test_a_lake_table_is_not_written_with_what_the_environment_adds(
    target: HttpTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"store_url": target.url, "s3_bucket_name": "b", "auto_create": "true"}
    own = {"aws_access_key_id": "own", "aws_secret_access_key": "own"}
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ROLE_ARN", "AWS_PROFILE", "AWS_S3_ASSUME_ROLE_ARN"):
        monkeypatch.setenv(name, "of-the-worker")
    target.answer = lambda _: Reply(404)
    for key in ({}, own):
        with pytest.raises((ConfigError, RetriableError)):
            put(DeltaSink(), **options, **key)
    assert not any("of-the-worker" in str(one.headers) for one in target.seen)
    assert {"Credential=own/" in str(one.headers) for one in target.seen} == {True, False}
    before = len(target.seen)
    for name in UNWANTED:
        with monkeypatch.context() as patched:
            patched.setenv(name, "of-the-worker")
            with pytest.raises(ConfigError, match=name):
                put(DeltaSink(), **options, **own)
    assert len(target.seen) == before
