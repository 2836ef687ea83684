"""A connector reads and writes files below one directory, and nowhere else."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from engine.assembly.validation import validate
from engine.config.rooted_files import open_below, root_problem
from engine.config.worker import WorkerConfig, parse_worker
from engine.connectors.file.sink import FileSink
from engine.connectors.file.source import FileSource
from engine.connectors.sql.database import open_engine
from engine.connectors.sql.source import SqlSource
from engine.errors import ConfigError
from engine.record.record import Record
from engine.startup.wiring import examine_connector

SINK = {"name": "c", "connector.class": "FileStreamSink", "topics": "t"}
SOURCE = {"name": "c", "connector.class": "FileStreamSource", "topic": "lines"}
SQL = {"name": "c", "connector.class": "SqlSink", "topics": "t", "table.name": "q"}
TABLES = {"name": "c", "connector.class": "SqlSource", "table.whitelist": "q", "topic.prefix": "p"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    (tmp_path / "secret").write_text("hunter2\n")
    return tmp_path / "files"


def worker_of(root: Path) -> WorkerConfig:
    return parse_worker({"file.connectors.root": str(root)})


def outsiders(root: Path) -> list[str]:
    """Paths that lead out of the root, each in its own way."""
    (root / "link").symlink_to(root.parent / "secret")
    (root / "up").symlink_to(root.parent)
    return [
        "/etc/passwd", str(root.parent / "secret"), f"{root}/../secret", f"{root}/link", f"{root}/up/secret",
        f"{root}-beside", str(root), f"{root}/.", "relative", f"{root}/a\0b", "~/x", f"//{root}/../secret",
    ]  # fmt: skip


def problems(properties: dict[str, str], worker: WorkerConfig) -> tuple[tuple[str, str | None, str], ...]:
    with pytest.raises(ConfigError) as caught:
        examine_connector(properties, worker)
    return caught.value.problems


@pytest.mark.parametrize("connector", [SINK, SOURCE])
def test_without_a_root_no_connector_opens_a_file(connector: dict[str, str], tmp_path: Path) -> None:
    [(option, _, text)] = problems({**connector, "file": str(tmp_path / "f")}, parse_worker({}))
    assert option == "file"
    assert "set the worker's file.connectors.root" in text


@pytest.mark.parametrize("connector", [SQL, TABLES])
@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+pysqlite"])
def test_without_a_root_no_connector_opens_an_sqlite_database(connector: dict[str, str], scheme: str) -> None:
    [(option, value, text)] = problems({**connector, "connection.url": f"{scheme}:////tmp/x.db"}, parse_worker({}))
    assert (option, value) == ("connection.url", None)
    assert "set the worker's file.connectors.root" in text


@pytest.mark.parametrize("connector", [SINK, SOURCE])
def test_a_file_outside_the_root_is_refused_by_the_driver(connector: dict[str, str], root: Path) -> None:
    for path in outsiders(root):
        assert [row[0] for row in problems({**connector, "file": path}, worker_of(root))] == ["file"], path
    assert validate({**connector, "file": f"{root}/a/../fine"}, worker_of(root)).config.own["file"]


def test_a_file_outside_the_root_is_refused_by_the_task_as_well(root: Path) -> None:
    for path in outsiders(root):
        with pytest.raises(ConfigError, match=r"file\.connectors\.root"):
            FileSink(str(root)).start({"file": path})
        source = FileSource(str(root))
        source.start({"file": path, "topic": "t"}, lambda _: None)
        with pytest.raises(ConfigError, match=r"file\.connectors\.root"):
            source.poll()
        with pytest.raises(ConfigError) as caught:
            open_engine(f"sqlite:///{path}" if "\0" not in path else "sqlite:////etc/passwd", root=str(root))
        assert "hunter2" not in str(caught.value)
    assert (root.parent / "secret").read_text() == "hunter2\n"


def test_without_a_root_a_task_opens_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="disabled"):
        FileSink().start({"file": str(tmp_path / "f")})
    assert not (tmp_path / "f").exists()
    with pytest.raises(ConfigError, match="disabled"):
        SqlSource().start({**TABLES, "connection.url": f"sqlite:///{tmp_path}/db"}, lambda _: None)


def test_a_link_that_replaces_a_directory_after_the_check_is_not_followed(root: Path) -> None:
    (root / "a").mkdir()
    path = str(root / "a" / "f")
    descriptor = open_below(path, str(root), os.O_WRONLY | os.O_CREAT)
    os.close(descriptor)
    (root / "a").rename(root / "b")
    (root / "a").symlink_to(root.parent)
    with pytest.raises(ValueError, match="subpath"):
        open_below(path, str(root), os.O_WRONLY | os.O_CREAT)
    assert not (root.parent / "f").exists()


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///file:{root}/x.db?mode=rwc&uri=true", "sqlite:///file:/etc/passwd?uri=true",
        "sqlite:////{root}/x.db?uri=true", "sqlite:///file:x", "sqlite://?plugin=somewhere",
        "postgresql://h/d?plugin=somewhere",
    ],
)  # fmt: skip
def test_no_uri_and_no_plugin_of_the_database_goes_around_the_root(url: str, root: Path) -> None:
    for connector in (SQL, TABLES):
        given = {**connector, "connection.url": url.format(root=root)}
        assert {row[0] for row in problems(given, worker_of(root))} == {"connection.url"}
    with pytest.raises(ConfigError):
        open_engine(url.format(root=root), root=str(root))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://h/d?service=x", "postgresql://h/d?passfile=/x", "postgresql://h/d?servicefile=/x",
        "postgresql://h/d?conninfo=service%3Dx", "postgresql://h/d?sslkeylogfile=/x", "postgresql:///d",
        "postgresql:///d?host=/run/postgresql", "postgresql:///d?host=@abstract", "postgresql://h/d?host=/run",
        "postgresql:///d?host=h,/run", "postgresql:///d?host=h:1&host=/run", "postgresql+psycopg2://h/d",
        "postgresql+psycopg_async://h/d", "mysql://h/d", "sqlite+aiosqlite:///x", "oracle://h/d",
    ],
)  # fmt: skip
def test_a_database_on_a_server_gets_nothing_of_the_workers_user(url: str, root: Path) -> None:
    for connector in (SQL, TABLES):
        found = problems({**connector, "connection.url": url}, worker_of(root))
        assert {row[0] for row in found} == {"connection.url"}
    with pytest.raises(ConfigError):
        open_engine(url, root=str(root))


@pytest.mark.parametrize("parameter", ["sslcert", "sslkey", "sslrootcert", "sslcrl"])
def test_keys_and_certificates_of_a_database_lie_below_the_root(parameter: str, root: Path) -> None:
    url = f"postgresql://h/d?{parameter}="
    [(option, value, text)] = problems({**SQL, "connection.url": f"{url}/etc/shadow"}, worker_of(root))
    assert (option, value) == ("connection.url", None)
    assert "file.connectors.root" in text
    with pytest.raises(ConfigError):
        open_engine(f"{url}/etc/shadow", root=str(root))
    assert validate({**SQL, "connection.url": f"{url}{root}/key.pem"}, worker_of(root))
    assert validate({**SQL, "connection.url": "postgresql://h/d?sslrootcert=system"}, worker_of(root))
    open_engine(f"{url}{root}/key.pem", root=str(root)).dispose()


def test_a_database_on_a_server_is_asked_without_the_password_file_of_the_worker() -> None:
    engine = open_engine("postgresql://127.0.0.1:1/d")
    given: dict[str, object] = {}

    @sa.event.listens_for(engine, "do_connect")
    def note(_dialect: object, _record: object, _args: object, options: dict[str, object]) -> None:
        given.update(options)

    with pytest.raises(sa.exc.OperationalError):
        engine.connect()
    assert not Path(str(given["passfile"])).exists()


def test_a_database_replaced_by_a_link_is_not_opened_again(root: Path) -> None:
    database = root / "own.db"
    sqlite3.connect(database).close()
    engine = open_engine(f"sqlite:///{database}", root=str(root))
    engine.connect().close()
    engine.dispose()
    database.unlink()
    database.symlink_to(root.parent / "secret")
    with pytest.raises(ConfigError, match=r"file\.connectors\.root"):
        engine.connect()


def test_below_the_root_files_and_databases_work(root: Path) -> None:
    sink = FileSink(str(root))
    sink.start({"file": str(root / "out")})
    sink.put([Record("t", 0, 0, None, "line")])
    sink.stop()
    source = FileSource(str(root))
    source.start({"file": str(root / "out"), "topic": "t"}, lambda _: None)
    assert [record.value for record in source.poll()] == ["line"]
    source.stop()
    engine = open_engine(f"sqlite:///{root}/db", root=str(root))
    engine.connect().close()
    engine.dispose()


def test_the_root_is_no_place_that_python_imports_from(tmp_path: Path) -> None:
    here = str(Path(__file__).resolve().parents[2])
    assert root_problem(here, [here])
    assert root_problem("/", [here])
    assert root_problem(f"{here}/engine/steps", [here])
    assert root_problem(f"{here}/not_there_yet", [here])
    assert root_problem("relative")
    assert root_problem(f"{here}/.local/connector-files", [here]) is None
    assert root_problem(str(tmp_path), [here]) is None
    with pytest.raises(ConfigError, match="file sink could write code"):
        parse_worker({"file.connectors.root": str(Path(sys.prefix))})
