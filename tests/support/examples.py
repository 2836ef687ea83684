"""Numbers of Hypothesis examples: dozens in `make test`, hundreds in `make soak`."""

from __future__ import annotations

import pytest


def examples(few: int, many: int) -> pytest.MarkDecorator:
    """Run a test with `few` examples, and with `many` as a soak test, which takes minutes."""
    soak = pytest.param(many, marks=pytest.mark.soak, id=f"{many}-examples")
    return pytest.mark.parametrize("count", [pytest.param(few, id=f"{few}-examples"), soak])
