from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection

Beside = Callable[[Callable[[], object]], Future[Any]]


@pytest.fixture
def several_writers() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")


@pytest.fixture
def beside() -> Iterator[Beside]:
    """Runs something in a thread with a connection of its own, begun when this returns."""
    with ThreadPoolExecutor(4) as pool:

        def run(act: Callable[[], object]) -> Future[object]:
            begun = threading.Event()

            def whole() -> object:
                begun.set()
                try:
                    return act()
                finally:
                    connection.close()

            future = pool.submit(whole)
            begun.wait()
            return future

        yield run
