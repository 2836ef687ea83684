"""`python -m engine rehearse` as its caller starts it: nothing but what is handed in, and no way out."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.errors import BadRequest
from engine.rehearsal.rows import read_wanted

pytestmark = pytest.mark.slow  # each test starts a process

HERE = Path(__file__).parents[2]
PLAIN = {"name": "c", "connector.class": "FileStreamSink", "topics": "t", "value.converter.schemas.enable": "false"}
ALLOWED = {"plugin.classes.allow": "reaching.*"}
CODE = """
import ctypes, multiprocessing, os, resource, socket, sqlite3, subprocess, syslog

def calls():
    try:
        socket.create_connection(("127.0.0.1", 9))
    except Exception:
        pass

ACTS = {
    "calls": calls,
    "prints": lambda: print("noise on standard output"),
    "writes": lambda: open("/tmp/rehearsed", "w"),
    "starts": lambda: subprocess.run(["true"]),
    "spawns": lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
    "opens": lambda: sqlite3.connect(":memory:"),
    "loads": lambda: ctypes.CDLL("libc.so.6"),
    "looks": lambda: ctypes.pythonapi.system(b"true"),
    "logs": lambda: syslog.syslog("rehearsed"),
    "unbinds": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1)),
    "raises": lambda: {}[repr(sorted(os.environ))],
}

class Base:
    def configure(self, configs): pass
class Acts(Base):
    def apply(self, record):
        ACTS[record.value]()
        return record
class Configured(Base):
    def configure(self, configs): socket.getaddrinfo("example.org", 80)
    def apply(self, record): return record
class Exits(Base):
    def apply(self, record): raise SystemExit(3)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    (folder / "reaching.py").write_text(CODE)
    return folder


def lines(document: Any, *, path: Path | None = None) -> tuple[int, list[dict[str, Any]]]:
    """The exit code, and what was told."""
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    environment = {} if path is None else {"PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, "-B", "-m", "engine", "rehearse"],
        input=data, capture_output=True, env=environment, cwd=HERE, check=False,
    )  # fmt: skip
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def transformed(name: str, path: Path, *values: Any) -> list[dict[str, Any]]:
    """Return the report about the transform, for a record with each value."""
    config = {**PLAIN, "transforms": "x", "transforms.x.type": f"reaching.{name}"}
    code, told = lines({"config": config, "records": [record(one) for one in values], "worker": ALLOWED}, path=path)
    assert (code, told[-1]) == (0, {"done": True})
    return [row["stages"][3] for row in told if "record" in row]


def record(value: Any) -> dict[str, Any]:
    return {"topic": "t", "key": None, "value": base64.b64encode(json.dumps(value).encode()).decode()}


REACHING = {
    "calls": "use the network",
    "writes": "change files",
    "starts": "start another program",
    "spawns": "start another program",
    "opens": "open a database",
    "loads": "call a C library",
    "looks": "call a C library",
    "logs": "write to the system log",
    "unbinds": "change resource limits",
}


@pytest.fixture(scope="module")
def acted(package: Path) -> dict[str, dict[str, Any]]:
    """The report of one process about each act."""
    acts = ["prints", *REACHING, "raises"]
    return dict(zip(acts, transformed("Acts", package, *acts), strict=True))


def test_what_a_step_prints_is_not_taken_for_an_answer(acted: dict[str, dict[str, Any]]) -> None:
    assert acted["prints"]["state"] == "ok"


def test_a_step_that_reaches_out_is_not_rehearsed_even_if_it_hides_it(acted: dict[str, dict[str, Any]]) -> None:
    wanted = {name: {"state": "not_rehearsable", "note": f"it would {what}"} for name, what in REACHING.items()}
    assert {name: acted[name] for name in REACHING} == wanted


def test_a_step_that_reaches_out_to_be_configured_is_a_problem_of_the_connector(package: Path) -> None:
    (stage,) = transformed("Configured", package, 1)
    assert stage["note"] == "configuring it would use the network"


def test_a_step_sees_no_environment(acted: dict[str, dict[str, Any]]) -> None:
    seen = acted["raises"]["message"]
    assert "PYTHONPATH" in seen
    assert not [name for name in ("HOME", "USER", "PATH", "SECRET_KEY", "REDIS_URL") if f"'{name}'" in seen]


def test_a_step_that_ends_the_process_leaves_the_place_where_it_was(package: Path) -> None:
    config = {**PLAIN, "transforms": "x", "transforms.x.type": "reaching.Exits"}
    code, told = lines({"config": config, "records": [record(1)], "worker": ALLOWED}, path=package)
    assert (code, told[-1]) == (3, {"at": [0, 3]})


def test_a_configuration_that_cannot_be_used_is_one_sentence() -> None:
    code, told = lines({"config": {**PLAIN, "transforms": "x", "transforms.x.type": "Nobody"}})
    assert (code, told) == (1, [{"trouble": "transforms.x.type: is not a known class"}])


def test_a_document_that_cannot_be_read_is_one_sentence() -> None:
    code, (told,) = lines(b"\xff")
    assert (code, told["trouble"][:34]) == (1, "the rehearsal request is invalid: ")
    for document in (b"", b"[]", b"\xff", b'{"config": {}, "records": [{"topic": 1}]}'):
        with pytest.raises(BadRequest, match=r"^the rehearsal request is invalid: "):
            read_wanted(document)
