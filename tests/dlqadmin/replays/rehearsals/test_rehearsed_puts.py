"""After the sandbox, the engine rehearses the put of the records that reached it, or the stage says why not."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from msgspec.structs import replace

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.replays.rehearsals.rehearsed_puts import PutAnswer, PutTrialAnswer, sentence
from engine.config.worker import parse_worker
from engine.rest.put_rehearsals import PutRehearsals
from tests.dlqadmin.deadletters.letters import index_one, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.rehearsals.test_rehearsal_jobs import CONFIG, CONNECTOR, one, rehearse, states

ON = {**CONFIG, "rehearsal.put.enabled": "true"}
ANSWER = {
    "connector": CONNECTOR, "class": "SqlSink", "table": "earthquakes", "database": "sqlite", "took_ms": 41,
    "rows_before": 1237, "rows_after": 1237, "records": [{"state": "ok"}],
}  # fmt: skip
NULL = {"state": "failed", "exception_class": "sqlite3.IntegrityError", "message": "NOT NULL constraint failed: q.gap"}

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_each_record_that_reaches_the_put_gets_its_result(engine: FakeEngine, operator: User) -> None:
    engine.add(CONNECTOR, ON)
    engine.answer = 200, {**ANSWER, "records": [{"state": "ok"}, NULL]}
    rows = [
        index_one(letter(n, value=value)) for n, value in enumerate((b'{"mag": 1}', b'{"mag": "x"}', b'{"mag": 2}'))
    ]
    found = rehearse(operator, {"dead_letters": [row.pk for row in rows], "draft": False}).result
    passes, fails_before, fails = found
    assert states(passes) == ["ok"] * 5
    assert passes["verdict"] == "fixed_here"
    assert passes["text"].startswith("TASK_PUT (SqlSink) failed before and passes now. The sink wrote its row")
    assert passes["stages"][4]["after"]["value"]["value"] == '{"mag":1.0}'
    assert states(fails_before)[3:] == ["failed", "not_reached"]
    assert (fails["verdict"], fails["stages"][4]["message"]) == ("still_fails", NULL["message"])
    text = "SqlSink wrote 1 of 2 rows in one transaction, rolled back after 41 ms. Table earthquakes: 1,237 rows"
    assert passes["put"] == fails["put"]
    assert passes["put"]["text"] == f"{text} before and after."
    assert "put" not in fails_before

    assert engine.calls == [("POST", f"/connectors/{CONNECTOR}/put-rehearsal")]
    sent = [
        {"key": (as_bytes(row.body.key) or b"").decode(), "value": {"map": [["mag", mag]]}}
        for row, mag in ((rows[0], 1.0), (rows[2], 2.0))
    ]
    assert engine.bodies == [{"records": sent}]


def test_a_rehearsed_put_is_audited_even_if_its_answer_is_lost(engine: FakeEngine, operator: User) -> None:
    engine.add(CONNECTOR, ON)
    engine.answer = 500, b"not JSON"
    rehearse(operator, {"dead_letters": [index_one(letter(n)).pk for n in range(2)], "draft": False})
    entry = AuditEntry.objects.get(action="rehearsed put")
    assert (entry.user, entry.object_type, entry.object_id) == (operator, "connector", CONNECTOR)
    assert entry.detail == {"records": 2}


def test_a_connector_that_does_not_allow_it_is_not_asked(engine: FakeEngine, operator: User) -> None:
    engine.add(CONNECTOR, CONFIG)
    found = one(operator, index_one(letter(1)))
    assert found["stages"][4]["note"] == "SqlSink would write to a database, and rehearsal.put.enabled is false"
    assert "rehearsal.put.enabled is false" in found["text"]
    assert (engine.calls, AuditEntry.objects.filter(action="rehearsed put").count()) == ([], 0)


@pytest.mark.parametrize(
    ("status", "answer", "note"),
    [
        (409, {"message": "another put of c is being rehearsed; try again later"},
         "the engine did not rehearse the put: another put of c is being rehearsed; try again later"),
        (404, {"message": "Not Found"}, "the engine did not rehearse the put: Not Found"),
        (200, b"<html>", "the engine did not respond to the rehearsal of the put"),
        (200, {"records": []}, "the engine did not rehearse the put: Object missing required field `class`"),
        (200, {**ANSWER, "records": []}, "the engine did not rehearse the put: its answer has 0 results for 1 records"),
    ],
)  # fmt: skip
def test_without_a_result_the_stage_says_why(
    status: int, answer: Any, note: str, engine: FakeEngine, operator: User
) -> None:
    engine.add(CONNECTOR, ON)
    engine.answer = status, answer
    found = one(operator, index_one(letter(1)))
    assert (found["verdict"], found["stages"][4]["state"]) == ("not_rehearsable", "not_rehearsable")
    assert found["stages"][4]["note"] == note
    assert "put" not in found


def test_the_engine_understands_what_the_sandbox_tells(engine: FakeEngine, operator: User, tmp_path: Path) -> None:
    """The dashboard's request, given to the engine's own code with a real file."""
    with sqlite3.connect(tmp_path / "put.sqlite3") as connection:
        connection.execute("CREATE TABLE earthquakes (id TEXT PRIMARY KEY, mag REAL NOT NULL)")
    config = {**ON, "insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id"}
    own = {**config, "connection.url": f"sqlite:///{tmp_path}/put.sqlite3"}
    puts = PutRehearsals(parse_worker({"file.connectors.root": str(tmp_path)}))
    engine.respond = lambda body: puts.run(CONNECTOR, own, body)
    engine.add(CONNECTOR, config)
    rows = [index_one(letter(n, value=value)) for n, value in enumerate((b'{"mag": 1}', b'{"mag": null}'))]
    good, bad = rehearse(operator, {"dead_letters": [row.pk for row in rows], "draft": False}).result
    assert (good["verdict"], bad["verdict"]) == ("fixed_here", "still_fails")
    assert bad["text"] == "TASK_PUT (SqlSink) still fails: NOT NULL constraint failed: earthquakes.mag"
    assert good["put"]["text"].endswith("Table earthquakes: 0 rows before and after.")


def test_the_sentence_tells_the_rows_as_far_as_they_are_known() -> None:
    answer = PutAnswer("a.b.SqlSink", "q", 3, 10, 12, (PutTrialAnswer("ok"),))
    assert sentence(answer) == (
        "SqlSink wrote 1 row in one transaction, rolled back after 3 ms. "
        "Table q: 10 rows before, 12 after, because others write to it."
    )
    assert sentence(replace(answer, rows_after=None)).endswith("The rows of table q were not counted.")
