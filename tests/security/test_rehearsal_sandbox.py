"""A rehearsed class of somebody else reaches nothing of the server, whatever native code it calls."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as conf
from pytest_django import Settings

from dlqadmin.replays.rehearsals import sandboxed_run
from dlqadmin.replays.rehearsals.inputs import worker_options
from dlqadmin.replays.rehearsals.sandboxed_run import RunLimits, Told
from dlqadmin.sandbox import trial
from dlqadmin.sandbox.commands import Confinement, candidates
from dlqadmin.sandbox.trial import ConfinementVerdict, choose_confinement
from engine.record.stage import Stage, StageType

# cffi calls the C library without an audit event, so the engine's own fence sees none of it.
CODE = """
import json
import os
import cffi
from msgspec.structs import replace

ffi = cffi.FFI()
ffi.cdef('''
    int open(const char *path, int flags, ...); long read(int fd, void *data, unsigned long size);
    int socket(int family, int type, int protocol); int connect(int fd, const void *address, unsigned int size);
    int kill(int pid, int signal); int fork(void); unsigned int sleep(unsigned int seconds);
    int setuid(unsigned int id); int system(const char *command); int unshare(int flags); int getuid(void);
''')
libc = ffi.dlopen(None)

def contents(path):
    fd, data = libc.open(path.encode(), 0), ffi.new("char[]", 65536)
    return bytes(ffi.buffer(data, max(libc.read(fd, data, 65536), 0))).decode("latin1") if fd >= 0 else None

def connects(port):
    address = (2).to_bytes(2, "little") + port.to_bytes(2, "big") + bytes((127, 0, 0, 1)) + bytes(8)
    return libc.connect(libc.socket(2, 1, 0), address, 16) == 0

class Base:
    def configure(self, configs): pass
class Spies(Base):
    def apply(self, record):
        asked = record.value
        found = {
            "files": {path: contents(path) for path in asked["files"]},
            "connects": connects(asked["port"]),
            "signals": libc.kill(asked["process"], 0) == 0,
            "becomes root": libc.setuid(0) == 0 and libc.open(b"/etc/shadow", 0) >= 0,
            "makes a user name space": libc.unshare(0x10000000) == 0,
            "talks to the host": libc.socket(40, 1, 0) >= 0,
            "inherits": is_open(asked["descriptor"]),
            "starts a program": libc.system(b"/bin/true") == 0,
            "environment": sorted(os.environ),
            "user": libc.getuid(),
            "folders": sorted(os.listdir("/")),
        }
        return replace(record, value=json.dumps(found))
class Stays(Base):
    def apply(self, record):
        if libc.fork() == 0:
            libc.sleep(600)
        return record
class Forks(Base):
    def apply(self, record):
        first = os.getpid()
        while libc.fork() >= 0: pass  # until it is refused
        if os.getpid() != first:
            libc.sleep(600)
        return record
class Bombs(Base):
    def apply(self, record):
        while libc.fork() >= 0: pass  # each process that ends makes room for another one
        return record

