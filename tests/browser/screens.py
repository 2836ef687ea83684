"""What holds for every screen; with SCREENS set, the desktop's pictures go to docs/screens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import ConsoleMessage, Page

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "screens"
WIDTHS = {1440: 1000, 1280: 900, 390: 844}


@contextmanager
def fits(page: Page, screen: str, width: int, height: int = 0) -> Iterator[None]:
    """Set the window's size; what is shown in the block must fit it, and nothing may complain."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.extend(complaint(message)))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_viewport_size({"width": width, "height": height or WIDTHS[width]})
    yield
    page.locator("[aria-busy=true]").first.wait_for(state="detached")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert complaints == []
    if "SCREENS" in os.environ and width == max(WIDTHS):
        theme = page.evaluate("document.documentElement.dataset.mantineColorScheme")
        page.screenshot(path=PICTURES / f"{screen}-{theme}.png")


def complaint(message: ConsoleMessage) -> list[str]:
    """The message, if it is one of a failure."""
    return [message.text] if message.type in {"error", "warning"} else []
