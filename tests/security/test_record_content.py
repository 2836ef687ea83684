"""With `include.messages=false` nothing of a record's content leaves the engine, whichever step fails, at any door."""

from __future__ import annotations

import contextlib
import logging
import pickle
import re
import sqlite3
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
import sqlalchemy as sa

from engine.assembly.connector_classes import built_in
from engine.config.permissions import Permissions
from engine.connectors.delta.sink import DeltaSink
from engine.connectors.elasticsearch.sink import ElasticsearchSink
from engine.connectors.file.sink import FileSink
from engine.connectors.file.source import LINE_BYTES, FileSource
from engine.connectors.http.sink import HttpSink
from engine.connectors.kafka.sink import KafkaSink
from engine.connectors.mirror.sink import MirrorSink
from engine.connectors.objects.sink import ObjectStoreSink
from engine.connectors.sql.database import open_engine, words
from engine.connectors.sql.sink import SqlSink
from engine.connectors.sql.source import SqlSource
from engine.errors import VALUE, FatalError, Message, RecordError, TransformError
from engine.policy.handlers import ErrorHandlerContext
from engine.record.record import Record
from engine.record.trace import ContentPolicy, describe
from engine.reporting.log import LogReporter
from engine.spark.worker import run_encoded
from engine.steps.handlers import BUILT_IN as HANDLERS
from engine.steps.registry import CONVERTERS, PREDICATES, TRANSFORMS
from engine.worker_messages import Lease, LeaseEnd
from tests.engine.pipeline.stream_rig import StreamRig
from tests.fakes import BatchingProducer, Producer, Sink
from tests.security.content_cases import (
    CASES,
    CLASSES,
    FOREIGN,
    OBJECT,
    PASSING,
    PREDICATED,
    READ,
    TEXT,
    TRANSFORMED,
    WRITE,
    Case,
    Plugin,
    found_in,
    run,
    short,
)
from tests.security.content_rig import (
    NUMBER,
    P0,
    SECRET,
    SINK,
    SOURCE,
    Polled,
    World,
    all_logs,
    flags,
    leaks,
    polled,
    raw,
)
from tests.support.http_target import Reply, http_target


