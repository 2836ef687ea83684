from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from tests.dlqadmin.deadletters.letters import NOW_MS, index, letter

VALUES = [b'{"a": 1e2, "a": 12345678901234567890}', b"\x00\xff", b"", None, b'=cmd()|"\r\n', "naïve ✓".encode()]


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> Path:
    """Where this test's files are written."""
    settings.EXPORTS_DIR = tmp_path / "exports"
    return tmp_path / "exports"


@pytest.fixture
def indexed(db: None) -> None:
    """One dead letter of each of the values, as key, value and header."""
    index([letter(n, value=value, key=value, headers=(("h", value),), at_ms=NOW_MS) for n, value in enumerate(VALUES)])
