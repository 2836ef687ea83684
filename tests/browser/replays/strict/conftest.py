"""A product whose table stays as strict as it was: what nobody mends fails again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.product import Product


@pytest.fixture(scope="package")
def own_product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """A whole product that tests may write to, whose columns nobody lets be null."""
    started = Product(tmp_path_factory.mktemp("strict")).start()
    yield started
    started.stop()
