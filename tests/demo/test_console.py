"""The console of `make run`, and the processes behind it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from demo import run
from demo.environment import ROOT, demo_environment
from demo.processes import PROCESSES
from dlqadmin.host.network import wait_until
from dlqadmin.host.supervisor import Supervisor, shell_commands
from dlqadmin.serve.console import LaunchFailed, announce_each
from dlqadmin.serve.processes import ManagedProcess

STAYS = "echo $$; exec sleep 60"
IGNORES_SIGTERM = "trap '' TERM; echo $$; while :; do sleep 0.05; done"


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    """An environment whose demo user has a password."""
    (tmp_path / "demo-password").write_text("secret\n")
    return {**os.environ, "LOCAL_DIR": str(tmp_path), "WEB_HOST": "127.0.0.1", "WEB_PORT": "8000"}


@pytest.fixture
def two(env: Mapping[str, str], tmp_path: Path) -> Iterator[Supervisor]:
    """Two processes that stay; one of them ignores SIGTERM."""
    supervisor = Supervisor(shell_commands({"stays": STAYS, "ignores": IGNORES_SIGTERM}), env, tmp_path / "logs")
    supervisor.start()
    yield supervisor
    supervisor.stop(0)


def process(name: str, *, up: bool = True) -> ManagedProcess:
    return ManagedProcess(name, f"the {name}", lambda _: up, lambda _: "127.0.0.1:1")


def first_line(log: Path) -> str:
    wait_until(lambda: "\n" in log.read_text(), log.name, 10, 0.01)
    return log.read_text().splitlines()[0]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_command_has_a_line() -> None:
    assert sorted(run.procfile(ROOT / "Procfile")) == sorted(one.name for one in PROCESSES)


@pytest.mark.slow
def test_the_console_shows_who_is_up_then_the_sign_in_then_who_died(
    env: Mapping[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    commands = {"stays": STAYS, "dies": "echo noise; echo noise >&2; sleep 0.5; exit 3"}
    with pytest.raises(LaunchFailed) as broken:
        run.run(env, [process("stays"), process("dies")], commands)
    told = capfd.readouterr()
    first, second, *rest = told.out.splitlines()
    line = re.compile(r"  (stays|dies) +the \1 +127\.0\.0\.1:1 +0\.\d s")
    assert {match[1] for match in map(line.fullmatch, (first, second)) if match} == set(commands)
    assert rest == [
        "",
        "  dlqadmin is up: http://127.0.0.1:8000",
        "  sign in as demo with the password secret",
        f"  the connectors log their errors to {tmp_path}/logs/engine.log; the other logs are beside it",
        "",
    ]
    assert str(broken.value) == f"dies ended with exit code 3, so all processes stop; see {tmp_path}/logs/dies.log."
    assert (tmp_path / "logs" / "dies.log").read_text() == "noise\nnoise\n"
    assert told.err == ""


def test_a_process_that_ends_before_it_is_up_stops_the_others(env: Mapping[str, str], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    with pytest.raises(LaunchFailed, match=f"^dies was ended by SIGKILL, so all processes stop; see {logs}/dies.log.$"):
        run.run(env, [process("stays", up=False), process("dies", up=False)], {"stays": STAYS, "dies": "kill -9 $$"})
    assert not is_alive(int(first_line(logs / "stays.log")))


def test_a_process_that_does_not_come_up_is_named(env: Mapping[str, str], two: Supervisor) -> None:
    with pytest.raises(LaunchFailed) as broken:
        announce_each(env, [process("stays"), process("ignores", up=False)], two, timeout_s=0)
    assert str(broken.value) == f"ignores is not up after 0 s; see {two.log('ignores')}."


def test_a_process_that_ignores_the_stop_is_killed(two: Supervisor) -> None:
    pids = [int(first_line(two.log(name))) for name in ("stays", "ignores")]
    assert two.ended() == {}
    two.stop(timeout_s=0.2)
    assert not any(map(is_alive, pids))


def test_servers_stop_last(env: Mapping[str, str], tmp_path: Path) -> None:
    slow = "trap 'sleep 0.1; kill -0 $(cat server) && echo served; exit' TERM; echo up; while :; do sleep 0.02; done"
    commands = {"server": "echo $$ > server; exec sleep 60", "client": slow}
    supervisor = Supervisor(shell_commands(commands), env, tmp_path, ["server"], folder=tmp_path)
    supervisor.start()
    first_line(supervisor.log("client"))
    supervisor.stop()
    assert supervisor.log("client").read_text().endswith("served\n")


def test_a_log_holds_the_output_of_one_run(env: Mapping[str, str], tmp_path: Path) -> None:
    for text in ("first", "second"):
        supervisor = Supervisor(shell_commands({"brief": f"echo {text}"}), env, tmp_path)
        supervisor.start()
        assert first_line(supervisor.log("brief")) == text
        supervisor.stop()
    assert supervisor.log("brief").read_text() == "second\n"


@pytest.mark.slow
def test_a_command_that_fails_is_one_sentence_with_its_log(tmp_path: Path) -> None:
    env = demo_environment({**os.environ, "LOCAL_DIR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path}"})
    run.logs_of(env).mkdir()
    with pytest.raises(LaunchFailed, match=f"^manage.py migrate failed; see {tmp_path}/logs/migrate.log.$"):
        run.manage(env, "migrate")
    assert "unable to open database file" in (tmp_path / "logs" / "migrate.log").read_text()
