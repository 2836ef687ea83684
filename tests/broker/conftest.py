"""What every test against a real broker shares."""

from __future__ import annotations

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def patience(settings: Settings) -> None:
    """A broker beside other suites may take longer for a first answer than a person is let wait for one."""
    settings.KAFKA_TIMEOUT_S = 20.0