def test_every_built_in_step_has_a_case() -> None:
    sides = re.compile(r"\$(Key|Value)$")
    assert short(CONVERTERS) == READ.keys() == WRITE.keys()
    assert {sides.sub("", name) for name in short(TRANSFORMS)} == TRANSFORMED.keys()
    assert {name for name, cases in TRANSFORMED.items() if not cases} == PASSING
    assert short(PREDICATES) == PREDICATED.keys()
    classes = {known.factory if known.factory is not object else name for name, known in built_in().items()}
    classes = {one for one in classes if isinstance(one, str) or one.__module__.startswith("engine.")}  # not of tests
    assert classes == CLASSES.keys()
    assert set(CLASSES.values()) <= globals().keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_content_leaves_by_any_door_where_both_flags_are_false(case: Case, caplog: Any, capfd: Any) -> None:
    doors = run(case, caplog, capfd, log=False, letters=False)
    assert found_in(doors) == {}
    told = [door for door in ("log", "letter", "outcome") if doors[door]]
    assert "log" in told or not case.of_record
    assert b"engine" in doors["rest"]
    assert b"engine" in doors["status"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_content_is_at_the_door_whose_flag_is_true_and_at_no_other(case: Case, caplog: Any, capfd: Any) -> None:
    """Else the test above could never fail."""
    of_log = found_in(run(case, caplog, capfd, log=True, letters=False))
    assert of_log.keys() & {"log", "report"}
    assert "letter" not in of_log
    caplog.clear()
    of_letters = found_in(run(case, caplog, capfd, log=False, letters=True))
    assert of_letters.keys() == ({"letter"} if case.of_record else set())


# Sinks and sources.


def closed(
    given: Mapping[str, str] = {}, *, log: bool = False, letters: bool = False, base: Mapping[str, str] = SINK
) -> World:
    """A world with these options, whose flags are false."""
    return World({**base, **given}, flags(log, letters))


def doors_of(world: World, opened: Callable[[], Any], caplog: Any, capfd: Any) -> dict[str, bytes]:
    with all_logs(caplog):
        assert world.run(opened) is not LeaseEnd.CAUGHT_UP
    return world.doors.texts(caplog, capfd)


def started(sink: Any, **config: str) -> Any:
    sink.start({name.replace("_", "."): value for name, value in config.items()})
    return sink


def test_a_file_sink_tells_no_content(tmp_path: Path, caplog: Any, capfd: Any) -> None:
    sink = started(FileSink("/"), file=str(tmp_path / "lines"))
    plugin = f"{__name__}.Odd"
    world = closed({"transforms": "t", "transforms.t.type": plugin})
    doors = doors_of(world, lambda: world.sink([raw(OBJECT)], sink), caplog, capfd)
    sink.stop()
    assert found_in(doors) == {}
    assert b"TASK_PUT" in doors["rest"]


class Odd:
    """A transform whose values no sink of ours can write."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """It has no options."""

    def apply(self, record: Record) -> Record:
        return msgspec.structs.replace(record, value={SECRET: {SECRET}, "ssn": SECRET})


TABLE = "CREATE TABLE people (ssn {text} CHECK (length(ssn) < 5), id INTEGER, n SMALLINT, born DATE, UNIQUE (id))"
ROWS: dict[str, dict[str, Any]] = {
    "check": {"ssn": SECRET},
    "type": {"n": SECRET},
    "range": {"n": NUMBER * 10**12},
    "date": {"born": SECRET},
    "nul": {"ssn": f"{SECRET}\u0000"},
    "unique": {"id": 7, "n": 1, "ssn": "a"},
    "no column": {SECRET: SECRET},
    "nested": {"ssn": {"a": SECRET}},
}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database with the table."""
    of_sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/rows.sqlite3" if of_sqlite else request.getfixturevalue("postgres_url")
    engine = open_engine(url, root="/")
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS people")
        connection.exec_driver_sql(TABLE.format(text="TEXT"))
        connection.exec_driver_sql("INSERT INTO people (id, ssn) VALUES (7, 'b')")
    yield url
    engine.dispose()


@pytest.mark.parametrize("row", ROWS)
def test_a_database_tells_no_content(row: str, url: str, caplog: Any, capfd: Any) -> None:
    if row in {"type", "nul", "range"} and url.startswith("sqlite") and row != "range":
        pytest.skip("SQLite takes it")
    sink = started(SqlSink("/"), connection_url=url, table_name="people")
    world = closed()
    value = orjson.dumps(ROWS[row]) if row != "range" else f'{{"n": {ROWS[row]["n"]}}}'.encode()
    doors = doors_of(world, lambda: world.sink([raw(value), raw(value)], sink), caplog, capfd)
    sink.stop()
    assert found_in(doors) == {}
    assert b"TASK_PUT" in doors["rest"]


def test_a_database_tells_the_facts_that_explain_its_error(url: str) -> None:
    sink = started(SqlSink("/"), connection_url=url, table_name="people")
    with pytest.raises(ExceptionGroup) as raised:
        sink.put([Record("t", 0, 0, None, {"id": 7, "ssn": SECRET[:4]}, offset=0)])
    sink.stop()
    [error] = raised.value.exceptions
    assert isinstance(error, RecordError)
    assert re.search(
        r'UNIQUE constraint failed: people.id|violates unique constraint "people_id_key"; message withheld',
        describe(error.cause).text,
    )


@pytest.mark.parametrize("value", [OBJECT, b"null", orjson.dumps([SECRET])])
@pytest.mark.parametrize("status", [400, 422, 500, 302, 401])
def test_an_http_api_tells_no_content(status: int, value: bytes, caplog: Any, capfd: Any) -> None:
    """It quotes the record in its answer and in the address that it redirects to."""
    reply = Reply(status, SECRET.encode(), {"Location": f"http://127.0.0.1/{SECRET}", "WWW-Authenticate": SECRET})
    with http_target(lambda _: reply) as target:
        sink = started(HttpSink(), http_url=target.url)
        world = closed()
        doors = doors_of(world, lambda: world.sink([raw(value)], sink), caplog, capfd)
        sink.stop()
    assert found_in(doors) == {}
    assert b"TASK_PUT" in doors["rest"]


@pytest.mark.parametrize("value", [OBJECT, b"null", orjson.dumps([SECRET])])
@pytest.mark.parametrize("status", [400, 403, 409, 429])
def test_a_search_index_tells_no_content(status: int, value: bytes, caplog: Any, capfd: Any) -> None:
    """It quotes the record wherever an answer has a text."""
    error = {"type": SECRET, "reason": SECRET, "caused_by": {"type": SECRET, "reason": SECRET}}
    reply = Reply(body=orjson.dumps({"items": [{"index": {"status": status, "error": error}}]}))
    with http_target(lambda _: reply) as target:
        sink = started(ElasticsearchSink(), connection_url=target.url, key_ignore="true")
        world = closed()
        doors = doors_of(world, lambda: world.sink([raw(value)], sink), caplog, capfd)
        sink.stop()
    assert found_in(doors) == {}
    assert b"TASK_PUT" in doors["rest"]


@pytest.mark.parametrize(
    "values", [[b'{"ssn": 1}', orjson.dumps({"ssn": SECRET})], [orjson.dumps([SECRET])], [b"null"]]
)
def test_an_object_store_tells_no_content(values: list[bytes], tmp_path: Path, caplog: Any, capfd: Any) -> None:
    sink = started(ObjectStoreSink(Permissions(file_root="/")), local_directory=str(tmp_path), format="parquet")
    sink.find_ends({P0: 0}, {P0: len(values)})
    world = closed()
    raws = [msgspec.structs.replace(raw(value), offset=offset) for offset, value in enumerate(values)]
    doors = doors_of(world, lambda: world.sink(raws, sink), caplog, capfd)
    sink.stop()
    assert found_in(doors) == {}
    assert b"TASK_PUT" in doors["rest"]


@pytest.mark.parametrize(
    "values", [[b'{"ssn": 1}', orjson.dumps({"ssn": SECRET})], [orjson.dumps({SECRET: 1, "A": 1, "a": 1})], [b"null"]]
)
def test_a_lake_table_tells_no_content(values: list[bytes], tmp_path: Path, caplog: Any, capfd: Any) -> None:
    sink = started(DeltaSink(Permissions(file_root="/")), local_directory=str(tmp_path), auto_create="true")
    sink.find_ends({P0: 0}, {P0: len(values)})
    world = closed()
    raws = [msgspec.structs.replace(raw(value), offset=offset) for offset, value in enumerate(values)]
    doors = doors_of(world, lambda: world.sink(raws, sink), caplog, capfd)
    sink.stop()
    assert found_in(doors) == {}
    assert b"TASK_PUT" in doors["rest"]


def test_psycopgs_logger_does_not_quote_rows(postgres_url: str, caplog: Any, capfd: Any) -> None:
    """Its pipelines and transactions warn of errors that they ignore, with the server's words."""
    open_engine(postgres_url).dispose()
    with caplog.at_level(logging.WARNING):  # of the root: a logger with a level of its own keeps that
        logging.getLogger("psycopg").warning("error ignored terminating: Failing row contains (%s).", SECRET)
    assert leaks(caplog.text.encode() + capfd.readouterr().err.encode()) == []


def test_a_file_source_tells_no_content(tmp_path: Path, caplog: Any, capfd: Any) -> None:
    path = tmp_path / "lines"
    path.write_bytes(SECRET.encode() * (LINE_BYTES // len(SECRET) + 2))
    source = FileSource("/")
    source.start({"file": str(path), "topic": "t"}, lambda _: None)
    world = closed(base=SOURCE)
    doors = doors_of(world, lambda: world.source(source), caplog, capfd)
    source.stop()
    assert found_in(doors) == {}
    assert b"is longer than" in doors["rest"]


def test_a_table_tells_no_content(tmp_path: Path, caplog: Any, capfd: Any) -> None:
    path = tmp_path / "rows.sqlite3"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE people (id BIGINT NOT NULL UNIQUE, ssn TEXT)")
        database.execute("INSERT INTO people VALUES (?, ?)", (SECRET, SECRET))
        database.commit()
    source = SqlSource("/")
    options = {
        "connection.url": f"sqlite:///{path}", "table.whitelist": "people", "topic.prefix": "t",
        "incrementing.column.name": "id",
    }  # fmt: skip
    source.start(options, lambda _: None)
    world = closed(base=SOURCE)
    doors = doors_of(world, lambda: world.source(source), caplog, capfd)
    source.stop()
    assert found_in(doors) == {}
    assert b"which is not a whole number" in doors["rest"]


@pytest.mark.parametrize("refusal", [None, "is internal"])
def test_a_sink_of_topics_tells_no_content(refusal: str | None, caplog: Any, capfd: Any) -> None:
    producer = Producer()
    producer.fail_next = [{0}]
    sink = KafkaSink(producer, "" if refusal else "x", lambda _: refusal, keeps_partition=False, flushes=True)
    world = closed({"key.converter": "ByteArrayConverter", "value.converter": "ByteArrayConverter"})
    doors = doors_of(world, lambda: world.sink([raw(OBJECT, TEXT)], sink), caplog, capfd)
    assert found_in(doors) == {}
    assert (refusal or "ProduceFailed").encode() in doors["rest"]


def test_what_can_not_be_produced_tells_no_content(caplog: Any, capfd: Any) -> None:
    world = closed(base=SOURCE)
    producer = BatchingProducer(1000, lambda _: True)
    doors = doors_of(world, lambda: world.source(Polled(polled({"ssn": SECRET})), producer), caplog, capfd)
    assert found_in(doors) == {}
    assert b"KAFKA_PRODUCE" in doors["rest"]


def test_a_poll_that_fails_tells_no_content(caplog: Any, capfd: Any) -> None:
    source = Polled()
    source.trouble = lambda: FOREIGN["chain"](SECRET)
    world = closed(base=SOURCE)
    doors = doors_of(world, lambda: world.source(source), caplog, capfd)
    assert found_in(doors) == {}


def test_a_source_that_can_not_take_the_news_tells_no_content(caplog: Any, capfd: Any) -> None:
    class Deaf(Polled):
        def commit_record(self, record: Record) -> None:
            raise ValueError(f"bad {record.value}")

        def commit(self) -> None:
            raise ValueError(f"bad {SECRET}")

    world = closed(base=SOURCE)
    with all_logs(caplog):
        assert world.run(lambda: world.source(Deaf(polled({"ssn": SECRET})))) is LeaseEnd.CAUGHT_UP
    doors = world.doors.texts(caplog, capfd)
    assert found_in(doors) == {}
    assert b"commit failed: ValueError" in doors["log"]


@pytest.mark.parametrize("where", ["flush", "open"])
@pytest.mark.parametrize("name", FOREIGN)
def test_what_fails_beside_the_way_of_records_tells_no_content(name: str, where: str, caplog: Any, capfd: Any) -> None:
    class Broken(Sink):
        def flush(self) -> None:
            FOREIGN[name](SECRET)

    def opened() -> Any:
        if where == "open":
            FOREIGN[name](SECRET)
        return world.sink([raw(OBJECT)], Broken())

    world = closed()
    assert found_in(doors_of(world, opened, caplog, capfd)) == {}
    caplog.clear()
    world = closed(log=True)
    assert "report" in found_in(doors_of(world, opened, caplog, capfd))


def test_a_mirror_tells_no_content(caplog: Any, capfd: Any) -> None:
    sink = MirrorSink(Producer(), lambda _: None, None, flushes=True)
    world = closed()
    doors = doors_of(world, lambda: world.sink([raw(OBJECT, SECRET.encode())], sink), caplog, capfd)
    assert found_in(doors) == {}
    assert b"a mirror writes only bytes" in doors["rest"]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_stream_tells_no_content(name: str, caplog: Any, capfd: Any) -> None:
    def work(context: Any, record: Record) -> None:
        FOREIGN[name](SECRET)

    rig = StreamRig([raw(OBJECT)], {"a": work}, {"input": ["a"], "a": ["out"]})
    rig.guard.content_policy = ContentPolicy()
    rig.guard.reporters = (LogReporter(include_configs=True, include_messages=False),)
    with all_logs(caplog):
        try:
            end = rig.run()
            told = f"{end.message}\n{end.context.exception}"
        except FatalError as error:
            told = ContentPolicy().trace(error)
    out = capfd.readouterr()
    assert leaks(f"{told}\n{caplog.text}\n{out.out}\n{out.err}".encode()) == []


@pytest.mark.parametrize("misuse", ["child", "interval", "record"])
def test_misuse_of_a_processors_context_tells_no_content(misuse: str) -> None:
    def work(context: Any, record: Record) -> None:
        match misuse:
            case "child":
                context.forward(record, SECRET)
            case "interval":
                context.schedule(SECRET, "STREAM_TIME", print)
            case "record":
                context.forward(SECRET)

    rig = StreamRig([raw(OBJECT)], {"a": work}, {"input": ["a"], "a": ["out"]})
    rig.guard.content_policy = ContentPolicy()
    end = rig.run()
    assert leaks(f"{end.message}\n{end.context.exception}".encode()) == []
    assert "engine/steps/processors.py" in end.context.exception


# Those who are told.


@pytest.mark.parametrize("name", sorted({name for names in HANDLERS.values() for name in names}))
@pytest.mark.parametrize("error", FOREIGN)
def test_a_handler_of_ours_logs_no_content(name: str, error: str, caplog: Any, capfd: Any) -> None:
    [handler] = {id(made): made() for names in HANDLERS.values() for one, made in names.items() if one == name}.values()
    about = ErrorHandlerContext("t", 0, 0, (("ssn", SECRET.encode()),), "node", "c-0", 0, OBJECT, OBJECT)
    record = polled({"ssn": SECRET})
    for shown in ("false", "true"):
        handler.configure({"errors.log.include.messages": shown})
        try:
            FOREIGN[error](SECRET)
        except Exception as raised:  # noqa: BLE001, any of them
            with all_logs(caplog):
                handler.handle(about, record, raised)
        out = capfd.readouterr()
        logged = f"{caplog.text}\n{out.out}\n{out.err}".encode()
        assert bool(leaks(logged)) is (shown == "true" and "Log" in name)
        caplog.clear()


def test_a_handler_that_crashes_on_the_record_tells_no_content(caplog: Any, capfd: Any) -> None:
    world = closed({"processing.exception.handler": f"{__name__}.Crashing", **FAILING})
    doors = doors_of(world, lambda: world.sink([raw(OBJECT)]), caplog, capfd)
    assert found_in(doors) == {}
    assert b"Fatal user code error" in doors["rest"]


FAILING = {"transforms": "t", "transforms.t.type": "Cast$Value", "transforms.t.spec": "ssn:int32"}


class Crashing:
    """A handler that quotes what it is given."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """It has no options."""

    def handle(self, context: Any, record: Record, exception: Exception) -> Any:
        raise LookupError(f"no answer to {record.value}")


class Answering(Crashing):
    """A handler that answers with the record."""

    def handle(self, context: Any, record: Record, exception: Exception) -> Any:
        return record


def test_a_handler_that_answers_with_the_record_tells_no_content(caplog: Any, capfd: Any) -> None:
    world = closed({"processing.exception.handler": f"{__name__}.Answering", **FAILING})
    doors = doors_of(world, lambda: world.sink([raw(OBJECT)]), caplog, capfd)
    assert found_in(doors) == {}
    assert b"it returned a Record" in doors["rest"]


def test_a_letter_without_messages_has_headers_of_ours_alone(caplog: Any, capfd: Any) -> None:
    world = closed(FAILING)
    doors_of(world, lambda: world.sink([raw(OBJECT)]), caplog, capfd)
    [(_, key, _, headers, _)] = world.doors.letters.records
    names = [name for name, _ in headers]
    assert key is None
    assert names[:2] == ["dlq.replay.id", "dlq.replay.item"]
    assert all(name.startswith("__connect.errors.") for name in names[2:])
    assert len(names) > 2


def test_foreign_messages_are_shown_where_an_option_says_so_and_our_values_are_not(caplog: Any, capfd: Any) -> None:
    options = {
        "transforms": "t",
        "transforms.t.type": f"{Plugin.__module__}.Plugin",
        "transforms.t.raises": "ValueError",
    }
    world = closed({**options, "errors.include.foreign.messages": "true"}, base=SOURCE)
    found = found_in(doors_of(world, lambda: world.source(Polled(polled(1))), caplog, capfd))
    assert {"log", "letter", "status", "rest"} <= found.keys()
    caplog.clear()
    world = closed({**FAILING, "errors.include.foreign.messages": "true"})
    assert found_in(doors_of(world, lambda: world.sink([raw(OBJECT)]), caplog, capfd)) == {}


def broken_lease(_: Any) -> Any:
    raise ValueError(f"a bug that quotes {SECRET}")


def test_what_escapes_a_worker_is_told_to_spark_without_content() -> None:
    """Spark writes it to its logs, and it becomes the trace of a lost lease."""
    payload = msgspec.msgpack.encode(Lease("l", (), 1, 1, {}))
    with pytest.raises(RuntimeError, match="ValueError") as raised:
        run_encoded(f"{__name__}:broken_lease", payload)
    assert leaks("".join(traceback.format_exception(raised.value)).encode()) == []


def test_an_exception_keeps_its_content_apart_when_it_is_pickled() -> None:
    error = pickle.loads(pickle.dumps(TransformError(Message(f"field ssn: {VALUE} is bad", SECRET))))
    assert str(error) == "field ssn: '<withheld>' is bad"
    assert error.args[0].content == f"field ssn: {SECRET} is bad"


def test_words_of_a_database_away_are_told_in_full() -> None:
    engine = open_engine("postgresql://nobody@127.0.0.1:1/none?connect_timeout=1")
    with pytest.raises(sa.exc.OperationalError) as raised, engine.connect():
        pass
    assert "127.0.0.1" in words(raised.value)
    engine.dispose()
