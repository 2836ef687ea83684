"""The driver rehearses puts of connectors that allow it, one at a time, and tells no secret."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from engine.config.worker import WorkerConfig, parse_worker
from engine.connectors.sql.put_data import read_data, write_data
from engine.connectors.sql.put_rehearsal import PutTrials, rehearse_put
from engine.errors import BadRequest, ConfigError, EngineError, RequestConflict, RetriableError
from engine.rest.put_rehearsals import MAX_AT_ONCE, MAX_RECORDS, PutRehearsals
from tests.engine.rest.herder import PROPERTIES, Herder

WORKER = {"bootstrap.servers": "localhost:9092", "group.id": "g"}
GOOD = {"key": "a", "value": {"map": [["gap", 1.0]]}}
BAD = {"key": "b", "value": {"map": [["gap", None]]}}


@pytest.fixture
def worker(tmp_path: Path) -> WorkerConfig:
    return parse_worker({**WORKER, "file.connectors.root": str(tmp_path)})


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    with sqlite3.connect(tmp_path / "put.sqlite3") as connection:
        connection.execute("CREATE TABLE quakes (id TEXT PRIMARY KEY, gap REAL NOT NULL)")
    return {
        "connector.class": "SqlSink", "topics": "t", "table.name": "quakes", "insert.mode": "upsert",
        "connection.url": f"sqlite:///{tmp_path}/put.sqlite3", "pk.mode": "record_key", "pk.fields": "id",
        "rehearsal.put.enabled": "true",
    }  # fmt: skip


def body(*records: dict[str, Any]) -> dict[str, Any]:
    return {"records": list(records)}


def test_each_record_has_a_result_in_the_words_of_a_stage(config: dict[str, str], worker: WorkerConfig) -> None:
    done = PutRehearsals(worker).run("c", config, body(GOOD, BAD, {"key": "c", "value": "text"}))
    assert (done["connector"], done["stage"], done["class"], done["table"]) == ("c", "TASK_PUT", "SqlSink", "quakes")
    assert (done["rows_before"], done["rows_after"], done["database"]) == (0, 0, "sqlite")
    accepted, rejected, shapeless = done["records"]
    assert accepted == {"state": "ok"}
    assert rejected == {
        "state": "failed",
        "exception_class": "sqlite3.IntegrityError",
        "message": "NOT NULL constraint failed: quakes.gap",
    }
    assert (shapeless["exception_class"], shapeless["state"]) == ("engine.errors.DataError", "failed")
    json.dumps(done)


def test_a_connector_allows_it_or_is_left_alone(config: dict[str, str], worker: WorkerConfig) -> None:
    for value in ({}, {"rehearsal.put.enabled": "false"}):
        given = {name: text for name, text in config.items() if name != "rehearsal.put.enabled"} | value
        with pytest.raises(RequestConflict, match=r"rehearsal\.put\.enabled is false in the configuration of c"):
            PutRehearsals(worker).run("c", given, body(GOOD))
    file = {"connector.class": "FileStreamSink", "topics": "t", "file": f"{worker.permissions.file_root}/f"}
    with pytest.raises(BadRequest, match="only SqlSink can"):
        PutRehearsals(worker).run("c", file, body(GOOD))
    with pytest.raises(BadRequest, match="no worker configuration"):
        PutRehearsals(None).run("c", config, body(GOOD))


@pytest.mark.parametrize(
    "wrong",
    [
        {}, {"records": []}, {"records": [GOOD] * (MAX_RECORDS + 1)}, {"records": {}}, {"records": ["a"]},
        body({"key": "a"}), body({"key": {"code": "x"}, "value": 1}), body({"key": {"bytes": "?"}, "value": 1}),
        body({"key": {"decimal": "x"}, "value": 1}), body({"key": {"map": [[[], 1]]}, "value": 1}),
        body({"key": {"date": 1}, "value": 1}),
    ],
)  # fmt: skip
def test_a_body_that_is_no_list_of_records_is_refused(
    wrong: dict[str, Any], config: dict[str, str], worker: WorkerConfig
) -> None:
    with pytest.raises(BadRequest):
        PutRehearsals(worker).run("c", config, wrong)


def test_what_the_configuration_lacks_is_named(config: dict[str, str], worker: WorkerConfig) -> None:
    with pytest.raises(BadRequest, match=r"^table\.name: is not a table of the database; create the table"):
        PutRehearsals(worker).run("c", {**config, "table.name": "absent"}, body(GOOD))
    with pytest.raises(ConfigError):
        PutRehearsals(worker).run("c", {**config, "connection.url": "sqlite:////etc/x"}, body(GOOD))


class SlowRehearsals:
    """Rehearsals that wait until they may end."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()

    def __call__(self, *given: Any) -> PutTrials:
        self.begun.release()
        assert self.may_end.wait(10)
        return rehearse_put(*given)


