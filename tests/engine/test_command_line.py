"""`python -m engine`: what it prints, and its exit codes."""

from __future__ import annotations

import logging
import socket
from pathlib import Path

import pytest

from engine.__main__ import main

GOOD = "name=c\nconnector.class=FileStreamSink\ntopics=t\nfile=/dev/null\n"
BAD = "name=c\nconnector.class=FileStreamSnik\ntopics=t\ntasks.max = many\nerrors.tolerence=all\n"


def test_a_good_connector_has_no_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.properties"
    file.write_text(GOOD)
    worker = tmp_path / "worker.properties"
    worker.write_text("file.connectors.root=/dev\n")
    assert main(["validate", str(file), "--worker", str(worker)]) == 0
    assert "no problems" in capsys.readouterr().out


@pytest.mark.parametrize("call", [["validate"], ["run", "--connector"]], ids=["validate", "run"])
def test_three_mistakes_are_three_problems_with_option_value_and_nearest_name_and_nothing_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], call: list[str]
) -> None:
    file = tmp_path / "c.properties"
    file.write_text(BAD)
    assert main([*call, str(file)]) == 1
    printed = capsys.readouterr().err
    assert "connector.class = FileStreamSnik: is not a known connector class; did you mean FileStreamSink?" in printed
    assert "tasks.max = many: " in printed
    assert "errors.tolerence = all: unknown option; did you mean errors.tolerance?" in printed
    assert printed.endswith("3 problems\n")


def test_wrong_worker_options_are_all_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "worker.properties"
    file.write_text("slots=none\nlease.budget.ms=-1\n")
    assert main(["run", str(file)]) == 1
    printed = capsys.readouterr().err
    assert "slots = none: " in printed
    assert "lease.budget.ms = -1: " in printed


def test_warnings_about_the_worker_are_printed_and_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    connector, worker = tmp_path / "c.properties", tmp_path / "worker.properties"
    connector.write_text(GOOD)
    worker.write_text("file.connectors.root=/dev\nslot=1\n")
    assert main(["validate", str(connector), "--worker", str(worker)]) == 0
    warning = "slot = 1: is ignored: unknown option; did you mean slots?"
    assert f"warning: {warning}" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        worker.write_text(f"listeners=http://127.0.0.1:{taken.getsockname()[1]}\nslot=1\n")
        assert main(["run", str(worker)]) == 1
    assert warning in caplog.text


def test_a_missing_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(tmp_path / "none.properties")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_a_port_in_use_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        file = tmp_path / "worker.properties"
        file.write_text(f"listeners=http://127.0.0.1:{taken.getsockname()[1]}\nbootstrap.servers=127.0.0.1:1\n")
        assert main(["run", str(file)]) == 1
    assert "listeners" in capsys.readouterr().err


STANDALONE = "bootstrap.servers=127.0.0.1:1\noffset.storage.file.filename={}\nlisteners=http://127.0.0.1:{}\n"


def standalone(tmp_path: Path, port: int = 0) -> Path:
    file = tmp_path / "worker.properties"
    file.write_text(STANDALONE.format(tmp_path / "offsets", port))
    return file


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("c.properties", "name=c\nconnector.class=FileStreamSnik\ntopics=t\n", "is not a known connector class"),
        ("c.json", "[]", "holds a list; write one JSON object for each connector"),
        ("c.properties", "topics=t\n", "has no option `name`; give each connector a name"),
    ],
)
def test_a_bad_connector_of_a_standalone_worker_is_one_sentence_and_exit_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, sentence: str
) -> None:
    (tmp_path / name).write_text(text)
    assert main(["standalone", str(standalone(tmp_path)), str(tmp_path / name)]) == 3
    *_, problem, count = capsys.readouterr().err.splitlines()
    assert sentence in problem
    assert count == "1 problem"


