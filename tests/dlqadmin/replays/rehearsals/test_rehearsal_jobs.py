"""Rehearsals of dead letters in a real process of the engine; what can't be rehearsed says why in one sentence."""

from __future__ import annotations

import json
import logging
import os
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from msgspec.structs import replace

from dlqadmin.deadletters.index.column_values import pack_headers
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import BulkFix, Fix, Rehearsal, Selection
from dlqadmin.replays.rehearsals import sandboxed_run
from dlqadmin.replays.rehearsals.rehearsal_jobs import create, perform
from dlqadmin.replays.rehearsals.sandboxed_run import RunLimits
from tests.dlqadmin.deadletters.letters import NOW, index_one, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.spark_queries import report

CONNECTOR = "usgs-to-sql"
TRANSFORMS = "org.apache.kafka.connect.transforms"
CONFIG = {
    "connector.class": "SqlSink",
    "topics": "usgs.earthquakes",
    "connection.url": "postgresql://quake:hunter2@db/quakes",
    "table.name": "earthquakes",
    "value.converter.schemas.enable": "false",
    "transforms": "cast",
    "transforms.cast.type": f"{TRANSFORMS}.Cast$Value",
    "transforms.cast.spec": "mag:float64",
}
CAST = f"{TRANSFORMS}.Cast$Value".encode()
ENDLESS = b'"at":[1,3]'  # the second record, and its fourth stage
CODE = """
import os
from msgspec.structs import replace
class Base:
    def configure(self, configs): pass
class Endless(Base):
    def apply(self, record):
        while record.value == {"mag": "endless"}: pass
        return record
class Hungry(Base):
    def apply(self, record): return [0] * 10**10
class Floods(Base):
    def apply(self, record): return replace(record, headers=(("h", None, "x" * 1000),) * 10_000)
class Exits(Base):
    def apply(self, record): os._exit(3)
class Tells(Base):
    def apply(self, record): raise ValueError(" ".join(f"{name}={value}" for name, value in os.environ.items()))
"""

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def broken(offset: int = 1, value: bytes | None = b'{"mag": "strong"}', **more: Any) -> DeadLetter:
    """A record that the cast refused."""
    told = {"stage": "TRANSFORMATION", "exception": "engine.errors.TransformError", "message": "no number"}
    message = letter(offset, value=value, **{**told, **more})
    headers = tuple((name, CAST if name.endswith("class.name") and data == b"SqlSink" else data)
                    for name, data in message.headers)  # fmt: skip
    return index_one(replace(message, headers=headers))


