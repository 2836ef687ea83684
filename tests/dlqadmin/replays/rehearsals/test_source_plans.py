"""How PostgreSQL finds a few drafts of sources' records among many others: plans, never times."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import BulkFix, Fix, Rehearsal, Selection
from dlqadmin.replays.rehearsals import corrected_source_records
from tests.dlqadmin.deadletters.letters import NOW, index, letter

pytestmark = [
    pytest.mark.sql,
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps no figures to choose by"),
]
MANY = 3000


@pytest.fixture
def few(operator: User, viewer: User) -> list[int]:
    """Two drafts of sources' records beside the many that a bulk fix made, and somebody else's rehearsals."""
    index([letter(offset) for offset in range(MANY)])
    pks = list(DeadLetter.objects.order_by("pk").values_list("pk", flat=True))
    chosen = Selection.objects.create(created_at=NOW, filters={}, title="x", watermark=9, count=3, digest="d")
    bulk = BulkFix.objects.create(selection=chosen, author=operator, kind="jq", created_at=NOW, heartbeat=NOW)
    DeadLetter.objects.filter(pk__in=pks[:2]).update(original="unknown")
    Fix.objects.bulk_create(
        Fix(
            dead_letter_id=pk, author=operator, headers=b"", digest="d", bulk=None if pk in pks[:2] else bulk,
            created_at=NOW, updated_at=NOW,
        )
        for pk in pks
    )  # fmt: skip
    Rehearsal.objects.bulk_create(
        Rehearsal(author=operator if pk == pks[0] else viewer, wanted={"source": pk}, created_at=NOW, done_at=NOW)
        for pk in pks
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return pks[:2]


def scanned(queries: CaptureQueriesContext) -> list[str]:
    """Return the scans of whole tables in their plans, except those of empty partitions, which cost nothing."""
    found: list[str] = []
    with connection.cursor() as cursor:
        for query in queries.captured_queries:
            if query["sql"].startswith("SELECT"):
                cursor.execute("EXPLAIN " + query["sql"].replace("%", "%%"))
                lines = [str(row[0]) for row in cursor.fetchall()]
                found += [line for line in lines if "Seq Scan on" in line and "cost=0.00..0.00" not in line]
    return found


def test_drafts_of_sources_are_found_by_an_index(operator: User, few: list[int]) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert corrected_source_records.topics(operator, DeadLetter.objects.all()) == []
        assert corrected_source_records.written(operator, few) == {}
    assert len(queries.captured_queries) >= 4
    assert scanned(queries) == []
