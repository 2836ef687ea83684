"""What surrounds every screen: going anywhere by key or name, what does not hold at present, who may write."""

from __future__ import annotations

import re

from playwright.sync_api import BrowserContext, Page, Request, Response, Route, expect

from dlqadmin.host.network import wait_until
from tests.browser.axe import barriers
from tests.browser.claims import claim
from tests.browser.conftest import Site, close_live_events
from tests.browser.screens import THEMES

FIRST_SCREEN_BYTES = 200_000
ASKED_AGAIN_MS = 5_000  # how often the shell asks how the server is
SAFETY_MS = 120_000  # how often a screen with live events asks although nothing changed
SETTLED_MS = 12_000  # the intervals that began before the live events are over
AWAY_TIMEOUT_S = 45
GOING = {"g": "Groups", "r": "Records", "j": "Replays", "d": "Overview"}


def changed_health(page: Page, **index: int) -> None:
    """Let the server report this lag of the index from now on."""
    close_live_events(page)

    def answer(route: Route) -> None:
        body = route.fetch().json()
        body["index"] |= index
        route.fulfill(json=body)

    page.route("**/api/v1/health", answer)


def at(page: Page, path: str, heading: str) -> None:
    """Go to a screen, and wait until it hears keys."""
    page.goto(path)
    page.get_by_role("heading", name=heading, level=1).wait_for()


def test_coordinates_lead_from_any_screen_to_the_record(page: Page) -> None:
    page.goto("/records?stage=TRANSFORMATION")
    page.get_by_test_id("record").first.click()
    page.get_by_role("heading", name="Timeline").wait_for()
    name = page.get_by_role("heading", level=1).inner_text()
    at(page, "/connectors", "Connectors")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill(name)
    expect(page.get_by_role("option", name=name)).to_contain_text("dead letter")
    assert barriers(page) == []
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_anything_is_found_by_name_from_any_screen(page: Page) -> None:
    at(page, "/", "Overview")
    with claim("coordinates of nothing say so"):
        page.keyboard.press("/")
        page.get_by_role("combobox", name="Go to").fill("usgs.earthquakes.dlq/0/99999999")
        expect(page.get_by_role("dialog")).to_contain_text("No dead letter with these coordinates is indexed.")
        page.keyboard.press("Escape")
    for text, section in (("dlq", "Dead letter topics"), ("earthquakes.gap", "Groups"), ("usgs-to-sql", "Connectors")):
        with claim(f"{text} is found among {section}"):
            page.keyboard.press("Control+k")
            page.get_by_role("combobox", name="Go to").fill(text)
            expect(page.get_by_role("dialog")).to_contain_text(section)
            page.keyboard.press("Escape")
    with claim("a connector that is found is opened"):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Go to").fill("usgs-to-sql")
        page.get_by_role("option", name="usgs-to-sql", exact=True).last.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("usgs-to-sql")


def test_keys_go_to_screens_and_are_told(page: Page) -> None:
    at(page, "/connectors", "Connectors")
    for key, screen in GOING.items():
        with claim(f"g and {key} go to {screen}"):
            page.keyboard.press("g")
            page.keyboard.press(key)
            expect(page.get_by_role("heading", name=screen, level=1)).to_be_visible()
    for theme in THEMES:
        with claim(f"the keys are told, to everybody, in the {theme} theme"):
            page.emulate_media(color_scheme=theme)
            page.locator(f"html[data-mantine-color-scheme={theme}]").wait_for()
            page.keyboard.press("?")
            expect(page.get_by_test_id("keys")).to_contain_text("then: Records")
            page.get_by_role("dialog", name="Keys").wait_for()  # Mantine names a dialog after it has shown it
            assert barriers(page) == []
        with claim("closing them gives the screen back"):
            page.keyboard.press("Escape")
            expect(page.get_by_test_id("keys")).to_be_hidden()


def test_an_index_that_is_behind_is_said_above_every_screen(page: Page) -> None:
    changed_health(page, records_behind=12_400, seconds_behind=40)
    page.goto("/records")
    expect(page.get_by_text("The index is 12,400 records behind (≈ 40 s)")).to_be_visible()
    expect(page.get_by_role("heading", name="Records", level=1)).to_be_visible()
    assert barriers(page) == []


def test_a_server_that_is_away_is_said_with_the_age_of_what_is_shown(clocked_page: Page) -> None:
    clocked_page.goto("/groups")
    clocked_page.get_by_test_id("group").first.wait_for()
    clocked_page.route("**/api/**", lambda route: route.abort())
    away = clocked_page.get_by_text(re.compile(r"The server has not responded for \d+ s\."))

    def is_said() -> bool:
        clocked_page.clock.fast_forward(ASKED_AGAIN_MS)
        return away.is_visible()

    wait_until(is_said, "the strip", AWAY_TIMEOUT_S, 0.3)
    expect(clocked_page.get_by_test_id("group").first).to_be_visible()
    navigation = clocked_page.get_by_role("navigation", name="Screens")
    expect(navigation).to_contain_text("Health is unknown: the server does not respond")
    expect(navigation).not_to_contain_text("Index up to date")


def name_build(page: Page, pattern: str, build: str) -> None:
    """Let the server name another build of the frontend."""

    def answer(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, headers=response.headers | {"x-frontend-build": build})

    page.route(pattern, answer)


def test_open_tabs_learn_of_a_new_build(page: Page) -> None:
    close_live_events(page)
    name_build(page, "**/api/v1/**", "index-new")
    at(page, "/audit", "Audit")
    expect(page.get_by_text("A new version of the dashboard is installed.")).to_be_visible()
    assert barriers(page) == []


