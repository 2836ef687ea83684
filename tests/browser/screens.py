"""What holds for every screen; with SCREENS set, pictures of the widest and the narrowest go to docs/screens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import ConsoleMessage, Page

from tests.browser.axe import barriers

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "screens"
WIDTHS = {1440: 1000, 1280: 900, 390: 844}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PICTURED = {1440: "", 390: "-narrow"}


@contextmanager
def fits(page: Page, screen: str, width: int, height: int = 0) -> Iterator[None]:
    """Set the window's size; what is shown in the block must fit it, bar nobody, and nothing may complain."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.extend(complaint(message)))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_viewport_size({"width": width, "height": height or WIDTHS[width]})
    yield
    page.locator("[aria-busy=true]").first.wait_for(state="detached")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert complaints == []
    found = barriers(page)
    assert not found, "\n".join(found)
    if "SCREENS" in os.environ and width in PICTURED:
        theme = page.evaluate("document.documentElement.dataset.mantineColorScheme")
        page.screenshot(path=PICTURES / f"{screen}{PICTURED[width]}-{theme}.png")


def fits_everywhere(page: Page, screen: str, show: Callable[[], object] | None = None, height: int = 0) -> None:
    """What is on the screen fits at every width, in both themes; afterwards the window is as it was.

    `show` brings the screen up, once at each width; without it the screen is there already.
    """
    before = page.viewport_size
    for width in WIDTHS:
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            with fits(page, screen, width, height):
                if show and theme == THEMES[0]:
                    show()
                page.locator(f"html[data-mantine-color-scheme={theme}]").wait_for()
    page.emulate_media(color_scheme="light")
    if before:
        page.set_viewport_size(before)


def complaint(message: ConsoleMessage) -> list[str]:
    """The message, if it is one of a failure."""
    return [message.text] if message.type in {"error", "warning"} else []
