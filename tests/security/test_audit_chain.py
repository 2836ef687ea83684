"""Whoever can write to the database, but has no key, can't change the audit trail unseen."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit import chain as sealing
from dlqadmin.audit import digests, shipments
from dlqadmin.audit.entries import record
from dlqadmin.audit.models import AuditEntry, AuditHead, AuditShipment
from dlqadmin.audit.verification import verify
from dlqadmin.host.network import HOST
from tests.dlqadmin.conftest import person

pytestmark = pytest.mark.sql

ENTRIES = 6


@pytest.fixture
def chain(db: None) -> None:
    """Six sealed entries."""
    AuditEntry.objects.all().delete()
    for number in range(ENTRIES):
        record("somebody", "changed", "group", f"G-{number}", {"n": number, "rate": 1.5, "big": 1e22, "text": "é\0"})
    sealing.seal_all()


def sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def row(seq: int) -> Any:
    return AuditEntry.objects.filter(seq=seq)


def swap() -> None:
    """Exchange two entries, seals and all."""
    row(2).update(seq=99)
    row(3).update(seq=2)
    row(99).update(seq=3)


def insert() -> None:
    """Put an entry between two others, and number those after it anew."""
    for seq in range(ENTRIES, 3, -1):
        row(seq).update(seq=F("seq") + 1)
    copied = row(3).get()
    copied.pk, copied.seq, copied.actor = None, 4, "somebody else"
    copied.save()


def truncate() -> None:
    row(6).delete()
    row(5).delete()


def set_head_back() -> None:
    """Remove the last entry, and let the head say so."""
    row(6).delete()
    AuditHead.objects.update(seq=5, seal=row(5).get().seal)


def test_an_untouched_chain_is_intact(chain: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify().breaks == ()
    call_command("verify_audit")
    assert capsys.readouterr().out == f"6 entries are intact. Head: 6:{row(6).get().seal}\n"


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda: row(3).update(actor="somebody else"), "Entry 3 "),
        (lambda: row(3).update(detail={"n": 7}), "Entry 3 "),
        (lambda: row(3).update(address="192.0.2.9"), "Entry 3 "),
        (lambda: row(3).update(at=F("at") - timedelta(seconds=1)), "Entry 3 "),
        (lambda: row(3).update(seal="0" * 64), "Entry 3 "),
        (lambda: row(3).delete(), "Entry 3 is missing"),
        (lambda: row(1).delete(), "Entry 1 is missing"),
        (swap, "Entry 2 "),
        (insert, "Entry 4 "),
        (truncate, "the last 2 were removed"),
        (set_head_back, "The dashboard did not write the head of the chain"),
        (lambda: AuditHead.objects.all().delete(), "The head of the chain is missing"),
    ],
)
def test_the_first_break_is_found_and_the_command_fails(chain: None, act: Callable[[], Any], told: str) -> None:
    act()
    assert told in verify().breaks[0]
    with pytest.raises(CommandError, match="Intact up to"):
        call_command("verify_audit")


def test_a_chain_set_back_with_its_old_head_is_found_by_a_head_kept_elsewhere(chain: None) -> None:
    old = AuditHead.objects.values().get()
    record("somebody", "did", "something bad", "1")
    sealing.seal_all()
    kept = verify().head
    row(7).delete()
    AuditHead.objects.update(**old)
    assert verify().breaks == ()
    assert "the head kept elsewhere names entry 7" in verify(kept).breaks[0]
    with pytest.raises(CommandError):
        call_command("verify_audit", "--head", kept)


def test_an_entry_changed_or_forged_before_it_is_sealed_is_found(chain: None) -> None:
    record("somebody", "did", "something bad", "1")
    AuditEntry.objects.filter(seq=None).update(actor="somebody else")
    assert "An unsealed entry" in verify().breaks[0]
    sealing.seal_all()
    assert "Entry 7 " in verify().breaks[0]


def test_entries_that_nobody_seals_are_told(chain: None) -> None:
    made = record("somebody", "did", "something", "1")
    assert verify().breaks == ()
    made.at -= timedelta(minutes=5)
    made.digest = digests.entry_digest(made, digests.keys()[-1])
    made.save()
    assert "not sealed" in verify().breaks[0]


def test_nothing_is_sealed_on_top_of_a_chain_whose_head_is_gone(chain: None) -> None:
    AuditHead.objects.all().delete()
    record("somebody", "did", "something", "1")
    with pytest.raises(sealing.ChainHeadMissing):
        sealing.seal_all()
    assert AuditEntry.objects.filter(seq=None).count() == 1


def test_old_entries_stay_valid_when_their_key_is_named_and_no_new_one_is_made_with_it(
    chain: None, settings: Settings
) -> None:
    old = settings.AUDIT_KEY
    settings.AUDIT_KEY = "k" * 40
    assert "Entry 1 " in verify().breaks[0]
    settings.AUDIT_OLD_KEYS = [old]
    record("somebody", "did", "something", "1")
    sealing.seal_all()
    assert verify().breaks == ()
    settings.AUDIT_KEY, settings.AUDIT_OLD_KEYS = old, []
    record("somebody", "did", "something", "2")
    sealing.seal_all()
    settings.AUDIT_KEY, settings.AUDIT_OLD_KEYS = "k" * 40, [old]
    assert "Entry 8 " in verify().breaks[0]


def test_a_deleted_user_breaks_no_seal(db: None) -> None:
    user = person("leaver", "viewer")
    record(user, "did", "something", "1")
    sealing.seal_all()
    user.delete()
    sealing.seal_all()
    assert verify().breaks == ()


@pytest.mark.slow
def test_the_api_and_the_export_show_number_address_and_seal(chain: None) -> None:
    client = Client(REMOTE_ADDR="192.0.2.4")
    client.force_login(person("op", "operator"))
    sealing.seal_all()
    lines = exported(client, "/api/v1/audit/export")
    assert [line["seq"] for line in lines[:6]] == [1, 2, 3, 4, 5, 6]
    assert (lines[-1]["action"], lines[-1]["seq"]) == ("export", None)  # what is not sealed yet comes last
    assert exported(client, "/api/v1/audit/export?from=2099-01-01") == []
    sealing.seal_all()
    newest = client.get("/api/v1/audit?limit=1").json()["results"][0]
    assert (newest["action"], newest["address"]) == ("export", "192.0.2.4")
    assert newest["seal"] == row(newest["seq"]).get().seal


def exported(client: Client, path: str) -> list[Any]:
    response: Any = client.get(path)  # Django's types don't know that it streams
    assert response["Content-Type"] == "application/x-ndjson"

    async def read() -> bytes:
        return b"".join([page async for page in response.streaming_content])

    return [json.loads(line) for line in async_to_sync(read)().splitlines()]


def test_a_viewer_takes_no_audit_trail_away(db: None) -> None:
    client = APIClient()
    client.force_login(person("viewer-1", "viewer"))
    assert client.get("/api/v1/audit/export").status_code == 403


def test_the_command_exports_the_same_lines(chain: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("export_audit", "--from", "now-1h")
    assert [json.loads(line)["object_id"] for line in capsys.readouterr().out.splitlines()] == [
        f"G-{number}" for number in range(ENTRIES)
    ]
    with pytest.raises(CommandError):
        call_command("export_audit", "--from", "yesterday")


class Syslog:
    """A syslog server on a free port; keeps what it is sent."""

    def __init__(self) -> None:
        self.server = socket.create_server((HOST, 0))
        self.received = b""
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def target(self) -> str:
        return f"syslog:{HOST}:{self.server.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            with connection:
                while data := connection.recv(65536):
                    self.received += data

    def close(self) -> None:
        self.server.close()


def test_sealed_entries_are_shipped_in_order_and_once_while_nothing_fails(chain: None, settings: Settings) -> None:
    syslog = Syslog()
    try:
        settings.AUDIT_SHIP_TO = syslog.target
        assert shipments.ship() == ENTRIES
        assert shipments.ship() == 0
        record("somebody", "did", "something", "unsealed")
        assert shipments.ship() == 0
    finally:
        syslog.close()
    frames = syslog.received.split(b"<109>1 ")[1:]
    assert [json.loads(frame[frame.index(b"{") : frame.rindex(b"}") + 1])["seq"] for frame in frames] == [*range(1, 7)]
    assert b"unsealed" not in syslog.received


def test_a_receiver_that_is_away_is_seen_and_gets_all_later(chain: None, settings: Settings) -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
    settings.AUDIT_SHIP_TO = f"syslog:{HOST}:{port}"
    assert shipments.ship() == 0
    behind, trouble = shipments.shipping_lag()
    assert behind == ENTRIES
    assert "refused" in trouble
    syslog = Syslog()
    try:
        AuditShipment.objects.update(target=syslog.target)
        settings.AUDIT_SHIP_TO = syslog.target
        assert shipments.ship() == ENTRIES
    finally:
        syslog.close()
    assert shipments.shipping_lag() == (0, "")


@pytest.mark.slow
def test_health_tells_of_entries_that_are_neither_sealed_nor_shipped(chain: None, settings: Settings) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S = "127.0.0.1:1", 0.2
    settings.ENGINE_URL, settings.REDIS_URL = "http://127.0.0.1:1", "redis://127.0.0.1:1/0"
    settings.AUDIT_SHIP_TO = "syslog:127.0.0.1:1"
    client = APIClient()
    client.force_login(person("viewer-1", "viewer"))
    AuditEntry.objects.filter(seq=None).update(at=timezone.now() - timedelta(seconds=90))
    shipments.ship()
    audit = client.get("/api/v1/health").json()["audit"]
    assert audit["unsealed_seconds"] >= 90
    assert (audit["unshipped"], "refused" in audit["shipping_trouble"]) == (ENTRIES, True)


@pytest.mark.parametrize("target", ["kafka:", "syslog:", "syslog:host", "syslog:host:0", "http://x", "topic"])
def test_a_target_that_is_none_is_refused_by_the_check(target: str) -> None:
    with pytest.raises(shipments.InvalidShippingTarget, match="AUDIT_SHIP_TO"):
        shipments.sender(target)
