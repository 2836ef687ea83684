"""A replay on real parts: broker, Redis, Celery worker and beat in processes and on a database of their own.

`python -m tests.broker.replay_world <verb> …` does one thing in the product's environment.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka.admin import AdminClient, NewTopic

from demo.network import wait_until
from tests.support.topics import Record, read

ROOT = Path(__file__).parents[2]
REASON = "the cause is gone"
TOPIC = "events"
CELERY = (sys.executable, "-m", "celery", "--quiet", "-A", "dlqadmin.celery")


class ReplayWorld:
    """The processes of one test; `kill_worker` ends one as a power cut would."""

    def __init__(self, home: Path, broker: str, redis: str, database: str) -> None:
        self.broker, self.database = broker, database
        self.env = {
            **os.environ,
            "KAFKA_BOOTSTRAP_SERVERS": broker,
            "REDIS_URL": redis,
            "DATABASE_URL": database,
            "LOCAL_DIR": str(home),
            "ENGINE_URL": "http://127.0.0.1:1",
        }
        self.log = (home / "processes.log").open("ab")
        self.home = home
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, 4, 1)])[TOPIC].result(20)
        self._wait([sys.executable, "manage.py", "migrate", "--verbosity", "0"])

    def start_worker(self) -> None:
        self._start("worker", [*CELERY, "worker", "--pool", "threads", "--concurrency", "8", "--loglevel", "INFO"])

    def start_beat(self) -> None:
        schedule = str(self.home / "beat")
        self._start("beat", [*CELERY, "beat", "--schedule", schedule, "--pidfile=", "--loglevel", "WARNING"])

    def kill_worker(self) -> None:
        self._end("worker", signal.SIGKILL)

    def stop(self) -> None:
        for name in list(self.processes):
            self._end(name, signal.SIGTERM)
        self.log.close()

    def say(self, verb: str, *words: str) -> str:
        """Do one thing as the web process would; what it answered."""
        return self._wait([sys.executable, "-m", "tests.broker.replay_world", verb, *words])

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        if self.database.startswith("sqlite"):
            connection = sqlite3.connect(self.database.removeprefix("sqlite:///"), timeout=20)
            try:
                return connection.execute(query).fetchall()
            finally:
                connection.close()
        with psycopg.connect(self.database) as postgres:
            return postgres.execute(query.encode()).fetchall()

    def count(self, condition: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM replays_replayitem WHERE {condition}")[0][0])

    def sent(self) -> int:
        return self.count("sent_offset IS NOT NULL")

    def until_sent(self, count: int, seconds: float = 120) -> None:
        self.until(lambda: self.sent() >= count, f"{count} records sent", seconds)

    def until(self, true: Callable[[], bool], what: str, seconds: float = 120) -> None:
        wait_until(true, what, seconds)

    def topic(self) -> list[Record]:
        return read(self.broker, TOPIC)

    def _wait(self, command: Sequence[str]) -> str:
        done = subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _start(self, name: str, command: Sequence[str]) -> None:
        self.processes[name] = subprocess.Popen(
            command, cwd=ROOT, env=self.env, stdout=self.log, stderr=self.log, start_new_session=True
        )

    def _end(self, name: str, sign: signal.Signals) -> None:
        process = self.processes.pop(name)
        process.send_signal(sign)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _main(verb: str, words: Sequence[str]) -> None:
    import django  # here, because the module is imported by tests too, whose database is another

    django.setup()
    from django.contrib.auth.models import User
    from django.utils import timezone

    from dlqadmin.replays import controlling
    from dlqadmin.replays.models import Replay

    now = timezone.now()
    person = User.objects.get_or_create(username="operator-1")[0]
    if verb == "run":
        sys.stdout.write(controlling.run(_planned(int(words[0]), int(words[1])), person, REASON, now))
        return
    replay = Replay.objects.get()
    began = time.monotonic()
    if verb == "pause":
        said = controlling.pause(replay, person, now)
    elif verb == "resume":
        said = controlling.resume(replay, person, now)
    elif verb == "rate":
        said = controlling.set_rate(replay, person, int(words[0]), now)
    else:
        said = controlling.cancel(replay, person, REASON, now)
    sys.stdout.write(f"{time.monotonic() - began:.3f} {said}")


def _planned(count: int, rate: int) -> Any:
    """A planned replay of so many dead letters."""
    from dlqadmin.deadletters.models import DeadLetter
    from dlqadmin.replays.models import Replay, ReplayItem, Selection
    from tests.dlqadmin.deadletters.letters import NOW, index, letter

    for start in range(0, count, 500):
        index([letter(n, key=b"key %d" % n, value=b'{"n": %d}' % n) for n in range(start, min(count, start + 500))])
    selection = Selection.objects.create(
        created_at=NOW, filters={}, title="all", watermark=count, count=count, digest="d"
    )
    replay = Replay.objects.create(
        selection=selection, title="all", planned_at=NOW, created_at=NOW, rate=rate, plan={"runnable": True}
    )
    letters = DeadLetter.objects.order_by("offset")
    ReplayItem.objects.bulk_create(
        [
            ReplayItem(
                replay=replay,
                ordinal=row.offset,
                dead_letter=row,
                lineage=f"origin/0/{row.offset}",
                target_topic=TOPIC,
                state_at=NOW,
            )
            for row in letters
        ],
        batch_size=500,
    )
    return replay


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")
    _main(sys.argv[1], sys.argv[2:])
