"""A registry's client against answers that are no registry's, too large, or too slow."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest

from engine.schemas.answer_limits import MOST_BYTES
from engine.schemas.problems import RegistryUnavailable
from engine.schemas.registry import RegistryOptions, SchemaRegistry, SchemaText
from tests.support.http_target import HOST, Answerer, Reply, http_target

NO_REGISTRYS = "the answer is not that of a registry"
CALLS: dict[str, Callable[[SchemaRegistry], Any]] = {
    "id": lambda registry: registry.schema_by_id(1),
    "version": lambda registry: registry.version("s", 1),
    "latest": lambda registry: registry.latest("s"),
    "register": lambda registry: registry.register("s", SchemaText(0, "AVRO", '"int"')),
    "lookup": lambda registry: registry.lookup("s", SchemaText(0, "AVRO", '"int"')),
    "subjects of an id": lambda registry: registry.subjects(1),
    "subject": lambda registry: registry.subject_state("s"),
    "subjects": lambda registry: registry.list_subjects(),
}
NO_ANSWERS = ["null", "5", '"x"', "[5]", '{"id": "x"}', "[" * 100_000, "[null]"]


def answering(body: str) -> Answerer:
    return lambda _: Reply(200, body.encode())


def refusal(registry: SchemaRegistry, call: Callable[[SchemaRegistry], Any]) -> str:
    with closing(registry), pytest.raises(RegistryUnavailable) as raised:
        call(registry)
    return str(raised.value)


@pytest.mark.parametrize("name", CALLS)
def test_an_answer_of_another_program_is_refused(name: str) -> None:
    with http_target() as target, closing(SchemaRegistry(RegistryOptions(target.url, unavailable_s=0))) as registry:
        for body in NO_ANSWERS:
            target.answer = answering(body)
            with pytest.raises(RegistryUnavailable, match=NO_REGISTRYS):
                CALLS[name](registry)


@pytest.mark.parametrize("call", ["id", "version", "latest"])
@pytest.mark.parametrize("body", [b"{}", b'{"schema": 5, "id": 1}', b'{"schema": ["int"], "id": 1}'])
def test_a_document_without_a_text_is_no_schema(call: str, body: bytes) -> None:
    with http_target(lambda _: Reply(200, body)) as target:
        assert refusal(SchemaRegistry(RegistryOptions(target.url)), CALLS[call]) == NO_REGISTRYS


@pytest.mark.parametrize("references", [5, [5], [{"name": "a", "subject": "a", "version": "x"}]])
def test_references_that_are_none_are_refused(references: Any) -> None:
    body = json.dumps({"schema": '"int"', "references": references}).encode()
    with http_target(lambda _: Reply(200, body)) as target:
        assert refusal(SchemaRegistry(RegistryOptions(target.url)), CALLS["id"]) == NO_REGISTRYS


def test_an_answer_that_is_too_large_is_not_read_to_its_end() -> None:
    with http_target(lambda _: Reply(200, b" " * (MOST_BYTES + 1))) as target:
        found = refusal(SchemaRegistry(RegistryOptions(target.url)), CALLS["id"])
    assert found == "the registry's answer is larger than 8 MB"


def test_a_compressed_answer_is_refused() -> None:
    body = gzip.compress(b'{"schema": "%s"}' % (b" " * 1000))
    with http_target(lambda _: Reply(200, body, {"Content-Encoding": "gzip"})) as target:
        found = refusal(SchemaRegistry(RegistryOptions(target.url)), CALLS["id"])
        assert target.seen[0].headers["Accept-Encoding"] == "identity"
    assert found == "the registry's answer is compressed, which the request did not allow"


@pytest.mark.parametrize("begin", [b"", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["headers", "body"])
def test_an_answer_that_comes_byte_by_byte_ends_at_the_time_limit(begin: bytes) -> None:
    with dripping(begin) as url:
        found = refusal(SchemaRegistry(RegistryOptions(url, timeout_s=0.2)), CALLS["id"])
    assert found.startswith("the registry did not answer within")


def test_all_schemas_of_one_request_share_its_time() -> None:
    numbers = iter(range(1000))

    def answer(_: Any) -> Reply:
        number = next(numbers)
        reference = {"name": f"n{number}", "subject": f"s{number}", "version": 1}
        body = {"schema": '"int"', "references": [reference], "id": 1, "subject": "s", "version": 1}
        return Reply(200, json.dumps(body).encode(), delay_s=0.05)

    with http_target(answer) as target:
        found = refusal(SchemaRegistry(RegistryOptions(target.url, timeout_s=0.2)), CALLS["id"])
    assert found.startswith("the registry did not answer within")


def test_a_later_request_has_its_own_limits() -> None:
    body = json.dumps({"schema": json.dumps({"type": "string", "doc": " " * (MOST_BYTES // 2)})}).encode()
    with http_target(lambda _: Reply(200, body)) as target, closing(SchemaRegistry(RegistryOptions(target.url))) as one:
        assert [one.schema_by_id(number).type for number in (1, 2, 3)] == ["AVRO"] * 3


@contextmanager
def dripping(begin: bytes) -> Iterator[str]:
    """A server that sends a byte now and then, for ever."""
    ended = threading.Event()

    def send() -> None:
        with suppress(OSError), server.accept()[0] as client:
            client.recv(1 << 16)
            client.sendall(begin)
            while not ended.wait(0.05):
                client.sendall(b"x")

    with socket.create_server((HOST, 0)) as server:
        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield f"http://{HOST}:{server.getsockname()[1]}"
        finally:
            ended.set()
            thread.join()
