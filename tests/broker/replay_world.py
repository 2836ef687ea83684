"""A replay on real parts: broker, Redis, Celery workers and beat in processes and on a database of their own.

`python -m tests.broker.replay_world` runs in the product's environment, and does what each line of its input says.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.db import DatabaseError, connection
from redis import Redis

from dlqadmin.host.network import wait_until
from tests.support import schema_template
from tests.support.topics import Record, read

ROOT = Path(__file__).parents[2]
REASON = "the cause is fixed"
PLAN = "digest"
TOPIC = "events"
CELERY = (sys.executable, "-m", "celery", "--quiet", "-A", "dlqadmin.celery")


class ReplayWorld:
    """The processes of one test, none of them started yet; `kill` is a kill -9, `freeze` and `thaw` stop and wake."""

    def __init__(self, home: Path, broker: str, redis: str, database: str, topic: str = TOPIC) -> None:
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
        self.prefix: tuple[str, ...] = ()  # of the command of each process, such as to run it in a namespace
        self._sayer: subprocess.Popen[str] | None = None
        self.name = topic
        self._create_topic()
        schema_template.migrate(self.env)

    def begin_anew(self) -> None:
        """Forget all replays and dead letters, and send to a new topic from now on."""
        self.say("forget")
        self.name = f"{TOPIC}-{uuid4().hex[:8]}"
        self._create_topic()

    def start_worker(self) -> None:
        """The worker of everything but sending."""
        self._start_celery("worker", "celery")

    def start_replayer(self, name: str = "replayer") -> None:
        self._start_celery(name, "replays")

    def start_beat(self) -> None:
        schedule = str(self.home / "beat")
        self._start("beat", [*CELERY, "beat", "--schedule", schedule, "--pidfile=", "--loglevel", "WARNING"])

    def start(self) -> None:
        self.start_worker()
        self.start_replayer()
        self.start_beat()

    def terminate(self, name: str, within_s: float) -> int:
        """Send SIGTERM; return the exit code. Raises TimeoutExpired for a process that does not end in time."""
        process = self.processes[name]
        process.terminate()
        code = process.wait(within_s)
        del self.processes[name]
        return code

    def kill(self, name: str) -> None:
        self._end(name, signal.SIGKILL)

    def freeze(self, name: str) -> None:
        """Stop it where it is, but not inside a database transaction: its locks would stop all others with it."""
        while True:
            self.processes[name].send_signal(signal.SIGSTOP)
            if self._writable():
                return
            self.thaw(name)

    def thaw(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGCONT)

    def stop(self) -> None:
        for name in self.processes:
            self.thaw(name)
            self.processes[name].terminate()  # all of them at once: each takes some seconds
        for name in list(self.processes):
            self._end(name, signal.SIGTERM)
        if self._sayer is not None:
            self._sayer.communicate()
        self.log.close()

    def say(self, verb: str, *words: str) -> str:
        """Do one thing as the web process would; what it answered."""
        if self._sayer is None:
            command = [sys.executable, "-m", "tests.broker.replay_world"]
            self._sayer = subprocess.Popen(
                command, cwd=ROOT, env=self.env, text=True, bufsize=1,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            )  # fmt: skip
        assert self._sayer.stdin is not None
        assert self._sayer.stdout is not None
        self._sayer.stdin.write(json.dumps([self.name, verb, *words]) + "\n")
        answer = self._sayer.stdout.readline()
        assert answer, Path(self.log.name).read_text()[-6000:]
        return str(json.loads(answer))

    def races(self, rounds: int) -> list[list[str]]:
        """What `_race` says of each round."""
        return list(json.loads(self.say("race", str(rounds))))

    def take_for_dead(self) -> None:
        """Age the sender's heartbeat, as if the time-out after which a successor may take over had passed."""
        self._do("UPDATE replays_replay SET heartbeat = '2000-01-01 00:00:00'")

    def done(self, task: str) -> int:
        """How often a task has been done."""
        log = Path(self.log.name).read_text()
        return len(re.findall(rf"\.{task}\[\S+ succeeded", log))

    def waiting(self, queue: str) -> int:
        """Messages that no worker has taken yet."""
        with Redis.from_url(self.env["REDIS_URL"]) as redis:
            return int(redis.llen(queue))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        if self.database.startswith("sqlite"):
            connection = sqlite3.connect(self.database.removeprefix("sqlite:///"), timeout=20)
            try:
                return connection.execute(query).fetchall()
            finally:
                connection.close()
        with psycopg.connect(self.database) as postgres:
            return postgres.execute(query.encode()).fetchall()

    def _writable(self) -> bool:
        try:
            self._do("UPDATE replays_replay SET rate = rate")
        except (sqlite3.OperationalError, psycopg.errors.LockNotAvailable):
            return False
        return True

    def _do(self, statement: str) -> None:
        if self.database.startswith("sqlite"):
            sqlite = sqlite3.connect(self.database.removeprefix("sqlite:///"), timeout=1, isolation_level=None)
            sqlite.execute(statement).connection.close()
        else:
            with psycopg.connect(self.database, options="-c lock_timeout=1s") as postgres:
                postgres.execute(statement.encode())

    def count(self, condition: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM replays_replayitem WHERE {condition}")[0][0])

    def sent(self) -> int:
        return self.count("sent_offset IS NOT NULL")

    def until_sent(self, count: int, seconds: float = 120) -> None:
        self.until(lambda: self.sent() >= count, f"{count} records sent", seconds)

    def until(self, true: Callable[[], bool], what: str, seconds: float = 120) -> None:
        wait_until(true, what, seconds)

    def topic(self) -> list[Record]:
        return read(self.broker, self.name)

    def _create_topic(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.broker, "log_level": 0})
        admin.create_topics([NewTopic(self.name, 4, -1)])[self.name].result(20)

    def _wait(self, command: Sequence[str]) -> str:
        done = subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _start_celery(self, name: str, queue: str) -> None:
        options = ["--queues", queue, "--pool", "threads", "--concurrency", "8", "--loglevel", "INFO"]
        self._start(name, [*CELERY, "worker", "--hostname", f"{name}@%h", *options])

    def _start(self, name: str, command: Sequence[str]) -> None:
        self.processes[name] = subprocess.Popen(
            [*self.prefix, *command],
            cwd=ROOT, env=self.env, stdout=self.log, stderr=self.log, start_new_session=True,
        )  # fmt: skip

    def _end(self, name: str, sign: signal.Signals) -> None:
        process = self.processes.pop(name)
        process.send_signal(sign)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _main() -> None:
    """Answer each line of the input, a JSON list of the topic to send to, a verb and its words."""
    import django  # here, because the module is imported by tests too, whose database is another

    django.setup()
    for line in sys.stdin:
        topic, verb, *words = json.loads(line)
        answer = _do(topic, verb, words)
        connection.close()  # a test may restart the database
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _do(topic: str, verb: str, words: Sequence[str]) -> str:
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.utils import timezone

    from dlqadmin.replays.jobs import controls
    from dlqadmin.replays.models import Replay

    if verb == "forget":
        call_command("flush", interactive=False, verbosity=0)
        return ""
    now = timezone.now()
    person = User.objects.get_or_create(username="operator-1")[0]
    if verb == "run":
        planned = _planned(topic, int(words[0]), int(words[1]), watch=words[2:])
        return str(controls.run(planned, person, REASON, PLAN, now))
    if verb == "run_many":
        for number in range(int(words[0])):
            controls.run(_planned(topic, 100, 1, number * 100), person, REASON, PLAN, now)
        return ""
    if verb == "race":
        return json.dumps([_race(topic, number * 400, person) for number in range(int(words[0]))])
    replay = Replay.objects.get()
    began = time.monotonic()
    if verb == "pause":
        said = controls.pause(replay, person, now)
    elif verb == "resume":
        said = controls.resume(replay, person, now)
    elif verb == "rate":
        said = controls.set_rate(replay, person, int(words[0]), now)
    else:
        said = controls.cancel(replay, person, REASON, now)
    return f"{time.monotonic() - began:.3f} {said}"


