"""What surrounds every screen: going anywhere by key or name, what does not hold at present, who may write."""

from __future__ import annotations

import gzip
import re

import pytest
from playwright.sync_api import BrowserContext, Page, Response, Route, expect

from tests.browser.axe import barriers
from tests.browser.conftest import Site, sign_in

FIRST_SCREEN_BYTES = 400_000
AWAY_MS = 45_000


def changed_health(page: Page, **index: int) -> None:
    """Let the server's word on the index be this from now on."""

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


def test_coordinates_of_nothing_say_so(page: Page) -> None:
    at(page, "/", "Overview")
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Go to").fill("usgs.earthquakes.dlq/0/99999999")
    expect(page.get_by_role("dialog")).to_contain_text("No dead letter with these coordinates is indexed.")


def test_a_topic_a_group_and_a_connector_are_found_by_name(page: Page) -> None:
    at(page, "/", "Overview")
    for text, section in (("dlq", "Dead letter topics"), ("earthquakes.gap", "Groups"), ("usgs-to-sql", "Connectors")):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Go to").fill(text)
        expect(page.get_by_role("dialog")).to_contain_text(section)
        page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("usgs-to-sql")
    page.get_by_role("option", name="usgs-to-sql").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("usgs-to-sql")


@pytest.mark.parametrize(("key", "screen"), [("g", "Groups"), ("r", "Records"), ("j", "Replays"), ("d", "Overview")])
def test_g_and_a_letter_go_to_a_screen(page: Page, key: str, screen: str) -> None:
    at(page, "/connectors", "Connectors")
    page.keyboard.press("g")
    page.keyboard.press(key)
    expect(page.get_by_role("heading", name=screen, level=1)).to_be_visible()


def test_the_keys_are_told_and_closing_them_gives_the_screen_back(themed: Page) -> None:
    themed.goto("/groups")
    themed.get_by_test_id("group").first.wait_for()
    themed.keyboard.press("?")
    expect(themed.get_by_test_id("keys")).to_contain_text("then: Records")
    assert barriers(themed) == []
    themed.keyboard.press("Escape")
    expect(themed.get_by_test_id("keys")).to_be_hidden()


def test_a_record_says_how_long_kafka_keeps_it_and_its_origin(page: Page) -> None:
    page.goto("/records?stage=VALUE_CONVERTER")
    page.get_by_test_id("record").first.click()
    clock = page.get_by_test_id("retention")
    expect(clock.locator("div").filter(has_text="Dead letter")).to_contain_text(re.compile(r"6 d \d+ h of 7 d"))
    expect(clock.locator("div").filter(has_text="Origin record")).to_contain_text(re.compile(r"6 d \d+ h of 7 d"))
    expect(clock.locator("div").filter(has_text="Copy in index")).to_contain_text("kept")


def test_an_index_that_is_behind_is_said_above_every_screen(page: Page) -> None:
    changed_health(page, records_behind=12_400, seconds_behind=40)
    page.goto("/records")
    expect(page.get_by_text("The index is 12,400 records behind (≈ 40 s)")).to_be_visible()
    assert barriers(page) == []


def test_a_server_that_is_away_is_said_with_the_age_of_what_is_shown(page: Page) -> None:
    page.goto("/groups")
    page.get_by_test_id("group").first.wait_for()
    page.route("**/api/**", lambda route: route.abort())
    expect(page.get_by_text(re.compile(r"The server has not answered for \d+ s\."))).to_be_visible(timeout=AWAY_MS)
    expect(page.get_by_test_id("group").first).to_be_visible()


def test_an_ended_session_says_so_and_signing_in_comes_back_to_the_page(visitor: Page, site: Site) -> None:
    sign_in(visitor, site.username, site.password)
    visitor.goto("/connectors/usgs-to-sql")
    visitor.get_by_role("heading", level=1).wait_for()
    end_session(visitor.context)
    expect(visitor.get_by_text("Your session has ended.")).to_be_visible(timeout=15_000)
    assert barriers(visitor) == []
    visitor.get_by_label("User name").fill(site.username)
    visitor.get_by_role("textbox", name="Password").fill(site.password)
    visitor.get_by_role("button", name="Sign in").click()
    expect(visitor.get_by_role("heading", level=1)).to_have_text("usgs-to-sql")


def end_session(context: BrowserContext) -> None:
    context.clear_cookies(name="sessionid")


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


def test_signing_in_and_the_first_screen_take_less_than_400_kb(visitor: Page, site: Site) -> None:
    kept: list[Response] = []

    def keep(response: Response) -> None:
        kept.append(response)

    visitor.on("response", keep)
    sign_in(visitor, site.username, site.password)
    visitor.wait_for_load_state("networkidle")
    sizes = {one.url: len(gzip.compress(one.body())) for one in kept if one.status == 200 and "/api/" not in one.url}
    assert {url.rpartition(".")[2] for url in sizes} >= {"js", "css"}
    assert sum(sizes.values()) < FIRST_SCREEN_BYTES, sizes


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_form_to_sign_in_bars_nobody(visitor: Page, theme: str) -> None:
    visitor.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    visitor.goto("/")
    visitor.get_by_label("User name").wait_for()
    assert barriers(visitor) == []