def test_a_chunk_of_an_older_build_reloads_the_page_once(page: Page) -> None:
    at(page, "/", "Overview")
    page.evaluate("sessionStorage.clear()")
    page.route("**/assets/Connectors-*.js", lambda route: route.fulfill(status=404))
    with claim("without a new build the screen says that it failed, and the navigation stays"):
        page.get_by_role("link", name="Connectors").first.click()
        expect(page.get_by_text("This screen failed")).to_be_visible()
        expect(page.get_by_role("navigation", name="Screens")).to_be_visible()
        assert barriers(page) == []
    with claim("with a new build the page is loaded anew"):
        at(page, "/", "Overview")
        name_build(page, "**/api/v1/alive", "index-new")
        with page.expect_event("load"):
            page.get_by_role("link", name="Connectors").first.click()
        expect(page.get_by_text("This screen failed")).to_be_visible()  # the chunk is still gone: no second reload
    with claim("another screen works"):
        page.get_by_role("link", name="Audit").first.click()
        expect(page.get_by_role("heading", name="Audit", level=1)).to_be_visible()


def test_an_ended_session_says_so_and_signing_in_comes_back_to_the_page(visitor: Page, site: Site) -> None:
    visitor.clock.install()
    visitor.goto("/connectors/usgs-to-sql")
    fill_in(visitor, site)
    expect(visitor.get_by_role("heading", level=1)).to_have_text("usgs-to-sql")
    end_session(visitor.context)
    visitor.clock.fast_forward(SAFETY_MS)
    expect(visitor.get_by_text("Your session has ended.")).to_be_visible()
    assert barriers(visitor) == []
    fill_in(visitor, site)
    expect(visitor.get_by_role("heading", level=1)).to_have_text("usgs-to-sql")


def test_requests_say_whether_a_person_is_there(page: Page) -> None:
    marks: list[bool] = []

    def note(request: Request) -> None:
        if "/api/" in request.url:
            marks.append("x-user-active" in request.headers)

    page.on("request", note)
    at(page, "/", "Overview")
    assert marks
    assert not any(marks)
    page.remove_listener("request", note)
    page.mouse.move(300, 300)
    with page.expect_request(lambda request: request.headers.get("x-user-active") == "1"):
        page.mouse.move(310, 310)


def test_a_token_is_created_shown_once_and_revoked(page: Page, site: Site) -> None:
    at(page, "/profile", "Profile")
    page.get_by_role("button", name="Create a token…").click()
    page.get_by_label("Name", exact=True).fill("browser test")
    page.get_by_role("button", name="Create the token").click()
    secret = page.get_by_label("API token", exact=True).inner_text()
    page.get_by_role("button", name="Done").click()
    address, headers = f"{site.url}/api/v1/session", {"Authorization": f"Bearer {secret}"}
    assert page.request.get(address, headers=headers).json()["rights"] == ["viewer"]
    row = page.get_by_test_id("token").filter(has_text="browser test").first
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Revoke the token").click()
    expect(page.get_by_test_id("token").filter(has_text="browser test").first).to_contain_text("Revoked")
    assert page.request.get(address, headers=headers).status == 401


def test_a_narrow_window_is_for_reading(page: Page) -> None:
    page.set_viewport_size({"width": 700, "height": 900})
    page.goto("/records?stage=TRANSFORMATION")
    page.get_by_test_id("record").first.click()
    fix = page.get_by_role("button", name="Fix and replay…")
    expect(fix).to_have_attribute("aria-description", "Writing needs a window at least 800 px wide")
    page.set_viewport_size({"width": 1000, "height": 900})
    expect(page.get_by_role("link", name="Fix and replay…")).to_be_visible()


def test_an_address_that_leads_nowhere_says_so(page: Page) -> None:
    page.goto("/nowhere/at-all")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    page.get_by_role("link", name="Go to the overview").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_signing_in_and_the_first_screen_take_at_most_200_kb(visitor: Page, site: Site) -> None:
    kept: list[Response] = []

    def keep(response: Response) -> None:
        kept.append(response)

    visitor.on("response", keep)
    close_live_events(visitor)
    visitor.goto("/")
    visitor.get_by_label("User name").wait_for()
    for theme in THEMES:
        with claim(f"the form to sign in bars nobody in the {theme} theme"):
            visitor.emulate_media(color_scheme=theme)
            visitor.locator(f"html[data-mantine-color-scheme={theme}]").wait_for()
            assert barriers(visitor) == []
    fill_in(visitor, site)
    visitor.get_by_role("heading", name="Overview").wait_for()
    visitor.wait_for_load_state("networkidle")
    sizes = {one.url: one.request.sizes()["responseBodySize"] for one in kept if one.status == 200}
    assert {url.rpartition(".")[2] for url in sizes} >= {"js", "css"}
    assert sum(sizes.values()) <= FIRST_SCREEN_BYTES, sizes


def test_an_idle_overview_sends_at_most_twelve_requests_a_minute(page: Page) -> None:
    at(page, "/", "Overview")
    page.locator("[aria-busy=true]").first.wait_for(state="detached")
    page.wait_for_timeout(SETTLED_MS)
    sent: list[str] = []

    def note(request: Request) -> None:
        sent.append(request.url)

    page.on("request", note)
    page.wait_for_timeout(20_000)
    page.remove_listener("request", note)
    assert len(sent) <= 4, sent  # a third of a minute


def fill_in(visitor: Page, site: Site) -> None:
    """Sign in by the form that is on the screen."""
    visitor.get_by_label("User name").fill(site.username)
    visitor.get_by_role("textbox", name="Password").fill(site.password)
    visitor.get_by_role("button", name="Sign in").click()


def end_session(context: BrowserContext) -> None:
    """Take the session's cookie away."""
    context.clear_cookies(name="sessionid")
