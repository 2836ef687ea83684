"""Webhooks: signed requests that a receiver can verify, and the results of its answers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dlqadmin.notifications import channels, webhooks
from dlqadmin.notifications.models import Channel
from dlqadmin.notifications.results import SendAccepted, SendFailed, SendRefused
from tests.dlqadmin.notifications.sending import made, made_with_secret, queued, work
from tests.support.http_target import HttpTarget, Reply, Seen

pytestmark = pytest.mark.django_db


def is_signed(seen: Seen, secret: str) -> bool:
    """Verify a request as a receiver does that follows the convention's description alone."""
    key = base64.b64decode(secret.split("_", 1)[1])
    content = f"{seen.headers['webhook-id']}.{seen.headers['webhook-timestamp']}.{seen.body.decode()}"
    expected = base64.b64encode(hmac.new(key, content.encode(), hashlib.sha256).digest()).decode()
    versions = [one.split(",", 1) for one in seen.headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(given, expected) for version, given in versions)


def test_a_receiver_gets_one_signed_request_with_the_message(target: HttpTarget) -> None:
    channel, secret = made_with_secret(f"{target.url}/hook")
    delivery = work(queued(channel))
    [seen] = target.seen
    assert (seen.method, seen.path, seen.headers["Content-Type"]) == ("POST", "/hook", "application/json")
    assert is_signed(seen, secret)
    assert not is_signed(seen._replace(body=seen.body + b" "), secret)
    assert abs(int(seen.headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60
    assert seen.headers["webhook-id"] == seen.headers["Dlqadmin-Delivery"] == delivery.public_id
    body = json.loads(seen.body)
    assert body.pop("sent_at").endswith("Z")
    assert body == {
        "id": delivery.public_id, "event": "alert.opened", "subject": "Orders fail",
        "body": "12 dead letters\nin 5 minutes", "link": "https://dlq.example.com/groups/7", "facts": {"letters": 12},
    }  # fmt: skip
    assert (delivery.state, delivery.result, delivery.sends) == ("delivered", "HTTP 200", 1)


def test_the_former_secret_verifies_for_a_day_after_a_rotation(target: HttpTarget, operator: User) -> None:
    channel, former = made_with_secret(target.url)
    channel, secret = channels.rotate_secret(channel, operator)
    work(queued(channel, "first"))
    Channel.objects.update(former_until=timezone.now() - timedelta(seconds=1))
    work(queued(Channel.objects.get(), "second"))
    first, second = target.seen
    assert (is_signed(first, former), is_signed(first, secret)) == (True, True)
    assert (is_signed(second, former), is_signed(second, secret)) == (False, True)
    assert channel.former_until is not None
    assert timedelta(hours=23) < channel.former_until - timezone.now() <= timedelta(hours=24)


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        (Reply(204), SendAccepted("HTTP 204")),
        (Reply(400, b"no such\nroom"), SendRefused("HTTP 400: no such room")),
        (Reply(404), SendRefused("HTTP 404")),
        (Reply(302, headers={"Location": "/other"}), SendRefused("HTTP 302: redirects are not followed.")),
        (Reply(408), SendFailed("HTTP 408")),
        (Reply(429, headers={"Retry-After": "90"}), SendFailed("HTTP 429", 90)),
        (Reply(503, b"<h1>busy</h1>"), SendFailed("HTTP 503: <h1>busy</h1>")),
    ],
)
def test_an_answer_decides_whether_another_try_helps(target: HttpTarget, reply: Reply, result: object) -> None:
    target.answer = lambda _: reply
    channel = made(target.url)
    assert webhooks.send(channel, queued(channel), timezone.now()) == result
    assert len(target.seen) == 1


def test_an_answer_is_kept_up_to_200_characters_without_the_secrets_of_the_url(target: HttpTarget) -> None:
    target.answer = lambda seen: Reply(400, f"{seen.path} {seen.path} \x1b[31m".encode() + b"x" * 100_000)
    channel = made(f"{target.url}/services/T0KEN-1/T0KEN-2?key=T0KEN-3")
    result = webhooks.send(channel, queued(channel), timezone.now())
    assert "T0KEN" not in result.text
    assert len(result.text) == len("HTTP 400: ") + 200
    assert result.text.isprintable()


def test_a_user_in_the_url_is_sent_as_basic_authentication(target: HttpTarget) -> None:
    work(queued(made(f"http://ada:pw@127.0.0.1:{target.port}/")))
    assert target.seen[0].headers["Authorization"] == "Basic " + base64.b64encode(b"ada:pw").decode()
    assert target.seen[0].headers["Host"] == f"127.0.0.1:{target.port}"


def test_a_receiver_that_is_away_fails_for_now() -> None:
    channel = made("http://127.0.0.1:1/")
    result = webhooks.send(channel, queued(channel), timezone.now())
    assert isinstance(result, SendFailed)
    assert result.text.startswith("127.0.0.1 can't be reached")


def test_a_receiver_that_answers_byte_by_byte_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT_S", 0.3)
    with dripping() as port:
        channel = made(f"http://127.0.0.1:{port}/")
        result = webhooks.send(channel, queued(channel), timezone.now())
    assert result == SendFailed("127.0.0.1 did not answer within 0.3 s.")


@contextmanager
def dripping() -> Iterator[int]:
    """A server whose header never ends, though each byte of it comes in time."""
    ended = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with closing(connection):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                while not ended.wait(0.05):
                    try:
                        connection.sendall(b"x")
                    except OSError:
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            ended.set()
            thread.join()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example",
        "hooks.example.com",
        "https://",
        "https://a:b:c/",
        "https://a/#b",
        "file:///etc/passwd",
        "http://0177.0.0.1/",
    ],
)
def test_what_is_no_url_of_a_webhook_is_refused(url: str) -> None:
    assert webhooks.target_problem(url)