def test_two_connectors_with_one_name_and_a_missing_file_are_exit_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worker, file, same = standalone(tmp_path), tmp_path / "1.properties", tmp_path / "2.json"
    file.write_text("name=c\nconnector.class=FileStreamSink\ntopics=t\n")
    same.write_text('{"name": "c", "connector.class": "FileStreamSink", "topics": "t"}')
    assert main(["standalone", str(worker), str(file), str(same)]) == 3
    assert f"{same}: has the name c, as {file} has; choose another name" in capsys.readouterr().err
    assert main(["standalone", str(worker), str(tmp_path / "none.properties")]) == 3
    assert "none.properties: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "offset.storage.file.filename: is required for a standalone worker"),
        (
            "offset.storage.file.filename=x\nexactly.once.source.support=enabled\n",
            "exactly.once.source.support = enabled: needs a cluster of workers",
        ),
        ("offset.storage.file.filename=/proc/none/offsets\n", "/proc/none/offsets: can't be used: "),
    ],
)
def test_a_standalone_worker_that_can_not_start_is_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    file = tmp_path / "worker.properties"
    file.write_text(text)
    assert main(["standalone", str(file)]) == 2
    assert sentence in capsys.readouterr().err


def test_a_taken_port_of_a_standalone_worker_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["standalone", str(standalone(tmp_path, taken.getsockname()[1]))]) == 2
    assert "listeners" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        (".", "connectors may use the files below "),
        ("/", "connectors can't use files: file.connectors.root is not set"),
    ],
)
def test_connectors_may_use_files_of_the_working_directory_unless_python_imports_from_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    folder: str,
    line: str,
) -> None:
    file = tmp_path / "c.properties"
    file.write_text("name=c\nconnector.class=FileStreamSink\ntopics=t\nfile=out.txt\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        worker = standalone(tmp_path, taken.getsockname()[1])
        monkeypatch.chdir(tmp_path / folder)
        with caplog.at_level(logging.INFO, "engine"):
            code = main(["standalone", str(worker), str(file)])
    assert line in caplog.text
    printed = capsys.readouterr().err
    assert (code, "file = out.txt: " in printed) == ((2, False) if folder == "." else (3, True))


def test_options_of_a_cluster_are_warnings_for_a_standalone_worker_and_the_other_way_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        worker = standalone(tmp_path, taken.getsockname()[1])
        with worker.open("a") as file:
            file.write("config.storage.topic=x\n")
        assert main(["standalone", str(worker)]) == 2
        assert "config.storage.topic = x: has no effect" in caplog.text
        assert main(["run", str(worker)]) == 1
    assert "is ignored: only `python -m engine standalone` uses it" in caplog.text
    assert "listeners" in capsys.readouterr().err


def test_a_source_without_a_file_needs_a_standalone_worker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.properties"
    file.write_text("name=c\nconnector.class=FileStreamSource\ntopic=t\n")
    assert main(["validate", str(file)]) == 1
    assert "file: is required; only `python -m engine standalone` reads standard input" in capsys.readouterr().err


def test_an_unknown_cluster_in_a_mirror_file_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text("clusters=A,B\nA.bootstrap.servers=a:1\nB.bootstrap.servers=b:1\nA->C.enabled=true\n")
    assert main(["mirror", str(file)]) == 1
    assert capsys.readouterr().err == "A->C.enabled = true: C is not one of the clusters A, B\n1 problem\n"


def test_a_wrong_option_of_a_flow_is_named_with_its_flow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mm2.properties"
    text = "clusters=A,B\nA.bootstrap.servers=a:1\nB.bootstrap.servers=b:1\nA->B.enabled=true\nA->B.topicz=x\n"
    file.write_text(text)
    assert main(["mirror", str(file)]) == 1
    assert "A->B.topicz = x: unknown option; did you mean topics?" in capsys.readouterr().err


def test_translate_prints_a_properties_file_or_why_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.json"
    file.write_text(
        '{"name": "c", "config": {"connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector", "topics": "t",'
        ' "connection.url": "jdbc:sqlite:/data/x.db", "auto.create": "true"}}'
    )
    assert main(["translate", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "connector.class=SqlSink\n" in printed
    assert "# TO DO: auto.create=true has no equivalent: the engine does not change tables" in printed
    assert "connection.url=sqlite:////data/x.db\n" in printed
    file.write_text('{"name": "c", "connector.class": "io.debezium.connector.mysql.MySqlConnector"}')
    assert main(["translate", str(file)]) == 1
    assert "has no equivalent: it reads a database's change log" in capsys.readouterr().err
