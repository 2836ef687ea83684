"""What a person does on the way from a failure to its outcome."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

PLANNED_MS = 30_000
SETTLED_MS = 90_000
ONE = re.compile(r"^Showing 1 of 1\+?\s*$")  # "1+" while the text of newer records is still to be indexed
# The middle of the first such word in a text whose words are spread over many nodes.
MIDDLE_OF_WORD = """(root, word) => {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const at = node.data.indexOf(word);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + word.length);
    const box = range.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  }
  throw new Error(`${word} is not to be seen`);
}"""


def open_record(page: Page, key: str) -> None:
    """Search for a key and open the one record found."""
    page.goto("/records")
    page.get_by_label("Add a filter, or search messages and keys").fill(key)
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("shown")).to_have_text(ONE)
    page.get_by_test_id("record").click()
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()


def start_fix(page: Page) -> None:
    """Go from the record on the screen to its fix."""
    press(page, "Fix and replay…").click()
    expect(page.get_by_text("Dry run: nothing has been written")).to_be_visible()
    expect(edited(page)).to_be_visible()


def edited(page: Page) -> Locator:
    """The text of the value that can be typed in."""
    return page.get_by_role("textbox", name="Edited value")


def overwrite(page: Page, text: str) -> None:
    """Select the whole value and paste another one."""
    edited(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def replace_word(page: Page, word: str, other: str) -> None:
    """Double-click a word of the value and type another one."""
    edited(page).scroll_into_view_if_needed()
    x, y = edited(page).evaluate(MIDDLE_OF_WORD, word)
    page.mouse.dblclick(x, y)
    page.keyboard.type(other)


def replace_after(page: Page, name: str, value: str, other: str) -> None:
    """Go behind a member's name, and type over its value."""
    edited(page).scroll_into_view_if_needed()
    x, y = edited(page).evaluate(MIDDLE_OF_WORD, name)
    page.mouse.dblclick(x, y)
    for _ in range(len('":') + 1):  # the first one only leaves the selection
        page.keyboard.press("ArrowRight")
    for _ in value:
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.type(other)


def open_group(page: Page, words: str) -> Locator:
    """Choose the group with these words; return its panel."""
    page.goto("/groups")
    row = page.get_by_test_id("group").filter(has_text=words)
    row.click()
    # Until then the panel shows the first group, whose history may name this one.
    expect(row).to_have_attribute("aria-selected", "true")
    chosen = page.get_by_role("region", name="Chosen group")
    expect(chosen).to_contain_text(words)
    return chosen


def plan_group(page: Page, words: str, count: int) -> None:
    """Freeze a group and come to its plan."""
    open_group(page, words)
    press(page, f"Replay {count} open…").click()
    planned = page.get_by_role("heading", name=f"Replay {count} record")
    expect(planned).to_be_visible(timeout=PLANNED_MS)
    expect(page.get_by_text("Dry run: nothing has been written")).to_be_visible()
    expect(page.get_by_test_id("plan")).to_contain_text("Selection frozen")


def all_at_once(page: Page) -> None:
    """Switch off, under More options, what would pause a replay whose records fail again."""
    page.get_by_role("button", name="More options").click()
    for label in ("Sizes of the canary's steps", "Percent that failed again"):
        with page.expect_response(re.compile(r"/replays/\d+/plan$")):
            page.get_by_label(label).fill("")
            page.get_by_label(label).press("Tab")
    page.get_by_role("button", name="Fewer options").click()
    expect(page.get_by_role("region", name="Send")).to_contain_text("none, all at once")


def run(page: Page, count: int, reason: str) -> None:
    """Say why, and send."""
    page.get_by_label("Reason").fill(reason)
    page.get_by_role("button", name=re.compile(rf"^Replay {count} records?$")).click()


def expect_outcome(page: Page, state: str, count: int, words: str) -> None:
    """Wait until so many items are in a state, as the outcome panel says."""
    expect(page.get_by_test_id("status")).to_be_visible()
    figure = page.get_by_test_id(f"figure-{state}")
    expect(figure).to_contain_text(re.compile(rf"(^|\D){count:,} {words}"), timeout=SETTLED_MS)


def timeline(page: Page) -> Locator:
    """What happened to the record on the screen, by time."""
    return page.locator("section").filter(has=page.get_by_role("heading", name="Timeline"))


def press(page: Page, name: str) -> Locator:
    """A button, or a link that looks like one."""
    return page.get_by_role("button", name=name).or_(page.get_by_role("link", name=name)).first