@contextmanager
def held(puts: PutRehearsals, slow: SlowRehearsals, config: dict[str, str], count: int) -> Iterator[None]:
    """Hold rehearsals of `count` connectors, named c0, c1, …"""
    threads = [threading.Thread(target=puts.run, args=(f"c{n}", config, body(GOOD))) for n in range(count)]
    for thread in threads:
        thread.start()
        assert slow.begun.acquire(timeout=10)
    try:
        yield
    finally:
        slow.may_end.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize(
    ("running", "name", "text"), [(1, "c0", "another put of c0"), (MAX_AT_ONCE, "d", "puts are being rehearsed")]
)
def test_a_connector_rehearses_one_put_at_a_time(
    running: int, name: str, text: str, config: dict[str, str], worker: WorkerConfig
) -> None:
    slow = SlowRehearsals()
    puts = PutRehearsals(worker, slow)
    with held(puts, slow, config, running), pytest.raises(RequestConflict, match=text):
        puts.run(name, config, body(GOOD))
    assert puts.run(name, config, body(GOOD))["records"] == [{"state": "ok"}]


SECRET = "hunter2-hunter2"


def with_provider(tmp_path: Path, config: dict[str, str]) -> tuple[dict[str, str], WorkerConfig]:
    """The table's name is a secret here, because SQLite names it in its messages."""
    (tmp_path / "secret").write_text(SECRET)
    properties = {"config.providers": "dir", "config.providers.dir.param.allowed.paths": str(tmp_path)}
    worker = parse_worker({**WORKER, **properties, "file.connectors.root": str(tmp_path)})
    return {**config, "table.name": f"${{dir:{tmp_path}:secret}}"}, worker


def test_values_of_config_providers_are_used_and_hidden(tmp_path: Path, config: dict[str, str]) -> None:
    given, worker = with_provider(tmp_path, config)
    with pytest.raises(BadRequest) as missing:
        PutRehearsals(worker).run("c", given, body(GOOD))
    with sqlite3.connect(tmp_path / "put.sqlite3") as connection:
        connection.execute(f'CREATE TABLE "{SECRET}" (id TEXT PRIMARY KEY, gap REAL NOT NULL)')
    [row] = PutRehearsals(worker).run("c", given, body(BAD))["records"]
    assert row["message"] == f"NOT NULL constraint failed: ${{dir:{tmp_path}:secret}}.gap"
    assert SECRET not in str(missing.value)


def test_errors_of_a_driver_tell_neither_secrets_nor_content(config: dict[str, str], worker: WorkerConfig) -> None:
    def fail(*_: Any) -> Any:
        raise LookupError("content of a record")

    with pytest.raises(EngineError) as caught:
        PutRehearsals(worker, fail).run("c", config, body(GOOD))
    assert str(caught.value).startswith("LookupError: message withheld")


def test_a_database_that_is_away_says_so(worker: WorkerConfig, config: dict[str, str]) -> None:
    away = {**config, "connection.url": f"postgresql://u:{SECRET}@127.0.0.1:1/d"}
    with pytest.raises(RetriableError) as caught:
        PutRehearsals(worker).run("c", away, body(GOOD))
    assert SECRET not in str(caught.value)


def test_a_messages_content_is_told_as_the_dead_letter_tells_it(
    tmp_path: Path, config: dict[str, str], worker: WorkerConfig
) -> None:
    with sqlite3.connect(tmp_path / "put.sqlite3") as connection:
        connection.execute(
            "CREATE TRIGGER t BEFORE INSERT ON quakes BEGIN SELECT RAISE(ABORT, 'another row has 5'); END"
        )
    letters = {"errors.deadletterqueue.enable": "true", "errors.deadletterqueue.topic.name": "dlq"}
    [bare] = PutRehearsals(worker).run("c", config, body(GOOD))["records"]
    told = {**config, **letters, "errors.deadletterqueue.include.messages": "true", "errors.tolerance": "all"}
    [whole] = PutRehearsals(worker).run("c", told, body(GOOD))["records"]
    assert "another row" not in bare["message"]
    assert whole["message"] == "another row has 5"


def test_data_is_the_same_on_the_other_side() -> None:
    values = [
        None, True, False, 0, -(2**63), 2**80, 1.0, -0.5, float("inf"), "é", "", b"\x00\xff", [], [1, [b""]], {},
        {"bytes": 1}, {1: {"a": None}}, Decimal("1.20"), datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1, 1), time(1, 2),
    ]  # fmt: skip
    for value in values:
        again = read_data(json.loads(json.dumps(write_data(value))))
        assert (again, type(again)) == (value, type(value))


def test_data_that_json_can_not_hold_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in ("\ud800", object(), deep):
        with pytest.raises(ValueError, match=r".+"):
            write_data(value)


def test_the_route_gives_the_connectors_own_properties(client: TestClient, herder: Herder) -> None:
    answer = client.post("/connectors/c/put-rehearsal", json=body(GOOD))
    assert answer.json() == {"connector": "c", "records": [{"state": "ok"}]}
    assert herder.asked == [("put rehearsal", "c", PROPERTIES, body(GOOD))]
    assert client.post("/connectors/none/put-rehearsal", json=body(GOOD)).status_code == 404
    herder.standby = "http://leader"
    redirected = client.post("/connectors/c/put-rehearsal", json=body(GOOD), follow_redirects=False)
    assert redirected.headers["location"] == "http://leader/connectors/c/put-rehearsal"
