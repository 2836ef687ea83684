from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.search.counters import CounterCell, cells, columns, count
from dlqadmin.deadletters.search.filter_queries import apply
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded
from tests.dlqadmin.deadletters.letters import GAP, NOW, NOW_MS, NST, index, letter

pytestmark = pytest.mark.sql

MINUTES = st.integers(0, 6 * 24 * 60)


@pytest.mark.slow
class TestCounters(TestCase):
    """Counters against scans, over arbitrary times and ranges."""

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(st.tuples(MINUTES, st.sampled_from([GAP, NST]), st.sampled_from(["a", "b"])), max_size=25),
        st.tuples(MINUTES, MINUTES),
        st.sampled_from([{}, {"stage": ("TASK_PUT",)}, {"connector": ("a",)}, {"topic": ("no.such",)}]),
    )
    def test_counters_equal_a_scan_of_any_range(
        self, letters: list[tuple[int, str, str]], bounds: tuple[int, int], include: dict[str, tuple[str, ...]]
    ) -> None:
        index(
            [
                letter(number, at_ms=NOW_MS - minutes * 60_000, message=message, connector=connector)
                for number, (minutes, message, connector) in enumerate(letters)
            ]
        )
        first, last = max(bounds), min(bounds)
        filters = Filters(NOW - timedelta(minutes=first), NOW - timedelta(minutes=last - 1), include)
        rows = apply(filters, DeadLetter.objects.all()).values_list("fingerprint_id", "cluster", "topic", "connector")
        scanned = Counter(CounterCell(*row) for row in rows)
        assert cells(filters) == scanned
        assert count(filters) == scanned.total()
        assert _without_time(columns(filters, 0, 3)) == Counter((row[2], row[0]) for row in rows)


@pytest.mark.django_db
def test_a_query_that_takes_too_long_is_ended() -> None:
    index([letter(offset) for offset in range(300)])
    endless = DeadLetter.objects.raw(
        "SELECT a.* FROM deadletters_deadletter a, deadletters_deadletter b, deadletters_deadletter c, "
        "deadletters_deadletter d WHERE a.id + b.id + c.id + d.id < 0"
    )
    with pytest.raises(QueryTimedOut), bounded(0.05):
        list(endless)
    assert DeadLetter.objects.count() == 300


@pytest.mark.django_db
def test_a_column_holds_what_failed_in_its_hours() -> None:
    index([letter(hours, at_ms=NOW_MS - hours * 3_600_000) for hours in range(12)])
    found = list(columns(Filters(NOW - timedelta(hours=20), NOW + timedelta(hours=1)), 2, 5))
    assert {(hour - 2) % 5 for hour, _, _, _ in found} == {0}
    assert max(Counter(hour for hour, _, _, n in found for _ in range(n)).values()) == 5
    assert sum(n for _, _, _, n in found) == 12


def _without_time(found: Iterable[tuple[int, str, int, int]]) -> Counter[tuple[str, int]]:
    total: Counter[tuple[str, int]] = Counter()
    for _, topic, fingerprint, n in found:
        total[topic, fingerprint] += n
    return total