def fixed(row: DeadLetter, author: User, value: bytes, bulk: BulkFix | None = None) -> Fix:
    message = Outgoing(b"ci37868135", value, ())
    return Fix.objects.create(
        dead_letter=row, author=author, key=message.key, value=value, headers=pack_headers(()),
        digest=message.digest, bulk=bulk, created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def rehearse(author: User, wanted: dict[str, Any], limits: RunLimits = RunLimits()) -> Rehearsal:  # noqa: B008, frozen
    made = create(author, wanted, NOW)
    perform(made.pk, limits)
    made.refresh_from_db()
    assert made.done_at is not None
    return made


def one(author: User, row: DeadLetter, *, draft: bool = True, **more: Any) -> dict[str, Any]:
    found = rehearse(author, {"dead_letters": [row.pk], "draft": draft}, **more)
    assert found.trouble == ""
    result: dict[str, Any] = found.result[0]
    return result


def states(result: dict[str, Any]) -> list[str]:
    return [stage["state"] for stage in result["stages"]]


def test_drafts_are_rehearsed_where_the_records_failed_and_once(
    engine: FakeEngine, operator: User, viewer: User
) -> None:
    engine.add(CONNECTOR, CONFIG)
    good, bad, of_another, refused_by_the_sink = (
        broken(1),
        broken(2),
        broken(3),
        index_one(letter(4, value=b'{"mag": 1}')),
    )
    fixed(good, operator, b'{"mag": "1.5"}')
    fixed(bad, operator, b'{"mag": "weak"}')
    fixed(of_another, viewer, b'{"mag": 1}')
    rows = [good, bad, of_another, refused_by_the_sink]
    made = rehearse(operator, {"dead_letters": [row.pk for row in rows], "draft": True})
    assert made.trouble == ""
    by_row = {result["dead_letter"]["id"]: result for result in made.result}
    passes, fails, others, sinks = (by_row[row.pk] for row in rows)

    assert passes["verdict"] == "fixed_here"
    assert passes["text"] == "TRANSFORMATION 'cast' failed before and passes now. The sink itself is not rehearsed."
    assert states(passes) == ["ok", "ok", "ok", "ok", "not_rehearsable"]
    assert json.loads(passes["stages"][3]["after"]["value"]["value"]) == {"mag": 1.5}
    assert (passes["edited"], passes["failed_before"]) == (True, 3)

    assert fails["verdict"] == "still_fails"
    assert fails["text"].startswith("TRANSFORMATION 'cast' still fails: ")
    assert "weak" in fails["text"]

    assert (others["verdict"], others["edited"]) == ("still_fails", False)  # another one's draft is nobody else's

    assert sinks["verdict"] == "not_rehearsable"
    assert "SqlSink would write to a database" in sinks["text"]

    perform(made.pk)
    assert Rehearsal.objects.get(pk=made.pk).done_at == made.done_at


def test_without_the_draft_the_record_goes_as_it_was(engine: FakeEngine, operator: User) -> None:
    engine.add(CONNECTOR, CONFIG)
    row = broken()
    fixed(row, operator, b'{"mag": 1}')
    result = one(operator, row, draft=False)
    assert (result["verdict"], result["edited"]) == ("still_fails", False)


def test_the_records_of_a_bulk_fix_are_rehearsed_together(engine: FakeEngine, operator: User) -> None:
    engine.add(CONNECTOR, CONFIG)
    chosen = Selection.objects.create(created_at=NOW, filters={}, title="x", watermark=9, count=3, digest="d")
    bulk = BulkFix.objects.create(
        selection=chosen, author=operator, kind="jq", program=".", created_at=NOW, heartbeat=NOW
    )
    for offset, value in enumerate((b'{"mag": 1}', b'{"mag": "x"}', b"{")):
        fixed(broken(offset), operator, value, bulk)
    found = rehearse(operator, {"bulk": bulk.pk, "sample": 2})
    assert [row["verdict"] for row in found.result] == ["fixed_here", "still_fails"]


@pytest.fixture
def plug(engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def of(name: str) -> None:
        folder = tmp_path / "plugins"  # tmp_path itself is closed to other users, as the sandbox's is one
        folder.mkdir()
        (folder / "foreign.py").write_text(CODE)
        monkeypatch.setenv("PYTHONPATH", str(folder))
        plain = {key: value for key, value in CONFIG.items() if not key.startswith("transforms")}
        engine.add(CONNECTOR, {**plain, "transforms": "own", "transforms.own.type": f"foreign.{name}"})

    return of


def test_an_endless_transform_is_ended_and_what_came_before_it_is_kept(
    plug: Any, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, passed, read = time.monotonic(), 0.0, os.read

    def read_until_it_hangs(descriptor: int, most: int) -> bytes:
        """Leave about half a second when the engine begins the stage that does not end."""
        nonlocal passed
        if ENDLESS in (data := read(descriptor, most)):
            passed = 899.5 - (time.monotonic() - began)
        return data

    monkeypatch.setattr(os, "read", read_until_it_hangs)
    monkeypatch.setattr(sandboxed_run, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed))
    plug("Endless")
    rows = [broken(n, value) for n, value in enumerate((b'{"mag": 1}', b'{"mag": "endless"}', b'{"mag": 2}'))]
    wanted = {"dead_letters": [row.pk for row in rows], "draft": False}
    first, second, third = rehearse(operator, wanted, RunLimits(wall_s=900.0, cpu_s=60)).result
    assert first["stages"][3]["state"] == "ok"
    assert second["text"] == "TRANSFORMATION 'own' was stopped after 900 s."
    assert third["text"] == "Not rehearsed: the rehearsal ended at another record."
    assert {row["verdict"] for row in (second, third)} == {"not_rehearsable"}


def test_a_transform_that_eats_the_processor_is_ended(plug: Any, operator: User) -> None:
    plug("Endless")
    result = one(operator, broken(value=b'{"mag": "endless"}'), limits=RunLimits(wall_s=60, cpu_s=2))
    assert result["text"] == "TRANSFORMATION 'own' was stopped because it used more than 2 s of CPU time."


def test_a_transform_that_tells_without_end_is_ended(
    plug: Any, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandboxed_run, "MAX_TOLD_BYTES", 4 * 1024**2)
    plug("Floods")
    assert one(operator, broken())["text"] == "TRANSFORMATION 'own' was stopped because its output exceeded 4 MB."


def test_a_transform_that_ends_its_process_is_told(plug: Any, operator: User) -> None:
    plug("Exits")
    assert one(operator, broken())["text"] == "TRANSFORMATION 'own' exited."


def test_a_transform_that_wants_all_memory_is_not_rehearsed(plug: Any, operator: User) -> None:
    plug("Hungry")
    assert one(operator, broken())["stages"][3]["note"] == "it needs more memory than a rehearsal is allowed to use"


def test_nothing_of_the_dashboards_environment_is_seen(
    plug: Any, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "hunter3")
    plug("Tells")
    message = one(operator, broken())["stages"][3]["message"]
    assert "hunter3" not in message
    assert {part.partition("=")[0] for part in message.split(" ")} <= {"PYTHONPATH", "LC_CTYPE", "LC_ALL"}


def test_no_secret_of_the_connector_appears_anywhere(
    engine: FakeEngine, operator: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    config = {**CONFIG, "value.converter": "x.Nowhere", "value.converter.api.key": "hunter4"}
    engine.add(CONNECTOR, config)
    row = broken()
    said = str(rehearse(operator, {"dead_letters": [row.pk], "draft": False}).result)
    engine.add(CONNECTOR, {**CONFIG, "transforms.cast.password": "hunter5"})
    said += str(one(operator, row))
    assert "hunter" not in said + caplog.text
    assert "x.Nowhere" in said or "value.converter" in said


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            {"transforms.cast.type": "Nobody"},
            "usgs-to-sql can't be rehearsed: transforms.cast.type: is not a known class",
        ),
        ({"connector.class": "x.Gone"}, "usgs-to-sql can't be rehearsed: connector.class: can't be loaded"),
    ],
)
def test_a_configuration_that_can_not_be_used_here_says_so(
    engine: FakeEngine, operator: User, config: dict[str, str], text: str
) -> None:
    engine.add(CONNECTOR, CONFIG | config)
    assert one(operator, broken())["text"].startswith(text)


