"""What holds for every screen; with SCREENS set, pictures of the widest and the narrowest go to docs/screens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import ConsoleMessage, Error, Page

from tests.browser.axe import OF_COLOUR, barriers

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "screens"
WIDTHS = {1440: 1000, 1280: 900, 390: 844}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PICTURED = {1440: "", 390: "-narrow"}
MOST_SHIFT = 0.05
# The sum of the shifts since the page was opened, without those that a person caused.
LAYOUT_SHIFT = """new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(sum), 100); // buffered entries arrive in a task of their own
})"""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@contextmanager
def without_complaints(page: Page) -> Iterator[None]:
    """Nothing in the block may write an error or a warning to the console, or raise."""
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        complaints.extend(complaint(message))

    def hear_error(error: Error) -> None:
        complaints.append(str(error))

    page.on("console", hear)
    page.on("pageerror", hear_error)
    try:
        yield
    finally:
        page.remove_listener("console", hear)
        page.remove_listener("pageerror", hear_error)
    assert complaints == []


def fits_everywhere(
    page: Page, screen: str, show: Callable[[], object] | None = None, height: int = 0, *, still: bool = False
) -> None:
    """Check that the screen fits at every width, is accessible where it looks different, and logs no error.

    `show` brings the screen up; without it the screen is there already. Afterwards the window is as it was.
    With `still`, `show` loads it on the widest and on the narrowest screen, and nothing may move meanwhile.
    """
    before = page.viewport_size
    shown = {max(WIDTHS), min(WIDTHS)} if still else {max(WIDTHS)}
    with without_complaints(page):
        for width, usual in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": height or usual})
            if show and width in shown:
                show()
                assert not still or page.evaluate(LAYOUT_SHIFT) <= MOST_SHIFT, f"{screen} moves at {width} px"
            for theme in THEMES:
                # Axe-core takes most of the time. The widest screen shows most, so the dark colours are checked there.
                axe = width in PICTURED if theme == THEMES[0] else width == max(WIDTHS)
                fits(page, screen, width, theme, axe=axe)
    page.emulate_media(color_scheme="light")
    if before:
        page.set_viewport_size(before)


def fits(page: Page, screen: str, width: int, theme: Literal["light", "dark"] = "light", *, axe: bool = True) -> None:
    """Check that the page fits the window of that width, and with `axe`, that it is accessible in that theme."""
    page.emulate_media(color_scheme=theme)
    page.locator(f"html[data-mantine-color-scheme={theme}]").wait_for()
    page.locator("[aria-busy=true]").first.wait_for(state="detached")
    page.evaluate(DRAWN)
    where = f"{screen}, {width} px, {theme}"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), where
    if axe:
        # A theme changes colours only.
        found = barriers(page, rules=OF_COLOUR if theme != THEMES[0] else ())
        assert not found, "\n".join([where, *found])
    if "SCREENS" in os.environ and width in PICTURED:
        page.screenshot(path=PICTURES / f"{screen}{PICTURED[width]}-{theme}.png")


def complaint(message: ConsoleMessage) -> list[str]:
    """The message, if it is one of a failure.

    A page at an unknown path has the status 404, which the browser reports too.
    """
    is_own_status = message.page is not None and message.location["url"] == message.page.url
    return [message.text] if message.type in {"error", "warning"} and not is_own_status else []