def _race(topic: str, begin: int, person: Any) -> list[str]:
    """Two run replays of the same 400 records at once, each in an order of its own; then one who lost runs against
    one who cancels. What became of each of the four, and how many records nobody or a loser holds."""
    from django.utils import timezone

    from dlqadmin.replays.jobs import controls
    from dlqadmin.replays.models import LedgerEntry, Replay
    from dlqadmin.rest.problems import StateConflict

    def run(replay: Any) -> str:
        controls.run(replay, person, REASON, PLAN, timezone.now())
        return "run"

    def cancel(replay: Any) -> str:
        controls.cancel(replay, person, REASON, timezone.now())
        return "cancelled"

    def attempt(act: Callable[[Any], str], replay: Any, together: threading.Barrier) -> str:
        together.wait()
        try:
            return act(Replay.objects.get(pk=replay.pk))
        except StateConflict:
            return "conflict"
        except DatabaseError as error:
            return str(error)
        finally:
            connection.close()

    def at_once(*acts: tuple[Callable[[Any], str], Any]) -> list[str]:
        together = threading.Barrier(len(acts))
        with ThreadPoolExecutor(len(acts)) as pool:
            return [one.result() for one in [pool.submit(attempt, act, replay, together) for act, replay in acts]]

    def held(replay: Any) -> int:
        return LedgerEntry.objects.filter(item__replay=replay).count()

    both = [_planned(topic, 400, 0, begin), _planned(topic, 400, 0, begin, backwards=True)]
    said = at_once((run, both[0]), (run, both[1]))
    winner, loser = sorted(both, key=held, reverse=True)
    said = [*sorted(said), f"{held(winner)} to {held(loser)}"]
    ran, _ = at_once((run, loser), (cancel, winner))
    wanted = 400 if ran == "run" else 0
    return [*said, f"{held(winner)} to {held(loser) - wanted}"]


def _planned(
    topic: str, count: int, rate: int, begin: int = 0, *, backwards: bool = False, watch: Sequence[str] = ()
) -> Any:
    """A planned replay of so many dead letters, watched in these groups."""
    from dlqadmin.deadletters.models import DeadLetter
    from dlqadmin.replays.items import item_states
    from dlqadmin.replays.models import Replay, ReplayItem, Selection
    from tests.dlqadmin.deadletters.letters import NOW, index, letter

    after = begin + count
    for start in range(begin, after, 500):
        index([letter(n, key=b"key %d" % n, value=b'{"n": %d}' % n) for n in range(start, min(after, start + 500))])
    selection = Selection.objects.create(
        created_at=NOW, filters={}, title="all", watermark=count, count=count, digest="d"
    )
    plan = {"runnable": True, "digest": PLAN}
    replay = Replay.objects.create(
        selection=selection, title="all", planned_at=NOW, created_at=NOW, rate=rate, plan=plan, watch=list(watch)
    )
    letters = DeadLetter.objects.filter(offset__gte=begin, offset__lt=after).order_by("offset")
    ReplayItem.objects.bulk_create(
        [
            ReplayItem(
                replay=replay,
                ordinal=after - 1 - row.offset if backwards else row.offset - begin,
                dead_letter=row,
                lineage=f"origin/0/{row.offset}",
                target_topic=topic,
                state_at=NOW,
            )
            for row in letters
        ],
        batch_size=500,
    )
    item_states.created(replay)
    return replay


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")
    _main()
