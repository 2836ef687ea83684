"""`python -m engine rehearse` as its caller starts it: nothing but what is handed in, and no way out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[2]
PLAIN = {"name": "c", "connector.class": "FileStreamSink", "topics": "t", "value.converter.schemas.enable": "false"}
CODE = """
import ctypes, multiprocessing, os, resource, socket, sqlite3, subprocess, syslog
class Base:
    def configure(self, configs): pass
class Loud(Base):
    def apply(self, record):
        print("noise on standard output")
        return record
class Calls(Base):
    def apply(self, record):
        try:
            socket.create_connection(("127.0.0.1", 9))
        except Exception:
            pass
        return record
class Writes(Base):
    def apply(self, record): open("/tmp/rehearsed", "w")
class Starts(Base):
    def apply(self, record): subprocess.run(["true"])
class Spawns(Base):
    def apply(self, record): multiprocessing.get_context("spawn").Process(target=print).start()
class Opens(Base):
    def apply(self, record): sqlite3.connect(":memory:")
class Loads(Base):
    def apply(self, record): ctypes.CDLL("libc.so.6")
class Looks(Base):
    def apply(self, record): ctypes.pythonapi.system(b"true")
class Logs(Base):
    def apply(self, record): syslog.syslog("rehearsed")
class Unbinds(Base):
    def apply(self, record): resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
class Configured(Base):
    def configure(self, configs): socket.getaddrinfo("example.org", 80)
    def apply(self, record): return record
class Tells(Base):
    def apply(self, record): raise KeyError(repr(sorted(os.environ)))
class Exits(Base):
    def apply(self, record): raise SystemExit(3)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "reaching.py").write_text(CODE)
    return tmp_path


def lines(document: Any, *, path: Path | None = None) -> tuple[int, list[dict[str, Any]]]:
    """The exit code, and what was told."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    environment = {} if path is None else {"PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, "-B", "-m", "engine", "rehearse"],
        input=data, capture_output=True, env=environment, cwd=HERE, check=False,
    )  # fmt: skip
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def transformed(name: str, path: Path) -> dict[str, Any]:
    """What is told of the transform."""
    config = {**PLAIN, "transforms": "x", "transforms.x.type": f"reaching.{name}"}
    code, told = lines({"config": config, "records": [{"topic": "t", "key": None, "value": "MQ=="}]}, path=path)
    assert (code, told[-1]) == (0, {"done": True})
    stage: dict[str, Any] = told[-2]["stages"][3]
    return stage


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("Calls", "use the network"),
        ("Writes", "change files"),
        ("Starts", "start another program"),
        ("Spawns", "start another program"),
        ("Opens", "open a database"),
        ("Loads", "call a C library"),
        ("Looks", "call a C library"),
        ("Logs", "write to the system's log"),
        ("Unbinds", "change its limits"),
    ],
)
def test_a_step_that_reaches_out_is_not_rehearsed_even_if_it_hides_it(package: Path, name: str, what: str) -> None:
    assert transformed(name, package) == {"state": "not_rehearsable", "note": f"it would {what}"}


def test_a_step_that_reaches_out_to_be_configured_is_a_problem_of_the_connector(package: Path) -> None:
    stage = transformed("Configured", package)
    assert stage["note"] == "to be configured it would use the network"


def test_what_a_step_prints_is_not_taken_for_an_answer(package: Path) -> None:
    assert transformed("Loud", package)["state"] == "ok"


def test_a_step_sees_no_environment(package: Path) -> None:
    seen = transformed("Tells", package)["message"]
    assert "PYTHONPATH" in seen
    assert not [name for name in ("HOME", "USER", "PATH", "SECRET_KEY", "REDIS_URL") if f"'{name}'" in seen]


def test_a_step_that_ends_the_process_leaves_the_place_where_it_was(package: Path) -> None:
    config = {**PLAIN, "transforms": "x", "transforms.x.type": "reaching.Exits"}
    code, told = lines({"config": config, "records": [{"topic": "t", "key": None, "value": "MQ=="}]}, path=package)
    assert (code, told[-1]) == (3, {"at": [0, 3]})


def test_a_configuration_that_cannot_be_used_is_one_sentence() -> None:
    code, told = lines({"config": {**PLAIN, "transforms": "x", "transforms.x.type": "Nobody"}})
    assert (code, told) == (1, [{"trouble": "transforms.x.type: is no known class"}])


@pytest.mark.parametrize("document", [b"", b"[]", b"\xff", b'{"config": {}, "records": [{"topic": 1}]}'])
def test_a_document_that_cannot_be_read_is_one_sentence(document: bytes) -> None:
    code, told = lines(document)
    assert code == 1
    assert told[0]["trouble"].startswith("the document can't be read: ")
