"""Messages of channels go to no loopback, private or metadata address, however it is written."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from django.utils import timezone
from pytest_django import Settings

from dlqadmin.notifications import addresses, apprise_services, webhooks
from dlqadmin.notifications.addresses import ForbiddenAddress, checked_connections, require_allowed, resolve
from dlqadmin.notifications.results import SendAccepted, SendRefused
from tests.dlqadmin.conftest import alone  # noqa: F401  # used by every test
from tests.dlqadmin.notifications.sending import made, queued
from tests.support.http_target import HttpTarget, Reply, http_target

pytestmark = pytest.mark.django_db

TOKEN = "3ccdd113474722377935511fc85d3dd4"


@pytest.fixture(autouse=True)
def nothing_private(settings: Settings) -> None:
    settings.ALERT_PRIVATE_HOSTS = []


@pytest.fixture
def target() -> Iterator[HttpTarget]:
    with http_target() as running:
        yield running


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.0.0.1",
            "127.8.9.1",
            "0x7f000001",
            "2130706433",
            "127.1",
            "localhost",
            "[::1]",
        ),
        *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]"),
        *("0.0.0.0", "[::]", "169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16"),
        *(
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "[fd12::1]",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
        ),
    ],
)
def test_a_webhook_to_an_inner_address_is_refused(target: HttpTarget, host: str) -> None:
    channel = made(f"http://{host}:{target.port}/hook")
    result = webhooks.send(channel, queued(channel), timezone.now())
    assert isinstance(result, SendRefused), result
    assert target.seen == []


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_a_public_address_is_allowed(address: str) -> None:
    require_allowed("example.com", address)


def test_a_name_that_resolves_to_an_inner_address_is_refused(
    target: HttpTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ForbiddenAddress, match="ALERT_PRIVATE_HOSTS"):
        resolve("localhost", target.port)
    answers(monkeypatch, ["93.184.216.34", "127.0.0.1"])  # one inner address among others is enough
    channel = made(f"http://inner.example.com:{target.port}/hook")
    assert isinstance(webhooks.send(channel, queued(channel), timezone.now()), SendRefused)
    assert target.seen == []


def answers(monkeypatch: pytest.MonkeyPatch, *each: list[str]) -> list[str]:
    """Let the system's resolver give these addresses, one list after another. Return the names that it was asked."""
    asked: list[str] = []

    def getaddrinfo(host: str, port: int, *_: object, **__: object) -> list[tuple[object, ...]]:
        asked.append(host)
        found = each[min(len(asked), len(each)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


def test_a_webhook_connects_to_the_address_that_was_checked(
    target: HttpTarget, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    """A name that changes after the check (DNS rebinding) is not asked again, and the Host header keeps it."""
    settings.ALERT_PRIVATE_HOSTS = ["127.0.0.1/32"]
    asked = answers(monkeypatch, ["127.0.0.1"], ["10.0.0.1"])
    channel = made(f"http://rebind.example.com:{target.port}/hook")
    assert isinstance(webhooks.send(channel, queued(channel), timezone.now()), SendAccepted)
    assert asked.count("rebind.example.com") == 1
    assert target.seen[0].headers["Host"] == f"rebind.example.com:{target.port}"


def test_a_redirect_to_an_inner_address_is_not_followed(target: HttpTarget, settings: Settings) -> None:
    settings.ALERT_PRIVATE_HOSTS = ["127.0.0.0/8"]
    with http_target(lambda _: Reply(307, headers={"Location": target.url})) as first:
        channel = made(f"{first.url}/hook")
        assert isinstance(webhooks.send(channel, queued(channel), timezone.now()), SendRefused)
        assert len(first.seen) == 1
    assert target.seen == []


@pytest.mark.parametrize(
    ("listed", "host", "address", "allowed"),
    [
        ("10.0.0.0/8", "a.example", "10.1.2.3", True),
        ("10.0.0.0/8", "a.example", "192.168.0.1", False),
        ("chat.corp.example", "chat.corp.example", "10.1.2.3", True),
        ("chat.corp.example", "CHAT.corp.example.", "10.1.2.3", True),
        ("chat.corp.example", "other.corp.example", "10.1.2.3", False),
        ("chat.corp.example", "chat.corp.example", "169.254.169.254", False),
        ("0.0.0.0/0", "a.example", "169.254.169.254", False),
        ("fd00::/8", "a.example", "fd12::1", True),
        ("fd00::/8", "a.example", "10.1.2.3", False),
    ],
)
def test_only_listed_hosts_and_networks_may_be_private(
    settings: Settings, listed: str, host: str, address: str, allowed: bool
) -> None:
    settings.ALERT_PRIVATE_HOSTS = [listed]
    if allowed:
        require_allowed(host, address)
    else:
        with pytest.raises(ForbiddenAddress):
            require_allowed(host, address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f000001"])
def test_a_service_with_an_own_host_is_held_to_the_same_addresses(target: HttpTarget, host: str) -> None:
    channel = made(f"mmost://{host}:{target.port}/{TOKEN}", "apprise")
    result = apprise_services.send(channel, queued(channel), timezone.now())
    assert isinstance(result, SendRefused), result
    assert "private address" in result.text
    assert target.seen == []


def test_the_check_of_a_library_sees_the_address_of_the_connection(target: HttpTarget) -> None:
    with pytest.raises(ForbiddenAddress), checked_connections("a.example"):
        socket.create_connection(("127.0.0.1", target.port))
    with pytest.raises(ForbiddenAddress), checked_connections("a.example"), socket.socket(socket.AF_UNIX) as local:
        local.connect("/nowhere")
    with socket.create_connection(("127.0.0.1", target.port)):  # other code is not checked
        pass
    assert addresses._sending.host is None
