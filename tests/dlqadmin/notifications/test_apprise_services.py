"""Services of Apprise: those of the table, with a real server where the URL chooses the host."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django import Settings

from dlqadmin.notifications import apprise_services
from dlqadmin.notifications.apprise_services import SCHEMAS, SERVICES, describe, target_problem
from dlqadmin.notifications.results import SendAccepted, SendFailed, SendRefused
from tests.dlqadmin.notifications.sending import made, queued, work
from tests.support.http_target import HttpTarget, Reply

pytestmark = pytest.mark.django_db

TOKEN = "3ccdd113474722377935511fc85d3dd4"
SLACK = "T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"

DESCRIBED = {
    f"slack://{SLACK}": "Slack, slack.com",
    f"https://hooks.slack.com/services/{SLACK}": "Slack, slack.com",
    "discord://123456789/abcdefgh": "Discord, discord.com",
    f"mmosts://chat.example.com/{TOKEN}": "Mattermost, chat.example.com",
    f"mmosts://chat/{TOKEN}": "Mattermost",
    "ntfys://ntfy.example.com/orders": "ntfy, ntfy.example.com",
    "ntfy://orders-hidden": "ntfy, ntfy.sh",
    "matrixs://user:pass@matrix.example.com/#room": "Matrix, matrix.example.com",
    f"matrixs://{TOKEN}{TOKEN}/": "Matrix",
    "tgram://123456789:abcdefg_hijklmnop/12315544/": "Telegram, api.telegram.org",
    f"zulip://bot@org/{TOKEN}/chan": "Zulip, org.zulipchat.com",
    f"workflows://prod.logic.azure.com:443/{TOKEN}/signature/": "Microsoft Teams, prod.logic.azure.com",
    "rockets://user:pass@chat.example.com/#c": "Rocket.Chat, chat.example.com",
    "pagerduty://A1BRTD4JD@TIiajkdnlazkcOXrIdevi7F": "PagerDuty, events.pagerduty.com",
    "opsgenie://a1b2c3d4-e5f6-a1b2-c3d4-e5f6a1b2c3d4/?region=eu": "Opsgenie, opsgenie.com",
}


@pytest.mark.parametrize(("url", "described"), DESCRIBED.items())
def test_a_service_is_described_by_its_name_and_host(url: str, described: str) -> None:
    assert (target_problem(url), describe(url)) == ("", described)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "dbus://",
            "syslog://",
            "macosx://",
            "windows://",
            "gnome://",
            "exec://ls",
            "rsyslog://h",
        ),
        *(
            "json://127.0.0.1/",
            "jsons://127.0.0.1/",
            "form://127.0.0.1/",
            "xml://h",
            "apprise://h/token",
            "mailto://u:p@h",
        ),
        *(
            "include://h",
            "custom://h",
            "slack://",
            "https://example.com/hook",
            "http://hooks.slack.com/services/a",
            "x",
        ),
        f"slack://{SLACK}?template=/etc/passwd",
        f"slack://{SLACK}?image=yes",
        f"mmost://h.example/{TOKEN}?verify=no",
        f"mmost://h.example/{TOKEN}?redirect=yes",
        f"mmost://h.example/{TOKEN}?%74emplate=x",
        f"mmost://h.example/{TOKEN}?schema=file",
        f"mmost://h.example/{TOKEN}?rto=900",
        "slack://[::1",
    ],
)
def test_what_the_table_does_not_allow_is_refused(url: str) -> None:
    assert target_problem(url)


def test_each_row_of_the_table_is_a_plugin_with_these_schemas() -> None:
    import apprise

    found = {plugin["service_name"]: plugin for plugin in apprise.Apprise().details()["schemas"]}
    known = {
        schema
        for plugin in found.values()
        for schema in [*(plugin["protocols"] or ()), *(plugin["secure_protocols"] or ())]
    }
    assert known >= SCHEMAS
    assert {"file", "syslog", "json", "dbus", "windows"}.isdisjoint(SCHEMAS)
    assert len(SERVICES) == 17


def test_a_message_reaches_a_service_of_an_own_host(target: HttpTarget) -> None:
    delivery = work(queued(made(f"mmost://127.0.0.1:{target.port}/{TOKEN}", "apprise")))
    assert (delivery.state, delivery.result) == ("delivered", "Mattermost accepted it.")
    [seen] = target.seen
    assert seen.path == f"/hooks/{TOKEN}"
    for part in (b"Orders fail", b"12 dead letters", b"https://dlq.example.com/groups/7"):
        assert part in seen.body


@pytest.mark.parametrize(
    ("status", "result"),
    [
        (404, SendRefused("Mattermost answered HTTP 404.")),
        (429, SendFailed("Mattermost answered HTTP 429.")),
        (503, SendFailed("Mattermost answered HTTP 503.")),
    ],
)
def test_an_answer_decides_whether_another_try_helps(target: HttpTarget, status: int, result: object) -> None:
    target.answer = lambda _: Reply(status)
    channel = made(f"mmost://127.0.0.1:{target.port}/{TOKEN}", "apprise")
    assert apprise_services.send(channel, queued(channel), timezone.now()) == result


def test_a_redirect_is_not_followed(target: HttpTarget) -> None:
    target.answer = lambda _: Reply(302, headers={"Location": f"{target.url}/elsewhere"})
    channel = made(f"mmost://127.0.0.1:{target.port}/{TOKEN}", "apprise")
    assert not isinstance(apprise_services.send(channel, queued(channel), timezone.now()), SendAccepted)
    assert [one.path for one in target.seen] == [f"/hooks/{TOKEN}"]


def test_a_service_that_is_away_fails_for_now(settings: Settings) -> None:
    channel = made(f"mmost://127.0.0.1:1/{TOKEN}", "apprise")
    assert isinstance(apprise_services.send(channel, queued(channel), timezone.now()), SendFailed)