def test_a_connector_that_is_gone_says_so(engine: FakeEngine, operator: User) -> None:
    assert one(operator, broken())["text"] == "The engine no longer has a connector usgs-to-sql."


def test_a_spark_query_is_not_rehearsed_and_says_so(engine: FakeEngine, operator: User) -> None:
    report(name=CONNECTOR)
    said = one(operator, broken())["text"]
    assert said == "usgs-to-sql is a Spark query. Only the engine's connectors can be rehearsed."


def test_an_engine_that_is_away_says_so(operator: User) -> None:
    said = one(operator, broken())["text"]
    assert said == "The engine does not respond, so the configuration of usgs-to-sql is unknown. Try again later."


def test_bytes_that_are_not_known_say_so(engine: FakeEngine, operator: User) -> None:
    engine.add(CONNECTOR, CONFIG)
    row = broken()
    DeadLetter.objects.update(original="expired")
    assert one(operator, row)["text"].startswith("The origin topic no longer contains the original bytes")


def test_a_record_that_is_too_large_says_so(engine: FakeEngine, operator: User) -> None:
    engine.add(CONNECTOR, CONFIG)
    said = one(operator, broken(value=b"x" * 1_100_000))["text"]
    assert said.endswith("A rehearsal accepts at most 1048576.")


@pytest.mark.sql
def test_old_rehearsals_are_forgotten_but_those_that_say_where_a_draft_goes(operator: User) -> None:
    for wanted in ({"dead_letters": [1], "draft": True}, {"source": 1, "value": None}):
        create(operator, wanted, NOW)
    create(operator, {"dead_letters": [2], "draft": True}, NOW + timedelta(days=8))
    assert [one.wanted.get("source") for one in Rehearsal.objects.order_by("pk")] == [1, None]
