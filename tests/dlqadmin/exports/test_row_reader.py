"""What bounds the reading of an export: bytes in memory, and the time of a query."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dlqadmin.deadletters.index.column_values import pack_headers
from dlqadmin.deadletters.index.watermark import complete_up_to
from dlqadmin.deadletters.models import DeadLetterBody, Trace
from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.time_limits import QueryTimedOut
from dlqadmin.exports import row_reader
from dlqadmin.teams.reach import EVERYTHING
from tests.dlqadmin.deadletters.letters import NOW
from tests.dlqadmin.exports.conftest import VALUES

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
LONG = 20_000
LONG_HEADERS = pack_headers((("h", b"x" * LONG),))


def sizes() -> list[int]:
    """How many rows each slice of all dead letters has."""
    everything = Filters(NOW - timedelta(days=1), NOW + timedelta(days=1))
    return [
        len(rows) for rows in row_reader.slices(everything, 0, complete_up_to(), PayloadReader(None, EVERYTHING, ()))
    ]


@pytest.mark.parametrize(
    "lengthen",
    [
        lambda: DeadLetterBody.objects.update(headers=LONG_HEADERS),
        lambda: DeadLetterBody.objects.update(original_headers=LONG_HEADERS),
        lambda: Trace.objects.update(text="x" * LONG),
    ],
    ids=["headers", "original headers", "trace"],
)
def test_a_slice_is_cut_by_all_that_its_rows_bring(
    indexed: None, monkeypatch: pytest.MonkeyPatch, lengthen: Callable[[], int]
) -> None:
    monkeypatch.setattr(row_reader, "SLICE_BYTES", LONG)
    assert sizes() == [len(VALUES)]
    assert lengthen()
    assert sizes() == [1] * len(VALUES)


@pytest.mark.parametrize("step", ["_next_window", "_rows"])
def test_no_query_lasts_longer_than_it_may(indexed: None, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    quick = getattr(row_reader, step)

    def slow(*asked: Any) -> Any:
        time.sleep(0.3)
        return quick(*asked)

    monkeypatch.setattr(row_reader, "QUERY_S", 0.2)
    monkeypatch.setattr(row_reader, step, slow)
    with pytest.raises(QueryTimedOut):
        sizes()
