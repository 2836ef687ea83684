"""Exports in the browser: a small one is downloaded at once, another is written by the worker."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

from playwright.sync_api import Download, Page, expect


def test_what_the_list_shows_is_downloaded_in_the_format_that_was_chosen(page: Page) -> None:
    # Given the records of one stage,
    page.goto("/records?stage=VALUE_CONVERTER&from=now-24h")
    page.get_by_test_id("record").first.wait_for()
    shown = page.get_by_test_id("shown").inner_text().rpartition(" ")[2]
    # when somebody exports them as CSV,
    page.get_by_role("button", name="Export").click()
    page.get_by_role("radio", name="CSV").check()
    with page.expect_download() as arriving:
        page.get_by_role("button", name="Download").click()
    # does the file hold all of them, and nothing else?
    rows = list(csv.DictReader(io.StringIO(text(arriving.value), newline="")))
    assert len(rows) == int(shown.replace(",", ""))
    assert {row["stage"] for row in rows} == {"VALUE_CONVERTER"}


def test_a_workers_file_can_be_fetched_checked_and_deleted(page: Page) -> None:
    # Given an export that the worker writes,
    ask(page, "ndjson", "stage=TASK_PUT&from=now-24h")
    page.goto("/exports")
    row = page.get_by_test_id("export").first
    expect(row.get_by_text("Complete")).to_be_visible(timeout=60_000)
    expect(row).to_contain_text("stage TASK_PUT; now-24h to now")
    # when somebody fetches it with its manifest,
    with page.expect_download() as arriving:
        row.get_by_role("link", name="Download").click()
    data = Path(arriving.value.path()).read_bytes()
    link = row.get_by_role("link", name="Manifest").get_attribute("href")
    manifest = page.request.get(link or "").json()
    # does one fit the other,
    assert manifest["sha256"] == hashlib.sha256(data).hexdigest()
    assert manifest["rows"] == len(data.splitlines()) > 0
    # and is the file gone when it is deleted?
    row.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the file").click()
    expect(row.get_by_text("File deleted")).to_be_visible()
    expect(row.get_by_role("link", name="Download")).to_have_count(0)


def ask(page: Page, form: str, query: str) -> None:
    """Ask for a file as the dialog does, which offers a worker's only of many records."""
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "csrftoken")
    headers = {"X-CSRFToken": token, "Referer": page.url}
    answer = page.request.post("/api/v1/exports", data={"format": form, "filter": query}, headers=headers)
    assert answer.status == 201, answer.text()


def text(download: Download) -> str:
    """What was downloaded."""
    return Path(download.path()).read_text()
