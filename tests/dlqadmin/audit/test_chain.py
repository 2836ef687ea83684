"""Acts at the same time neither wait for each other's entries nor leave a hole in the chain."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import Group
from django.db import connection, connections, transaction

from dlqadmin.audit import chain
from dlqadmin.audit.entries import record
from dlqadmin.audit.models import AuditEntry, AuditHead
from dlqadmin.audit.verification import verify

pytestmark = pytest.mark.sql

WRITERS, ACTS = 6, 15


@pytest.fixture
def many(transactional_db: None) -> Iterator[None]:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    AuditEntry.objects.all().delete()
    AuditHead.objects.all().delete()
    yield
    AuditEntry.objects.all().delete()
    AuditHead.objects.all().delete()


def run(*acts: Callable[[], None]) -> None:
    def closing(act: Callable[[], None]) -> None:
        try:
            act()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as threads:
        for done in [threads.submit(closing, act) for act in acts]:
            done.result(120)


def test_many_writers_and_sealers_make_one_chain_without_a_hole(many: None) -> None:
    groups = [Group.objects.get_or_create(name=f"group-{n}")[0].pk for n in range(2)]
    AuditEntry.objects.all().delete()
    AuditHead.objects.all().delete()

    def write(writer: int) -> None:
        # The entry first and other locks after it, by writers in the opposite order of each other's entries.
        mine, other = groups if writer % 2 else groups[::-1]
        for number in range(ACTS):
            with transaction.atomic():
                record(f"writer-{writer}", "did", "act", f"{number}")
                Group.objects.select_for_update().get(pk=min(mine, other))
                if number % 5 == 4:
                    transaction.set_rollback(True)

    def seal() -> None:
        for _ in range(20):
            chain.seal_all()

    run(*[lambda writer=writer: write(writer) for writer in range(WRITERS)], seal, seal)
    chain.seal_all()
    assert verify().breaks == ()
    assert verify().entries == WRITERS * ACTS * 4 // 5
    assert list(AuditEntry.objects.order_by("seq").values_list("seq", flat=True)) == [*range(1, verify().entries + 1)]


def test_an_entry_committed_late_gets_a_later_number(many: None) -> None:
    written, sealed = threading.Event(), threading.Event()

    def late() -> None:
        with transaction.atomic():
            record("late", "did", "act", "1")
            written.set()
            assert sealed.wait(60)

    def early() -> None:
        assert written.wait(60)
        record("early", "did", "act", "2")
        chain.seal_all()
        sealed.set()

    run(late, early)
    chain.seal_all()
    assert list(AuditEntry.objects.order_by("seq").values_list("actor", flat=True)) == ["early", "late"]
    assert verify().breaks == ()


def test_an_entry_is_sealed_with_its_commit(many: None) -> None:
    with transaction.atomic():
        entry = record("somebody", "did", "act", "1")
        assert AuditEntry.objects.get(pk=entry.pk).seq is None
    assert AuditEntry.objects.get(pk=entry.pk).seq == 1


def test_a_sealer_at_work_keeps_no_act_waiting(many: None) -> None:
    done = threading.Event()

    def hold() -> None:
        with transaction.atomic():
            AuditHead.objects.get_or_create(pk=AuditHead.ID)
            AuditHead.objects.select_for_update().get(pk=AuditHead.ID)
            held.set()
            assert done.wait(60)

    def act() -> None:
        assert held.wait(60)
        record("somebody", "did", "act", "1")
        done.set()

    held = threading.Event()
    AuditHead.objects.get_or_create(pk=AuditHead.ID)
    run(hold, act)
    assert AuditEntry.objects.filter(seq=None).count() == 1


def test_entries_of_before_the_chain_are_sealed_in_their_order(db: None) -> None:
    AuditEntry.objects.all().delete()
    for number in range(3):
        AuditEntry.objects.create(actor=f"{number}", action="did", object_type="t", object_id="1", digest="an old hash")
    import_module("dlqadmin.audit.migrations.0003_seal_entries").seal(apps, None)
    assert list(AuditEntry.objects.order_by("seq").values_list("seq", "actor")) == [(1, "0"), (2, "1"), (3, "2")]
    assert verify().breaks == ()
