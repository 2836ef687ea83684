"""A product with all its processes at work, to take services away from: what each of them did shows afterwards.

An engine runs an exactly-once sink with dead letters, an indexer follows its dead letter topic and another one, and a
replay sends records to a topic whose foreign reader writes dead letters for some.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
from psycopg import OperationalError

from dlqadmin.host.network import HOST, free_ports
from tests.broker.driver import Driver
from tests.broker.replay_world import ROOT, TOPIC
from tests.chaos.foreign_reader import fails, ordinal
from tests.chaos.topics import Input, create, is_bad, read_once
from tests.chaos.verify import Verdict, judge, judge_unordered, together
from tests.chaos.watched_replay import DEAD_LETTERS, WatchedReplay, judge_outcomes
from tests.chaos.workloads.base import contexts, json_converters, places
from tests.support.permissions import ALLOWED

ORIGIN, TARGET, LETTERS = "origin", "target", "sink.dlq"
SINK, GROUP = "sink", "billing"
PARTITIONS = 2
RATE = 30  # replayed records a second, so that a replay lasts as long as what happens to it
FED, FEED_EVERY_S = 8, 0.25  # records into each partition of the origin, and how often
UP_S, SETTLE_TIMEOUT_S = 120, 300
PLACES = "SELECT ordinal, sent_partition, sent_offset FROM replays_replayitem WHERE sent_offset IS NOT NULL"
INDEXED = (
    f"SELECT topic, partition, \"offset\" FROM deadletters_deadletter WHERE topic IN ('{LETTERS}', '{DEAD_LETTERS}')"
)
COUNTED = "SELECT (SELECT count(*) FROM deadletters_deadletter), (SELECT sum(n) FROM deadletters_countday)"
PASSWORD = secrets.token_urlsafe(12)
ADD_USER = (
    f"from django.contrib.auth.models import User; User.objects.create_superuser('viewer', password='{PASSWORD}')"
)
PUT = """
import json, sys, time
import httpx
url, body = sys.argv[1], json.loads(sys.argv[2])
for _ in range(240):
    try:
        answer = httpx.put(url, json=body, timeout=60)
    except httpx.TransportError:
        answer = None
    if answer is not None and answer.is_success:
        break
    time.sleep(0.5)
else:
    sys.exit(f"no success: {answer and answer.text}")
