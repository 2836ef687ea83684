"""`dlqadmin serve` from a wheel: the first group of foreign dead letters, and the life of its processes."""

from __future__ import annotations

import logging
import os
import re
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from confluent_kafka.admin import AdminClient

from dlqadmin.host.network import is_answering, wait_until
from dlqadmin.serve.preparation import FirstUser, PreparationResult
from dlqadmin.serve.run import welcome
from tests.serve.conftest import LETTERS
from tests.serve.served import Served

log = logging.getLogger(__name__)  # `--log-cli-level=INFO` shows the seconds
PATIENCE_S = 120  # other suites run at the same time; test_installation.py has the limit of a minute
COMMAND = (sys.executable, "-m", "dlqadmin")


@pytest.fixture(scope="module")
def served(installed: Path, foreign_broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An installation whose first start is complete."""
    running = Served(COMMAND, tmp_path_factory.mktemp("home"), foreign_broker, installed)
    running.start()
    try:
        running.wait_until_up()
        yield running
    finally:
        running.stop()


def groups(served: Served) -> set[str]:
    """Return the exceptions of all groups."""
    return {row["exception_class"].rpartition(".")[2] for row in served.get("groups")["results"]}


def test_the_first_group_and_the_screens_are_there(served: Served) -> None:
    wait_until(lambda: bool(groups(served)), "The first group", PATIENCE_S)
    log.info("the first group after %.0f s", served.seconds())
    page = httpx.get(served.url)
    [script] = re.findall(r'<script type="module" crossorigin src="(/assets/[^"]+)"', page.text)
    assert httpx.get(f"{served.url}{script}").is_success


def test_the_dead_letters_of_all_frameworks_are_found_by_the_names_of_their_topics(served: Served) -> None:
    def indexed() -> set[str]:
        return {row["topic"] for row in served.get("clusters")["index"]["topics"]}

    wait_until(lambda: indexed() >= LETTERS.keys(), "The index of all topics", PATIENCE_S)
    assert indexed() == LETTERS.keys()
    wait_until(lambda: len(groups(served)) >= 4, "Groups of all frameworks", PATIENCE_S)
    assert {"JdbcSQLIntegrityConstraintViolationException", "JsonEOFException", "DataException"} <= groups(served)


def test_all_parts_are_healthy_without_an_engine(served: Served) -> None:
    wait_until(lambda: served.get("health")["status"] == "ok", "Good health", PATIENCE_S, 1)
    assert served.get("health")["connect"] == []
    assert served.get("metrics/attention")["ok"]


def test_the_console_has_a_line_for_each_process_and_the_sign_in(served: Served) -> None:
    lines = [line.split()[0] for line in served.console().splitlines() if line]
    processes = {"redis", "web", "worker", "replayer", "beat", "indexer"}
    assert lines[:2] == ["Preparing", "kafka"]
    assert set(lines[2:8]) == processes
    assert lines[8:10] == ["dlqadmin", "sign"]
    assert "1 broker, 3 dead letter topics" in served.console()


def test_the_password_is_on_the_console_only(served: Served) -> None:
    assert len(served.password) >= 12
    files = [path for path in served.data.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert [path for path in files if served.password.encode() in path.read_bytes()] == []
    for pid in served.processes():
        assert served.password.encode() not in Path(f"/proc/{pid}/environ").read_bytes()


def test_only_the_owner_reads_the_data(served: Served) -> None:
    assert served.data.stat().st_mode & 0o077 == 0
    for name in ("secret-key", "redis-password", "dlqadmin.sqlite3", "logs"):
        assert (served.data / name).stat().st_mode & 0o077 == 0


def test_its_indexer_shares_no_consumer_group_with_another_installation(served: Served) -> None:
    group = (served.data / "index-group").read_text()
    assert re.fullmatch(r"dlqadmin-index-[0-9a-f]{8}", group)
    admin = AdminClient({"bootstrap.servers": served.broker})
    listed = {row.group_id for row in admin.list_consumer_groups().result(20).valid}
    assert group in listed
    assert "dlqadmin-index" not in listed


def test_it_listens_on_this_machine_only(served: Served) -> None:
    listening = re.compile(rf"^\s*\d+: (\w+):{served.port:04X} 00000000:0000 0A", re.MULTILINE)
    assert listening.findall(Path("/proc/net/tcp").read_text()) == ["0100007F"]


def test_another_one_with_the_same_data_is_refused(served: Served) -> None:
    second = served.run("serve", "--kafka", served.broker, "--data", str(served.data), "--port", "1")
    assert second.returncode == 1
    assert second.stderr == f"dlqadmin: Another dlqadmin uses {served.data}. Stop it, or add --data.\n"


def test_a_used_port_is_refused(served: Served, tmp_path: Path) -> None:
    second = served.run("serve", "--kafka", served.broker, "--data", str(tmp_path), "--port", str(served.port))
    assert (second.returncode, second.stderr) == (
        1,
        f"dlqadmin: Port {served.port} is in use. Stop the program that uses it, or add --port.\n",
    )


def test_a_cluster_that_does_not_respond_ends_the_start_with_a_sentence(served: Served, tmp_path: Path) -> None:
    second = served.run("serve", "--kafka", "127.0.0.1:1", "--data", str(tmp_path), "--port", "1")
    assert second.returncode == 1
    assert "Kafka can't be used: No process listens at this address and port." in second.stderr


def test_commands_of_django_use_the_same_database(served: Served) -> None:
    shown = served.run("manage", "--data", str(served.data), "migrate", "--check")
    assert shown.returncode == 0, shown.stderr
    made = served.run("manage", "--data", str(served.data), "create_token", "admin", "--name", "ci")
    token = made.stdout.strip()
    listed = served.run("manage", "shell", LOCAL_DIR=str(served.data))
    assert listed.returncode == 0
    rows = httpx.get(f"{served.url}/api/v1/groups", headers={"Authorization": f"Token {token}"})
    assert rows.is_success, made.stderr


def test_a_process_that_ends_starts_again_and_the_console_says_so(served: Served) -> None:
    [indexer] = [pid for pid, line in served.processes().items() if "index_deadletters" in line]
    os.kill(indexer, signal.SIGKILL)
    sentence = f"indexer was ended by SIGKILL and starts again in 1 s; see {served.data}/logs/indexer.log."
    wait_until(lambda: sentence in served.console(), sentence, 20)

    def restarted() -> bool:
        return any("index_deadletters" in line for line in served.processes().values())

    wait_until(restarted, "The indexer", 20)


def test_a_signal_stops_all_and_the_next_start_shows_no_password(served: Served) -> None:
    pids = served.processes()
    redis = int((served.data / "redis-port").read_text())
    assert served.stop(signal.SIGINT) == 128 + signal.SIGINT
    assert served.processes() == {}
    assert len(pids) >= 5
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{redis}")
    first = served.password
    served.start("--read-only", "--topics", r"orders\.DLT", DLQADMIN_PASSWORD="another password")
    served.wait_until_up()
    assert "sign in as before" in served.console()
    assert served.password == first
    assert [row["pattern"] for row in served.get("clusters")["index"]["topics"] if row["pattern"]] == [r"orders\.DLT"]
    assert served.get("session")["read_only"] is True
    assert served.stop() == 128 + signal.SIGTERM
    with closing(sqlite3.connect(served.data / "dlqadmin.sqlite3")) as database:
        assert database.execute("SELECT count(*) FROM auth_user").fetchone() == (1,)


def test_no_process_outlives_a_killed_command(served: Served) -> None:
    served.start()
    wait_until(lambda: len(served.processes()) >= 5, "The processes", PATIENCE_S)
    assert served.stop(signal.SIGKILL) == -signal.SIGKILL
    wait_until(lambda: not served.processes(), "The end of all processes", 10)
    redis = int((served.data / "redis-port").read_text())
    wait_until(lambda: not is_answering("127.0.0.1", redis), "The end of Redis", 10)


def test_another_address_needs_a_warning_and_a_given_password_is_not_shown() -> None:
    env = {"WEB_HOST": "10.1.2.3", "WEB_PORT": "80"}
    shown = welcome(env, FirstUser("me", "hush"), PreparationResult(is_first=True), is_given=True)
    assert "sign in as me with the password of DLQADMIN_PASSWORD" in shown
    assert "hush" not in shown
    assert "warning: everybody who reaches 10.1.2.3:80 gets the sign-in, unencrypted" in shown
