"""Dead letters of two groups."""

from __future__ import annotations

import pytest

from tests.dlqadmin.deadletters.letters import NST, index, letter


@pytest.fixture
def indexed() -> None:
    index([letter(offset, partition=offset % 3) for offset in range(7)])
    index([letter(offset, message=NST) for offset in range(50, 53)])