def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
"""
pytestmark = pytest.mark.slow  # most tests start the engine in a sandbox

CONFIG = {"name": "c", "connector.class": "FileStreamSink", "topics": "t", "value.converter.schemas.enable": "false"}
UNCONFINED = ConfinementVerdict(Confinement.NONE, "bwrap: not permitted")


def test_a_dead_letter_names_no_class_by_path_that_its_connector_does_not() -> None:
    config = {"transforms": "a", "transforms.a.type": "sensors.steps:Celsius", "value.converter": "own.pack.Converter"}
    patterns = {"transforms.a.regex": "*.*", "errors.log.enable": "true"}
    stages = [Stage(StageType.KEY_CONVERTER, "forged.module.Converter"), Stage(StageType.TASK_PUT, "forged.Sink")]
    worker = worker_options(stages, {**config, **patterns})
    assert worker["plugin.classes.allow"] == "own.pack.Converter,sensors.steps:Celsius"
    assert worker["key.converter"] == "forged.module.Converter"  # refused by the engine: no pattern matches it
    assert "plugin.classes.allow" not in worker_options(stages, patterns)


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of plugins; the folder around it is closed to others."""
    folder = tmp_path_factory.mktemp("closed") / "plugins"
    folder.mkdir()
    (folder / "spying.py").write_text(CODE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.setenv("SECRET_KEY", "hunter3")
        yield folder


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def rehearse(
    name: str,
    value: Any = None,
    found: ConfinementVerdict | None = None,
    limits: RunLimits = RunLimits(),  # noqa: B008, frozen
) -> Told:
    record = {"topic": "t", "key": None, "value": base64.b64encode(json.dumps(value).encode()).decode()}
    config = {**CONFIG, "transforms": "own", "transforms.own.type": f"spying.{name}"}
    worker = {"plugin.classes.allow": "spying.*"}
    return sandboxed_run.run({"worker": worker, "config": config, "records": [record]}, limits, found)


def spied(files: list[str], port: int, found: ConfinementVerdict | None = None) -> dict[str, Any]:
    """Return everything that the class got hold of."""
    descriptor = fcntl.fcntl(0, fcntl.F_DUPFD, 50)  # free here, and above all that the sandbox opens by itself
    asked = {"files": files, "port": port, "process": os.getpid(), "descriptor": descriptor}
    told = rehearse("Spies", asked, found)
    os.close(descriptor)
    got: dict[str, Any] = json.loads(told.records[0]["stages"][3]["after"]["value"]["value"])
    return got


@pytest.fixture(scope="module")
def files(plugins: Path) -> list[str]:
    """Files that hold secrets, or tell of this machine."""
    secret = plugins.parent / "secret-key"
    secret.write_text("hunter2")
    secret.chmod(0o644)
    environment = [f"/proc/{process}/environ" for process in (os.getpid(), os.getppid(), 1)]
    own = [str(conf.BASE_DIR / name) for name in ("manage.py", ".env.example", "dlqadmin/settings/__init__.py")]
    return [str(secret), str(conf.LOCAL_DIR / "secret-key"), "/etc/passwd", "/etc/hostname", *environment, *own]


@pytest.fixture(scope="module")
def reached(files: list[str], port: int) -> Callable[[Confinement], dict[str, Any]]:
    """Return what the class reaches under each means; each is tried once."""
    return cache(lambda means: spied(files, port, ConfinementVerdict(means)))


def test_a_class_reads_no_secret_and_reaches_no_process_and_no_network(
    files: list[str], reached: Callable[[Confinement], dict[str, Any]]
) -> None:
    got = reached(trial.verdict().means)
    assert got["files"] == dict.fromkeys(files)
    assert not got["connects"]
    assert not got["signals"]
    assert not got["becomes root"]
    assert not got["makes a user name space"]
    assert not got["talks to the host"]
    assert not got["inherits"]
    assert not got["starts a program"]
    assert set(got["environment"]) <= {"LC_CTYPE"}
    assert not set(got["folders"]) & {"proc", "sys", "home", "run", "var", "boot"}


def test_the_same_class_reaches_all_of_it_without_a_sandbox(
    plugins: Path, files: list[str], port: int, settings: Settings
) -> None:
    settings.ALLOWED_WITHOUT_SANDBOX = ["foreign-classes"]
    got = spied(files, port, UNCONFINED)
    assert got["files"][files[0]] == "hunter2"
    assert got["connects"]
    assert got["signals"]
    assert got["starts a program"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program another user id")
def test_a_service_that_runs_as_root_rehearses_as_nobody(reached: Callable[[Confinement], dict[str, Any]]) -> None:
    assert reached(trial.verdict().means)["user"] == 65534


@pytest.mark.parametrize("means", candidates())
def test_every_means_that_is_installed_confines(
    files: list[str], reached: Callable[[Confinement], dict[str, Any]], means: Confinement
) -> None:
    assert trial.try_confinement(means) == ""
    got = reached(means)
    assert got["files"] == dict.fromkeys(files)
    assert (got["connects"], got["signals"], got["talks to the host"]) == (False, False, False)


def test_processes_that_a_class_leaves_behind_end_with_it(plugins: Path) -> None:
    told = rehearse("Stays", limits=RunLimits(wall_s=15))
    assert told.stages
    assert are_gone(plugins)


def test_the_processes_that_a_class_starts_are_bounded_and_end_with_it(plugins: Path) -> None:
    told = rehearse("Forks", limits=RunLimits(wall_s=60))
    assert told.records[0]["stages"][3]["state"] == "ok"  # it comes back only where a fork was refused
    assert are_gone(plugins)


@pytest.mark.soak  # keeps every processor busy until the rehearsal's time is over
def test_a_class_that_forks_without_end_is_ended(plugins: Path) -> None:
    told = rehearse("Bombs", limits=RunLimits(wall_s=15))
    assert told.stages
    assert are_gone(plugins)


def test_a_folder_of_plugins_that_holds_the_dashboard_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(settings.BASE_DIR), "/", "", str(settings.LOCAL_DIR))))
    assert sandboxed_run.plugin_folders() == ()


def test_without_a_sandbox_foreign_classes_are_off_and_the_screen_says_why(plugins: Path) -> None:
    told = rehearse("Spies", found=UNCONFINED)
    assert told.trouble == (
        "transforms.own.type: is not built in. Classes that are not built in are disabled on this server, because"
        " it has no sandbox (bwrap: not permitted). Install bubblewrap and allow user namespaces, or set"
        " ALLOWED_WITHOUT_SANDBOX=foreign-classes"
    )


def test_without_a_sandbox_built_in_steps_are_still_rehearsed() -> None:
    record = {"topic": "t", "key": None, "value": "MQ=="}
    told = sandboxed_run.run({"config": CONFIG, "records": [record]}, found=UNCONFINED)
    assert told.trouble == ""
    assert told.records[0]["stages"][1]["state"] == "ok"


def test_the_first_means_that_confines_is_taken() -> None:
    tried = []

    def attempt(means: Confinement) -> str:
        tried.append(means)
        return "" if means is Confinement.UNSHARE else f"{means}: refused"

    assert choose_confinement(
        [Confinement.BUBBLEWRAP, Confinement.UNSHARE, Confinement.UNSHARE_AS_ROOT], attempt
    ) == ConfinementVerdict(Confinement.UNSHARE)
    assert tried == [Confinement.BUBBLEWRAP, Confinement.UNSHARE]


def test_where_nothing_confines_every_reason_is_told() -> None:
    found = choose_confinement([Confinement.BUBBLEWRAP, Confinement.UNSHARE], lambda means: f"{means}: refused")
    assert found == ConfinementVerdict(Confinement.NONE, "bubblewrap: refused; unshare: refused")
    assert not found.confines
    assert choose_confinement([], lambda _: "").reason == "neither bubblewrap nor unshare is installed"


def test_a_program_that_is_not_confined_fails_the_trial() -> None:
    said = trial.try_confinement(Confinement.NONE)
    assert "connect to this machine" in said
    assert "read /etc/passwd" in said


def are_gone(folder: Path) -> bool:
    """Wait for processes that were killed with their name space."""
    ends = time.monotonic() + 10
    while living(folder) and time.monotonic() < ends:
        time.sleep(0.1)
    return not living(folder)


def living(folder: Path) -> list[str]:
    """The command lines of living processes that name the folder."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes().decode(errors="replace"))
        except OSError:  # it ended meanwhile
            continue
    return [line for line in lines if str(folder) in line]
