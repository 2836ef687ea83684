"""What axe-core finds on a page: https://github.com/dequelabs/axe-core."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

SOURCE = Path(__file__).resolve().parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async (rules) => {
  const found = await axe.run(document, { resultTypes: ["violations"], ...(rules.length ? { runOnly: rules } : {}) });
  return found.violations
    .filter(({ impact }) => impact !== "minor")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(" ")}: ${node.failureSummary}`));
}"""
OF_COLOUR = ("color-contrast", "link-in-text-block")


def barriers(page: Page, rules: tuple[str, ...] = ()) -> list[str]:
    """The moderate, serious and critical violations on the page as it is shown now, one for each element.

    Without `rules`, axe-core checks all of its own.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(SOURCE.read_text())
    found: list[str] = page.evaluate(RUN, list(rules))
    return found