"""


class BusyProduct(WatchedReplay):
    """The processes of a product on services that were started before. `replayed` is the number of replayed records.

    `host` is where its web process listens, `prefix` begins the commands of all processes.
    """

    def __init__(
        self,
        home: Path,
        broker: str,
        redis: str,
        database: str,
        *,
        replayed: int,
        replicas: int = 1,
        host: str = HOST,
        prefix: Sequence[str] = (),
    ) -> None:
        super().__init__(home, broker, redis, database, GROUP)
        self.replayed, self.host, self.prefix = replayed, host, tuple(prefix)
        self.web_port = free_ports(1)[0]
        for name in (TARGET, LETTERS):
            create(broker, name, PARTITIONS, {"message.timestamp.type": "LogAppendTime"})
        self.input = Input(broker, ORIGIN, PARTITIONS)
        self._fed_up = threading.Event()
        self._feeder = threading.Thread(target=self._feed, daemon=True)
        properties = {
            "bootstrap.servers": broker,
            **ALLOWED,
            "group.id": "engine",
            **{
                f"{kind}.storage.{option}": value
                for kind, topic in (
                    ("config", "configs"),
                    ("status", "status"),
                    ("offset", "offsets"),
                    ("outcome", "outcomes"),
                )
                for option, value in (("topic", topic), ("replication.factor", str(replicas)))
            },
            "session.timeout.ms": "6000",
            "offset.flush.interval.ms": "500",
            "lease.budget.ms": "5000",
        }
        self.driver = Driver(home / "engine", properties, prefix)
        self.env |= {
            "DLQ_TOPICS": f"{DEAD_LETTERS},{LETTERS}",
            "ENGINE_URL": self.driver.url,
            "ALLOWED_HOSTS": host,
            "SECRET_KEY": secrets.token_urlsafe(50),
            "SIGN_IN_RATE": "1000/minute",
            "PYTHONWARNINGS": "ignore",
        }
        self._replicas = str(replicas)
        self._client: httpx.Client | None = None

    def start_all(self) -> None:
        """Start every process, and return when each of them has done some work."""
        self._wait([sys.executable, "manage.py", "shell", "--command", ADD_USER])
        self.driver.start()
        self.start()
        self.start_reader("reader")
        self.until_read()
        self.say("run", str(self.replayed), str(RATE), GROUP)  # it plans all dead letters that it finds
        self.start_indexer("indexer")
        self.start_web()
        self._feeder.start()
        self._put_sink()
        self.until_sent(1)
        self.until(self._is_at_work, "records at the target and in the index")
        self.sign_in()

    def start_web(self) -> None:
        options = ["--host", self.host, "--port", str(self.web_port), "--log-level", "warning"]
        self._start("web", [sys.executable, "-m", "uvicorn", "dlqadmin.asgi:application", *options])

    def sign_in(self) -> None:
        """Sign in at the dashboard."""
        self._client = httpx.Client(base_url=f"http://{self.host}:{self.web_port}/api/v1/", timeout=30)
        self.until(self._is_up, "the web process", UP_S)
        headers = {"X-CSRFToken": self._client.cookies["csrftoken"], "Referer": f"http://{self.host}:{self.web_port}"}
        body = {"username": "viewer", "password": PASSWORD}
        self._client.post("session", json=body, headers=headers).raise_for_status()

    def ask(self, path: str) -> tuple[int, Any]:
        """Return the status and the document of a GET request to the dashboard's REST API."""
        assert self._client is not None
        answer = self._client.get(path)
        return answer.status_code, answer.json()

    def sentences(self) -> list[str]:
        """Return what the dashboard says is wrong: the reasons of its health, or the problem that it answers with."""
        status, body = self.ask("health")
        return list(body["reasons"]) if status == 200 else [str(body["detail"])]

    def until_said(self, sentence: str, seconds: float = 90) -> None:
        """Wait until the dashboard says this sentence, or one that begins with it."""
        said: list[str] = []

        def is_said() -> bool:
            said[:] = self.sentences()
            return any(one.startswith(sentence) for one in said)

        try:
            self.until(is_said, f"The sentence {sentence!r}", seconds)
        except TimeoutError:
            raise AssertionError(f"{sentence!r} is not among {said}") from None

    def until_healthy(self, seconds: float = 120) -> None:
        """Wait until the dashboard has no complaint."""
        said: list[str] = []

        def is_healthy() -> bool:
            said[:] = self.sentences()
            return not said

        try:
            self.until(is_healthy, "Health", seconds)
        except TimeoutError:
            raise AssertionError(f"still said: {said}") from None

    def settle(self) -> None:
        """End the load, and wait until all of it is where it belongs. Fails for what is lost, doubled or untrue."""
        self._fed_up.set()
        self._feeder.join(150)
        assert not self._feeder.is_alive(), "Kafka does not take the records of the origin topic"
        if self.rows("SELECT 1 FROM replays_replay WHERE status = 'running'"):
            self.say("rate", "0")
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while self._is_unsettled() and time.monotonic() < deadline:
            time.sleep(1)
        time.sleep(2)  # whatever is sent twice arrives
        verdicts = self.verdicts()
        assert together(verdicts.values()).is_clean, self._report(verdicts)
        assert self.awaits_nothing(), self._report(verdicts)
        [(rows, counted)] = self.rows(COUNTED)
        assert rows == counted

    def verdicts(self) -> dict[str, Verdict]:
        """Compare what is there with what there should be."""
        lanes = read_once(self.broker, TOPIC)
        sent = [one for lane in lanes.values() for one in lane]
        failing = [(at, n) for at, count in enumerate(self.input.counts) for n in range(count) if is_bad(n)]
        good = {at: [n for n in range(count) if not is_bad(n)] for at, count in enumerate(self.input.counts)}
        letters = read_once(self.broker, LETTERS)
        rows = [one.get("original_record", one["record"]) for one in contexts(letters)]
        written = [
            (topic, one.partition(), one.offset())
            for topic, found in ((LETTERS, letters), (DEAD_LETTERS, read_once(self.broker, DEAD_LETTERS)))
            for lane in found.values()
            for one in lane
        ]
        dead, replayed = self.dead(), range(self.replayed)
        return {
            "records": judge(good, places(read_once(self.broker, TARGET))),
            "dead letters": judge_unordered(failing, [(row["partition"], row["offset"]) for row in rows]),
            "index": judge_unordered(written, self.rows(INDEXED)),
            "replayed": judge_unordered(replayed, [ordinal(one) for one in sent]),
            "places": judge_unordered(
                self.rows(PLACES), [(ordinal(one), one.partition(), one.offset()) for one in sent]
            ),
            "failed again": judge_unordered([one for one in replayed if fails(one)], sorted(dead)),
            "outcomes": judge_outcomes(replayed, dead, self.claims()),
        }

    def pauses(self, since: float) -> dict[str, float]:
        """Return the longest pauses in s of the engine, the indexer and the replay after a time in s of the epoch."""
        sent = [row[0] for row in self.rows("SELECT sent_at FROM replays_replayitem WHERE sent_at IS NOT NULL")]
        listed = [row[0] for row in self.rows("SELECT indexed_at FROM deadletters_deadletter WHERE topic = 'sink.dlq'")]
        appended = [one.timestamp()[1] / 1000 for lane in read_once(self.broker, TARGET).values() for one in lane]
        return {
            "engine": longest(appended, since),
            "indexer": longest(map(datetime.timestamp, listed), since),
            "replay": longest(map(datetime.timestamp, sent), since),
        }

    def stop(self) -> None:
        self._fed_up.set()
        if self._client is not None:
            self._client.close()
        self.driver.stop()
        super().stop()

    def _feed(self) -> None:
        while not self._fed_up.wait(FEED_EVERY_S):
            self.input.write(FED, with_bad=True)

    def _put_sink(self) -> None:
        letters = "errors.deadletterqueue."
        config = {
            "connector.class": "KafkaSink",
            "topics": ORIGIN,
            "topic": TARGET,
            "tasks.max": "2",
            **json_converters(),
            "errors.tolerance": "all",
            f"{letters}topic.name": LETTERS,
            f"{letters}topic.replication.factor": self._replicas,
            f"{letters}include.messages": "true",
        }
        url = f"{self.driver.url}/connectors/{SINK}/config"
        command = [*self.prefix, sys.executable, "-c", PUT, url, json.dumps(config)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stderr}\n{self.driver.log()[-4000:]}"

    def _is_at_work(self) -> bool:
        at_target = any(read_once(self.broker, TARGET).values())
        return at_target and bool(self.rows(f"{INDEXED} LIMIT 1"))

    def _is_up(self) -> bool:
        assert self._client is not None
        with suppress(httpx.TransportError):
            return self._client.get("session").is_success
        return False

    def _is_unsettled(self) -> bool:
        with suppress(OperationalError):
            lost = together(self.verdicts().values())
            return bool(lost.lost or lost.foreign) or not self.awaits_nothing()
        return True

    def _report(self, verdicts: dict[str, Verdict]) -> str:
        rows = [f"{name}: {verdict}" for name, verdict in verdicts.items()]
        trouble = self.rows("SELECT status, trouble, progress FROM replays_replay")
        return "\n".join([*rows, str(trouble), Path(self.log.name).read_text()[-4000:], self.driver.log()[-4000:]])


def longest(times: Any, since: float) -> float:
    """Return the longest time in s between two that follow each other, of those after `since`."""
    found = sorted(one for one in times if one > since)
    return max((after - before for before, after in pairwise(found)), default=0.0)
