from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from tests.support.http_target import HttpTarget, http_target


@pytest.fixture(autouse=True)
def loopback_allowed(settings: Settings) -> None:
    settings.ALERT_PRIVATE_HOSTS = ["127.0.0.0/8"]


@pytest.fixture
def target() -> Iterator[HttpTarget]:
    with http_target() as running:
        yield running
