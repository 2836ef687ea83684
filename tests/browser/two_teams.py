"""Two teams of the running product: what each owns, their people, and their pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from uuid import uuid4

import httpx
from playwright.sync_api import Browser, Error, Page, Response, Route

from demo.topics import create_topics
from dlqadmin.host.network import wait_until
from tests.browser.conftest import DESKTOP, close_live_events
from tests.support import topics
from tests.support.product import Product

INDEXED_S = 60
PHONE, DIGITS = "+49-171-55501427", "55501427"
OTHER_PHONE = "+49-30-90260"  # no rule masks it
ENGINES = ("usgs-to-sql", "usgs.earthquakes")


class TeamFacts(NamedTuple):
    """A team: the sign-in group of its people, the topic that it owns, and a word that occurs in its records only."""

    name: str
    group: str
    word: str
    owns: tuple[str, ...]
    connectors: tuple[str, ...]
    roles: tuple[str, ...]
    phone: str

    @property
    def topic(self) -> str:
        return f"{self.name}.{self.word}"

    @property
    def dead_letters(self) -> str:
        return f"{self.topic}.dlq"


QUAKES = TeamFacts(
    "quakes", "quakes-on-call", "zebrafinch", ("quakes.*", "usgs.*"), ("usgs-*",), ("operator", "payload reader"),
    OTHER_PHONE,
)  # fmt: skip
STATIONS = TeamFacts(
    "stations", "stations", "mockingbird", ("stations.*",), ("stations-*",), ("payload reader",), PHONE
)
TEAMS = (QUAKES, STATIONS)
PEOPLE = {
    "quinn": {"sub": "q", "preferred_username": "quinn", "groups": [QUAKES.group]},
    "sam": {"sub": "s", "preferred_username": "sam", "groups": [STATIONS.group]},
}


class RestClient:
    """The API, as somebody who has signed in."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def get(self, path: str, **params: Any) -> Any:
        return self._client.get(path, params=params).raise_for_status().json()

    def send(self, method: str, path: str, body: object) -> Any:
        answer = self._client.request(method, path, json=body, headers={"Idempotency-Key": uuid4().hex})
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


def own(admin: RestClient) -> dict[str, int]:
    """Make the teams and the groups of their people; return the ids of the teams."""
    ids = {}
    for team in TEAMS:
        body = {"name": team.name, "topics": team.owns, "connectors": team.connectors}
        ids[team.name] = admin.send("POST", "teams", body)["id"]
        admin.send("POST", "sign-in-groups", {"name": team.group, "members": []})
        give(admin, team, ids[team.name], team.roles)
    return ids


def give(admin: RestClient, team: TeamFacts, pk: int, roles: tuple[str, ...]) -> None:
    """Give the people of a team's group these roles in it, and no others."""
    opened = [one["roles"] for one in admin.get("people", team=pk)["results"] if one["name"] == team.group]
    [group] = [one for one in admin.get("people")["results"] if (one["kind"], one["name"]) == ("group", team.group)]
    body = {"team": pk, "roles": roles, "opened": opened[0] if opened else []}
    admin.send("PUT", f"sign-in-groups/{group['id']}/roles", body)


def fail(product: Product, team: TeamFacts, problem: str, number: int = 0) -> None:
    """Write a dead letter as Kafka Connect does. Its error has a group of its own, and quotes the record."""
    facts = {
        "topic": team.topic,
        "partition": "0",
        "offset": "0",
        "connector.name": f"{team.name}-to-sql",
        "task.id": "0",
        "stage": "TASK_PUT",
        "class.name": f"org.example.{team.word}.Sink",
        "exception.class.name": f"org.example.{team.word}.{problem}",
        "exception.message": f"{team.word}: nobody answers at {team.phone}",
        "exception.stacktrace": f"{team.word}.{problem}: nobody answers at {team.phone}\n\tat Sink.put(Sink.java:1)",
    }
    headers = tuple((f"__connect.errors.{name}", text.encode()) for name, text in facts.items())
    key, value = record_of(team, number)
    topics.send(product.bootstrap_servers, team.dead_letters, key, value, (*headers, ("origin", team.word.encode())))


def record_of(team: TeamFacts, number: int) -> tuple[bytes, bytes]:
    """Return the key and the value of a team's record."""
    value = {"station": f"{team.word} {number}", "contact": {"name": "on call", "phone": team.phone}}
    return f"{team.word}-{number}".encode(), json.dumps(value).encode()


def write_records(product: Product, admin: RestClient) -> dict[str, int]:
    """Write a record and a dead letter of each team; return the ids of the dead letters when they are indexed."""
    create_topics(product.bootstrap_servers, {name: 1 for team in TEAMS for name in (team.topic, team.dead_letters)})
    for team in TEAMS:
        topics.send(product.bootstrap_servers, team.topic, *record_of(team, 0))
        fail(product, team, "WriteError")
    return {team.name: indexed(admin, team) for team in TEAMS}


def indexed(admin: RestClient, team: TeamFacts) -> int:
    """Return the id of the newest dead letter of a team, when there is one."""
    found: list[int] = []

    def is_indexed() -> bool:
        found[:] = [row["id"] for row in admin.get("dead-letters", topic=team.dead_letters, limit=1)["results"]]
        return bool(found)

    wait_until(is_indexed, f"The index of {team.dead_letters}", INDEXED_S, 0.5)
    return found[0]


class WatchedPage:
    """A person's page that keeps each response of the API. `received` holds method, address and body."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.received: list[tuple[str, bytes]] = []
        page.route("**/api/v1/**", self._pass_on)
        close_live_events(page)

    def texts(self) -> list[tuple[str, bytes]]:
        """Return what the page shows and what it received since the last call."""
        found = [(f"text of {self.page.url}", self.page.locator("body").inner_text().encode()), *self.received]
        self.received = []
        return found

    def open(self, path: str) -> Response | None:
        """Go to an address, and wait until everything is loaded."""
        response = self.page.goto(path)
        self.settle()
        return response

    def settle(self) -> None:
        """Wait until the screen is whole."""
        self.page.locator("main").first.wait_for()
        self.page.wait_for_load_state("networkidle")
        self.page.locator("[aria-busy=true]").first.wait_for(state="detached")

    def _pass_on(self, route: Route) -> None:
        with suppress(Error):  # the page was left meanwhile
            response = route.fetch()
            self.received.append((f"{route.request.method} {route.request.url}", response.body()))
            route.fulfill(response=response)


@contextmanager
def stranger(chromium: Browser, url: str) -> Iterator[WatchedPage]:
    """Yield the page of somebody who has not signed in, in a profile of its own."""
    context = chromium.new_context(base_url=url, viewport=DESKTOP)
    try:
        yield WatchedPage(context.new_page())
    finally:
        context.close()


def sign_in_at_provider(page: Page, account: str) -> None:
    """Press the button of the sign-in page, and fill in the provider's form."""
    page.get_by_role("link", name="Sign in with Corporate").click()
    page.get_by_role("heading", name="Sign in to the provider").wait_for()
    page.get_by_label("Account").fill(account)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name=f"Signed in as {account}").wait_for()


def sign_out(page: Page, account: str) -> None:
    """Sign out by the menu, and wait for the sign-in page."""
    page.get_by_role("button", name=f"Signed in as {account}").click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.get_by_role("link", name="Sign in with Corporate").wait_for()


def post(page: Page, path: str, body: object) -> Any:
    """Send a request of the page's person; return status and document."""
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    answer = page.request.post(f"/api/v1/{path}", data=body, headers={"X-CSRFToken": token, "Referer": page.url})
    return answer.status, answer.json()
