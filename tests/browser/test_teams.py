"""Three people of two teams: each signs in, sees what their team owns alone, and is told of its new errors."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pyotp
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from dlqadmin.host.network import wait_until
from tests.browser.claims import claim
from tests.browser.screens import fits, without_complaints
from tests.browser.two_teams import (
    DIGITS,
    ENGINES,
    PEOPLE,
    PHONE,
    QUAKES,
    STATIONS,
    RestClient,
    WatchedPage,
    fail,
    give,
    own,
    post,
    sign_in_at_provider,
    sign_out,
    stranger,
    write_records,
)
from tests.support.disclosure import disclosed
from tests.support.http_target import HttpTarget, http_target
from tests.support.mail_server import MailServer, text_of
from tests.support.openid_provider import OpenIdProvider
from tests.support.product import Product

ARRIVES_S = 10
ESCALATES_S = 60  # the shortest time that a rule can have
LATE_S = 30  # a limit of waits, for what has no limit of its own
TEAM_OF = {"quinn": QUAKES, "sam": STATIONS}
FOREIGN = {"quinn": (STATIONS.word,), "sam": (QUAKES.word, *ENGINES, DIGITS)}
OWN_SCREENS = (
    "/", "/trends", "/groups?range=1h", "/records?from=now-1h", "/topics", "/connectors", "/replays", "/exports",
    "/audit", "/settings/people", "/settings/clusters",
)  # fmt: skip


Person = Callable[[str], WatchedPage]

# It starts a product of its own, with a provider and a mail server.
pytestmark = pytest.mark.soak


class TwoTeams(NamedTuple):
    """The teams of the running product. `letters` are ids of dead letters, `ids` those of teams, by team."""

    product: Product
    admin: RestClient
    password: str
    totp: pyotp.TOTP
    ids: dict[str, int]
    letters: dict[str, int]
    mask: int


@pytest.fixture(scope="module")
def two_teams(product_of_teams: Product, openid_provider: OpenIdProvider) -> Iterator[TwoTeams]:
    """Two teams, their people at the provider, a record of each, and an administrator with a second factor.

    Only admins of the team that owns them see the phone numbers of stations.
    """
    openid_provider.people = PEOPLE
    product = product_of_teams
    password = product.add_administrator("root")
    with product.client("root", password) as client:
        admin = RestClient(client)
        totp = pyotp.TOTP(admin.send("POST", "account/two-factor", {"password": password})["secret"])
        # A code works once: the code of the step before leaves the present one to the sign-in.
        admin.send("POST", "account/two-factor/confirm", {"code": totp.at(time.time() - totp.interval)})
        ids = own(admin)
        mask = admin.send("POST", "masking-rules", {
            "topics": STATIONS.owns, "kind": "json path", "field": "$.contact.phone", "show": "last four",
            "except_roles": [{"team": ids[STATIONS.name], "role": "admin"}], "reason": "privacy",
        })  # fmt: skip
        yield TwoTeams(product, admin, password, totp, ids, write_records(product, admin), mask["id"])
        admin.send("DELETE", f"masking-rules/{mask['id']}", None)


@pytest.fixture(scope="module")
def person(chromium: Browser, two_teams: TwoTeams) -> Iterator[Person]:
    """Gives the page of somebody who has signed in with the provider: `person(name)`."""
    opened: dict[str, WatchedPage] = {}
    with ExitStack() as profiles:

        def page_of(name: str) -> WatchedPage:
            if name not in opened:
                opened[name] = profiles.enter_context(stranger(chromium, two_teams.product.web))
                opened[name].page.goto("/")
                sign_in_at_provider(opened[name].page, name)
            return opened[name]

        yield page_of


@pytest.fixture(scope="module")
def receiver() -> Iterator[HttpTarget]:
    """Whom webhooks tell."""
    with http_target() as running:
        yield running


@pytest.fixture(scope="module")
def rule(two_teams: TwoTeams, receiver: HttpTarget) -> int:
    """A rule that tells of each new group of stations by webhook and e-mail, and then another webhook."""
    admin = two_teams.admin

    def channel(name: str, kind: str, target: str) -> int:
        made = admin.send("POST", "channels", {"name": name, "kind": kind, "target": target})
        return int(made["channel"]["id"])

    tells = [channel("on call", "webhook", f"{receiver.url}/on-call"), channel("mail", "email", "sam@example.com")]
    body = {
        "name": "New errors of stations", "team": two_teams.ids[STATIONS.name], "conditions": [{"kind": "new_group"}],
        "tells": [{"channel": pk} for pk in tells], "interval_s": 3600, "tell_resolved": False,
        "escalate": {"after_s": ESCALATES_S, "channel": channel("boss", "webhook", f"{receiver.url}/boss")},
    }  # fmt: skip
    return int(admin.send("POST", "alert-rules", body)["id"])


@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_signs_in_with_the_provider_and_out_of_both(chromium: Browser, two_teams: TwoTeams, name: str) -> None:
    with stranger(chromium, two_teams.product.web) as watched:
        page = watched.page
        with claim("the sign-in leads to the address that was opened"):
            page.goto("/groups?range=1h")
            sign_in_at_provider(page, name)
            expect(page.get_by_role("heading", name="Groups", level=1)).to_be_visible()
            assert page.url == f"{two_teams.product.web}/groups?range=1h"
        with claim("the sign-out ends the dashboard's session"):
            sign_out(page, name)
            assert page.request.get("/api/v1/session").json()["authenticated"] is False
        with claim("and that of the provider, which asks for the account again"):
            page.get_by_role("link", name="Sign in with Corporate").click()
            expect(page.get_by_label("Account")).to_be_visible()


def test_an_administrator_signs_in_with_a_password_and_a_code(chromium: Browser, two_teams: TwoTeams) -> None:
    with stranger(chromium, two_teams.product.web) as watched:
        page = watched.page
        page.goto("/audit")
        page.get_by_label("User name").fill("root")
        page.get_by_role("textbox", name="Password").fill(two_teams.password)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("Code").fill(two_teams.totp.now())
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Audit", level=1)).to_be_visible()
        with claim("a revealed field is on the audit screen, with the reason and without the content"):
            body = {"part": "value", "path": "$.contact.phone", "reason": "ticket 4711: the station is silent"}
            found = two_teams.admin.send("POST", f"dead-letters/{two_teams.letters[STATIONS.name]}/reveal", body)
            assert [one["text"] for one in found["results"]] == [json.dumps(PHONE)]
            watched.open("/audit")
            entry = page.get_by_test_id("audit-entry").filter(has_text="revealed masked fields")
            expect(entry.first).to_contain_text(STATIONS.dead_letters)
            expect(entry.first).to_contain_text("ticket 4711: the station is silent")
            assert_nothing_of(watched, (DIGITS,))


def test_a_new_error_is_told_once_on_both_channels_and_acknowledged_behind_the_link(
    chromium: Browser, two_teams: TwoTeams, person: Person, receiver: HttpTarget, product_mail: MailServer, rule: int,
) -> None:  # fmt: skip
    before = len(product_mail.mails)
    began = time.monotonic()
    fail(two_teams.product, STATIONS, "TimeoutError", 1)
    wait_until(lambda: bool(told(receiver, "/on-call")) and len(product_mail.mails) > before, "The alert", LATE_S)
    took_s = time.monotonic() - began
    [message], [(addresses, mail)] = told(receiver, "/on-call"), product_mail.mails[before:]
    link, firing = message["link"], message["facts"]["firing"]
    with claim("both are about the same firing, and cite no masked field"):
        assert (message["event"], message["facts"]["rule"]) == ("alert.opened", rule)
        assert (addresses, link in text_of(mail)) == (["sam@example.com"], True)
        assert disclosed(json.dumps(message).encode() + mail.as_bytes(), (DIGITS,)) == []
    with (
        claim("the link leads to the sign-in, and from there to the alert"),
        stranger(chromium, two_teams.product.web) as watched,
    ):
        watched.page.goto(link)
        sign_in_at_provider(watched.page, "sam")
        assert watched.page.url == link
        expect(watched.page.get_by_role("heading", level=1)).to_have_text(f"Group {message['facts']['subject']['key']}")
        assert post(watched.page, f"alerts/{firing}/acknowledge", {})[0] == 403
        # The role counts from the next request on, without another sign-in.
        give(two_teams.admin, STATIONS, two_teams.ids[STATIONS.name], ("operator", "payload reader"))
        watched.open(link)
        watched.page.get_by_role("button", name="Acknowledge").click()
        expect(watched.page.locator("main")).to_contain_text("Acknowledged")
        alert = two_teams.admin.get(f"alerts/{firing}")
        assert (alert["state"], alert["acknowledged_by"]) == ("acknowledged", "sam")
        assert_nothing_of(watched, FOREIGN["sam"])
    with claim("people of another team find no such alert"):
        page = person("quinn").page
        page.goto(link)
        expect(page.get_by_text("The alert could not be loaded")).to_be_visible()
        assert page.request.get(f"/api/v1/alerts/{firing}").status == 404
        assert post(page, f"alerts/{firing}/acknowledge", {})[0] == 404
        assert page.request.get("/api/v1/alerts").json()["results"] == []
    fail(two_teams.product, STATIONS, "QuotaError", 2)  # nobody acknowledges this one: see the last test
    assert took_s <= ARRIVES_S


@pytest.mark.parametrize("name", PEOPLE)
def test_a_person_sees_what_the_own_team_owns_and_nothing_else(
    two_teams: TwoTeams, person: Person, rule: int, name: str
) -> None:
    watched: WatchedPage = person(name)
    page, own_team, foreign = watched.page, TEAM_OF[name], FOREIGN[name]
    give(two_teams.admin, own_team, two_teams.ids[own_team.name], ("operator", "payload reader"))  # who may export
    seen = b""
    for path in OWN_SCREENS:
        with claim(f"{path} shows nothing of the other team"):
            watched.open(path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            seen += assert_nothing_of(watched, foreign)
    assert own_team.word.encode() in seen
    other = next(team for team in TEAM_OF.values() if team is not own_team)
    with claim("a record, topic and connector of the other team do not exist"):
        watched.open(f"/records/{two_teams.letters[other.name]}")
        expect(page.get_by_text("This record could not be loaded")).to_be_visible()
        expect(page.get_by_text("There is no dead letter with this id.")).to_be_visible()
        assert_nothing_of(watched, foreign)
        for path in (f"topics/{other.topic}", f"topics/{other.topic}/records", f"topics/{other.dead_letters}/records"):
            assert page.request.get(f"/api/v1/{path}").status == 404, path
    with claim("an export holds the own records alone"):
        watched.open("/records?from=now-1h")
        data = export(page)
        assert own_team.word.encode() in data
        assert disclosed(data, foreign) == []


def test_a_masked_number_is_nowhere(two_teams: TwoTeams, person: Person) -> None:
    watched: WatchedPage = person("sam")
    page, letter = watched.page, two_teams.letters[STATIONS.name]
    with claim("in no tab of the record"):
        watched.open(f"/records/{letter}")
        expect(page.get_by_text("***1427").first).to_be_visible()
        assert_nothing_of(watched, (DIGITS,))
        for tab in ("Key", "Headers", "Error", "Raw hex"):
            page.get_by_role("tab", name=tab).click()
            watched.settle()
            assert_nothing_of(watched, (DIGITS,))
    with claim("in no bytes"):
        for part in ("value", "key", "dead letter"):
            answer = page.request.get(f"/api/v1/dead-letters/{letter}/bytes", params={"part": part})
            assert disclosed(answer.body(), (DIGITS,)) == []
    with claim("in the record of the origin topic"):
        watched.open(f"/topics/{STATIONS.topic}?partition=0&offset=0")
        expect(page.get_by_text("***1427").first).to_be_visible()
        assert_nothing_of(watched, (DIGITS,))
    with claim("among the values that records of a group have in common"):
        group = two_teams.admin.get(f"dead-letters/{letter}")["group"]["id"]
        watched.open(f"/groups/{group}?range=1h")
        expect(page.get_by_role("heading", name="Common values")).to_be_visible()
        assert_nothing_of(watched, (DIGITS,))
    with claim("a search for it finds nothing"):
        watched.open("/records?from=now-1h")
        expect(page.get_by_test_id("record").first).to_be_visible()
        page.get_by_label("Add a filter, or search messages and keys").fill(DIGITS)
        page.keyboard.press("Enter")
        expect(page.get_by_test_id("record")).to_have_count(0)


@pytest.mark.parametrize("width", [1440, 390])
def test_screens_are_accessible_and_the_keyboard_reaches_their_first_action(
    chromium: Browser, two_teams: TwoTeams, width: int
) -> None:
    with stranger(chromium, two_teams.product.web) as watched, without_complaints(watched.page):
        watched.page.set_viewport_size({"width": width, "height": 900})
        watched.open("/")
        fits(watched.page, "sign-in", width)
        reach(watched.page, watched.page.get_by_role("link", name="Sign in with Corporate"))


def test_an_alert_that_nobody_acknowledges_is_told_to_the_second_channel_once(
    two_teams: TwoTeams, receiver: HttpTarget, product_mail: MailServer, rule: int
) -> None:
    wait_until(lambda: bool(told(receiver, "/boss")), "The second channel", ESCALATES_S + LATE_S)
    # A third error: when it is told, all earlier messages have been too.
    fail(two_teams.product, STATIONS, "FormatError", 3)
    wait_until(lambda: len(told(receiver, "/on-call")) > 2 and len(product_mail.mails) > 2, "The third alert", LATE_S)
    alerts = two_teams.admin.get("alerts", rule=rule)["results"]
    third, second, first = [one["id"] for one in alerts]
    assert [one["facts"]["firing"] for one in told(receiver, "/on-call")] == [first, second, third]
    assert [(one["event"], one["facts"]["firing"]) for one in told(receiver, "/boss")] == [("alert.escalated", second)]
    assert len(product_mail.mails) == 3
    two_teams.admin.send("DELETE", f"alert-rules/{rule}", None)


def told(receiver: HttpTarget, path: str) -> list[dict[str, Any]]:
    """Return the messages that arrived at a path."""
    return [json.loads(one.body) for one in receiver.accepted if one.path == path]


def assert_nothing_of(watched: WatchedPage, secrets: tuple[str, ...]) -> bytes:
    """Check what the page shows and received since the last check, and return it."""
    texts = watched.texts()
    found = {where: secret for where, body in texts if (secret := disclosed(body, secrets))}
    assert found == {}
    return b"".join(body for _, body in texts)


def export(page: Page) -> bytes:
    """Download all records of the list."""
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as arriving:
        page.get_by_role("button", name="Download").click()
    return Path(arriving.value.path()).read_bytes()


def reach(page: Page, action: Locator, most: int = 40) -> None:
    """Press Tab until the action has the focus."""
    for _ in range(most):
        if action.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{action} is not among the first {most} stops of the keyboard")
