"""An earlier release and this version beside each other, on one database and one Kafka; and the roll back."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from demo.broker import LocalBroker
from dlqadmin.host.network import HOST, free_ports, is_answering, wait_until
from engine.record.replay import ITEM
from tests.dlqadmin.deadletters.letters import GAP, NST, letter
from tests.dlqadmin.upgrades.record import RELEASE
from tests.dlqadmin.upgrades.test_database import RELEASES
from tests.support import topics

ROOT = Path(__file__).parents[3]
ORIGIN = "usgs.earthquakes"  # of the dead letters of `letter`
PARTITIONS = 4
BESIDE_S, BACK_S, START_S, SETTLED_S = 60, 20, 90, 120
PAUSE_S = 0.02  # between two dead letters
REPLAYED = 5  # records of one replay
ROWS = 'SELECT count(*), count(DISTINCT ("partition", "offset")) FROM deadletters_deadletter'
COUNTED = (
    "SELECT sum(n) FROM deadletters_counthour",
    "SELECT sum(n) FROM deadletters_countday",
    "SELECT count(*) FROM deadletters_deadletterbody",
)
SENT = "SELECT count(*), count(DISTINCT lineage) FROM replays_replayitem WHERE sent_at IS NOT NULL"
UNSETTLED = "SELECT count(*) FROM replays_replay WHERE status IN ('planning', 'running', 'paused')"
NOTES = "SELECT count(*) FROM deadletters_groupactivity WHERE kind = 'note'"
WEB = ("-m", "uvicorn", "dlqadmin.asgi:application", "--host", HOST, "--no-proxy-headers", "--log-level", "warning")
CELERY = ("-m", "celery", "--quiet", "-A", "dlqadmin.celery")
WORKER = ("worker", "--queues", "celery,replays", "--pool", "threads", "--concurrency", "4", "--loglevel", "WARNING")


class Installation:
    """The parts that both versions share: Kafka, Redis, the database, and the data folder with the signing key."""

    def __init__(self, broker: LocalBroker, redis: str, database: str, home: Path) -> None:
        self.servers, self.home = broker.bootstrap_servers, home
        self.topic, self.password = f"{uuid.uuid4().hex}.dlq", uuid.uuid4().hex
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        for made in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (self.topic, ORIGIN)]).values():
            made.result(20)
        self.env = {
            **os.environ,
            "KAFKA_BOOTSTRAP_SERVERS": self.servers,
            "REDIS_URL": redis,
            "DATABASE_URL": database,
            "LOCAL_DIR": str(home),
            "DLQ_TOPICS": self.topic,
            "INDEX_GROUP": f"index-{self.topic}",
            "ENGINE_URL": "http://127.0.0.1:1",
            "DJANGO_SUPERUSER_PASSWORD": self.password,
            "PYTHONWARNINGS": "ignore",
        }
        self.connection = psycopg.connect(database, autocommit=True)

    def one(self, sql: str) -> tuple[Any, ...]:
        return tuple(self.connection.execute(sql.encode()).fetchone() or ())

    def manage(self, code: Path, *words: str) -> str:
        command = [sys.executable, "manage.py", *words]
        done = subprocess.run(command, cwd=code, env=self.env, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout


class Version:
    """The processes of one version."""

    def __init__(self, installed: Installation, code: Path, name: str) -> None:
        self.installed, self.code, self.name = installed, code, name
        [self.port] = free_ports(1)
        self.log = installed.home / f"{name}.log"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *, beat: bool = False) -> None:
        self._run(*WEB, "--port", str(self.port))
        self._run("manage.py", "index_deadletters")
        self._run(*CELERY, *WORKER, "--hostname", f"{self.name}@%h")
        if beat:
            schedule = str(self.installed.home / "beat")
            self._run(*CELERY, "beat", "--schedule", schedule, "--pidfile=", "--loglevel", "WARNING")
        wait_until(lambda: is_answering(HOST, self.port), f"The {self.name} web process", START_S)

    def stop(self) -> None:
        """End all processes. Those that ended before their time fail the test."""
        ended = [process.args for process in self.processes if process.poll() is not None]
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(60)
        self.processes.clear()
        assert ended == [], self.log.read_text()[-3000:]

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        url = f"http://{HOST}:{self.port}"
        with httpx.Client(base_url=f"{url}/api/v1/", timeout=30) as client:
            client.get("session").raise_for_status()
            client.headers.update({"X-CSRFToken": client.cookies["csrftoken"], "Referer": url})
            credentials = {"username": "operator", "password": self.installed.password}
            client.post("session", json=credentials).raise_for_status()
            client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
            yield client

    def _run(self, *words: str) -> None:
        with self.log.open("ab") as log:
            command = [sys.executable, *words]
            self.processes.append(
                subprocess.Popen(command, cwd=self.code, env=self.installed.env, stdout=log, stderr=log)
            )


class Work:
    """Dead letters that keep coming, and people who use the web process of each version, in threads."""

    def __init__(self, installed: Installation) -> None:
        self.installed, self.written = installed, 0
        self.answers: dict[str, Counter[tuple[str, int]]] = {}
        self.errors: list[str] = []
        self._producer = Producer({"bootstrap.servers": installed.servers})

    @contextmanager
    def on(self, *versions: Version) -> Iterator[None]:
        """Work until the block ends."""
        over = threading.Event()
        threads = [threading.Thread(target=self._write, args=(over,))]
        threads += [threading.Thread(target=self._use, args=(version, over)) for version in versions]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()

    def _write(self, over: threading.Event) -> None:
        while not over.wait(PAUSE_S):
            number = self.written
            message = (GAP, NST)[number % 2]
            one = letter(number, partition=number % PARTITIONS, message=message, key=b"%d" % number)
            self._producer.produce(self.installed.topic, one.value, one.key, one.partition, headers=list(one.headers))
            self.written += 1
        assert self._producer.flush(30) == 0

    def _use(self, version: Version, over: threading.Event) -> None:
        """Read and write as people do, and count the answers."""
        seen = self.answers.setdefault(version.name, Counter())

        def ask(kind: str, method: str, path: str, body: Any = None) -> Any:
            answer = client.request(method, path, json=body)
            seen[kind, answer.status_code] += 1
            if answer.status_code >= 500 or answer.status_code in (400, 404):
                self.errors.append(f"{version.name}: {method} {path}: {answer.status_code} {answer.text[:300]}")
            return answer.json() if answer.is_success else None

        with version.client() as client:
            while not over.wait(0.1):
                groups = (ask("groups", "GET", "groups") or {}).get("results", [])
                letters = (ask("letters", "GET", "dead-letters?limit=50") or {}).get("results", [])
                ask("replays", "GET", "replays")
                for group in groups[:2]:
                    path = f"groups/{group['id']}"
                    ask("group", "GET", path)
                    ask("note", "POST", f"{path}/notes", {"text": f"seen by {version.name}"})
                    ask("triage", "POST", f"{path}/assign", {"username": "operator"})
                    ask("triage", "POST", f"{path}/resolve", {})
                for row in letters[:2]:
                    ask("letter", "GET", f"dead-letters/{row['id']}")
                if letters:
                    self._replay(ask, [row["id"] for row in letters[:REPLAYED]])

    @staticmethod
    def _replay(ask: Any, ids: Sequence[int]) -> None:
        selection = ask("selection", "POST", "selections", {"ids": list(ids)})
        options = {"selection": selection and selection["id"], "rate": 0, "steps": [], "breaker_percent": None}
        planned = ask("plan", "POST", "replays", options) if selection else None
        if planned and planned["plan"]["runnable"]:
            why = {"reason": "It is fixed.", "plan_digest": planned["plan"]["digest"]}
            ask("run", "POST", f"replays/{planned['id']}/run", why)


@pytest.fixture
def installed(own_broker: LocalBroker, redis_url: str, postgres_url: str, tmp_path: Path) -> Iterator[Installation]:
    name = f"both_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as postgres:
        postgres.execute(f"CREATE DATABASE {name}".encode())
    made = Installation(own_broker, redis_url, f"{postgres_url.rpartition('/')[0]}/{name}", tmp_path)
    yield made
    made.connection.close()


def code_of(release: Path, folder: Path) -> Path:
    """Extract the code of a release from the repository. Skips the test in a clone without its history."""
    commit = json.loads((release / RELEASE).read_text())["commit"]
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"this clone has no commit {commit}")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.soak  # minutes of load on all processes of two versions; shorter: test_database.py, test_migrations.py
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_two_versions_beside_each_other_lose_nothing_and_the_new_one_can_be_rolled_back(
    release: Path, installed: Installation, tmp_path: Path
) -> None:
    code = code_of(release, tmp_path / "code")
    installed.manage(code, "migrate", "--verbosity", "0")
    installed.manage(code, "createsuperuser", "--noinput", "--username", "operator", "--email", "")
    old, new, work = Version(installed, code, "old"), Version(installed, ROOT, "new"), Work(installed)
    with ExitStack() as ending:
        ending.callback(old.kill)
        ending.callback(new.kill)
        old.start(beat=True)
        with work.on(old):
            wait_until(lambda: work.answers["old"]["run", 200] > 0, "A replay", START_S)
            installed.manage(ROOT, "migrate", "--verbosity", "0")
            time.sleep(5)  # the old version on the new schema
        new.start()
        with work.on(old, new):
            time.sleep(BESIDE_S)
        new.stop()
        with work.on(old):  # rolled back
            time.sleep(BACK_S)
        wait_until(partial(_is_settled, installed, work.written), "The rest", SETTLED_S)
        old.stop()
    assert work.errors == []
    for name in ("old", "new"):
        good = {kind for kind, status in work.answers[name] if status < 300}
        assert good == {"groups", "letters", "replays", "group", "note", "triage", "letter", "selection", "plan", "run"}
    assert installed.one(ROWS) == (work.written, work.written)
    assert [installed.one(sql)[0] for sql in COUNTED] == [work.written] * 3
    noted = sum(seen["note", 200] for seen in work.answers.values())
    assert installed.one(NOTES)[0] == noted
    items, lineages = installed.one(SENT)
    sent = Counter(record.header(ITEM) for record in topics.read(installed.servers, ORIGIN))
    assert len(sent) == items == lineages > 0
    assert set(sent.values()) == {1}


def _is_settled(installed: Installation, written: int) -> bool:
    return bool(installed.one(ROWS)[0] >= written and installed.one(UNSETTLED)[0] == 0)
