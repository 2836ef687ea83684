"""`python -m engine`: what it prints, and its exit codes."""

from __future__ import annotations

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
