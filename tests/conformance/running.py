"""Runs cases on both sides at once, and reads back what became of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic

from dlqadmin.host.network import wait_until
from tests.conformance.case import Case, Kind
from tests.conformance.seen import FAILED, REFUSED, RUNNING, STUCK, End, Seen, deliveries, letters
from tests.conformance.sides import Side
from tests.support.topics import read

log = logging.getLogger(__name__)
SETTLE_TIMEOUT_S = 240
CALL_TIMEOUT_S = 30
POLL_S = 1.0
QUIET_S = 8.0
ANY_TIME = {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**63 - 1)}  # inputs of long ago and to come


def run(sides: Sequence[Side], cases: Sequence[Case], bootstrap: str) -> list[dict[str, Seen]]:
    """What each side made of each case, by its name."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    meet_coordinator(bootstrap)
    sinks = [case for case in cases if case.kind is not Kind.FILE_SOURCE]
    sources = [case for case in cases if case.kind is Kind.FILE_SOURCE]
    create(admin, [case.topic for case in sinks])
    create(admin, [topic for side in sides for topic in (side.recorded, side.dead_letters)])
    create(admin, [side.output(case) for side in sides for case in sources])
    fill(bootstrap, sinks)
    for case in sources:
        lines = [given.value or b"" for given in case.inputs.values()]
        (sides[0].folder / f"{case.name}.in").write_bytes(b"\n".join([*lines, b""]))
    started = time.monotonic()
    with ThreadPoolExecutor(len(sides)) as pool:
        refusals = list(pool.map(lambda side: [(side.connector(case), side.put(case)) for case in cases], sides))
    ends = {name: End(REFUSED, why) for refused in refusals for name, why in refused if why is not None}
    log.info("%d connectors in %.0f s", len(cases) * len(sides) - len(ends), time.monotonic() - started)
    settle(sides, sinks, admin, ends)
    rest([side.output(case) for side in sides for case in sources], admin)
    learn(sides, ends)
    log.info("settled after %.0f s", time.monotonic() - started)
    for side in sides:
        side.stop()
    return [read_back(side, cases, admin, ends) for side in sides]


def meet_coordinator(bootstrap: str) -> None:
    """Have the coordinator of groups elected: librdkafka 2.16 crashes where an admin client asks for it too early."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "conformance", "log_level": 2})

    def met() -> bool:
        try:
            consumer.committed([TopicPartition("none", 0)], POLL_S)
        except KafkaException:
            return False
        return True

    wait_until(met, "The coordinator of groups", CALL_TIMEOUT_S)
    consumer.close()


def create(admin: AdminClient, topics: Sequence[str]) -> None:
    """Create topics of one partition."""
    if not topics:
        return
    for future in admin.create_topics([NewTopic(topic, 1, 1, config=ANY_TIME) for topic in topics]).values():
        future.result(CALL_TIMEOUT_S)


def fill(bootstrap: str, cases: Sequence[Case]) -> None:
    """Write the inputs of each case to its topic."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 2})
    refused: list[str] = []

    def written(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            refused.append(f"{message.topic()}: {error}")

    for case in cases:
        for given in case.inputs.values():
            headers: list[tuple[str, str | bytes | None]] = list(given.headers)
            producer.produce(
                case.topic, given.value, given.key, 0, timestamp=given.timestamp, headers=headers, on_delivery=written
            )
    if producer.flush(CALL_TIMEOUT_S) or refused:
        raise RuntimeError(f"the inputs were not written: {refused}")


def settle(sides: Sequence[Side], cases: Sequence[Case], admin: AdminClient, ends: dict[str, End]) -> None:
    """Wait until every connector that was taken has passed its input or failed; `ends` learns of the others."""
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    waiting = [(side, case) for side in sides for case in cases if side.connector(case) not in ends]
    while waiting:
        learn(sides, ends)
        waiting = [
            (side, case)
            for side, case in waiting
            if side.connector(case) not in ends and position(admin, side, case) < len(case.inputs)
        ]
        if time.monotonic() > deadline:
            ends |= {side.connector(case): End(STUCK) for side, case in waiting}
            return
        time.sleep(POLL_S)


def learn(sides: Sequence[Side], ends: dict[str, End]) -> None:
    """Add the connectors that have failed to `ends`."""
    for side in sides:
        ends |= {name: End(FAILED, trace) for name, trace in side.failed().items()}


def rest(topics: Sequence[str], admin: AdminClient) -> None:
    """Wait until nothing has come to the topics for a while: nobody can say when a source has read its file."""
    asked = {TopicPartition(topic, 0): OffsetSpec.latest() for topic in topics}
    before: list[int] = []
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < QUIET_S:
        now = [answer.result(CALL_TIMEOUT_S).offset for answer in admin.list_offsets(asked).values()] if asked else []
        if now != before:
            before, quiet_since = now, time.monotonic()
        time.sleep(POLL_S)


def read_back(side: Side, cases: Sequence[Case], admin: AdminClient, ends: dict[str, End]) -> dict[str, Seen]:
    """What the side made of each case."""
    recorded = deliveries(read(side.bootstrap, side.recorded))
    dead = letters(read(side.bootstrap, side.dead_letters))
    found = {}
    for case in cases:
        name = side.connector(case)
        end, at = ends.get(name, End(RUNNING)), position(admin, side, case)
        found[case.name] = Seen(end, at, recorded[name], dead[name], output(side, case))
    return found


def output(side: Side, case: Case) -> tuple[Any, ...]:
    """What Kafka's own connectors wrote: lines, or records."""
    if case.kind is Kind.FILE_SINK and side.file(case).exists():
        return tuple(side.file(case).read_bytes().splitlines())
    if case.kind is Kind.FILE_SOURCE:
        return tuple((record.key, record.value, record.headers) for record in read(side.bootstrap, side.output(case)))
    return ()


def position(admin: AdminClient, side: Side, case: Case) -> int:
    """The committed position of the case's only partition; 0 before the first commit."""
    group = f"connect-{side.connector(case)}"
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(case.topic, 0)])
    answer = admin.list_consumer_group_offsets([asked])[group].result(CALL_TIMEOUT_S)
    return max(0, int(answer.topic_partitions[0].offset))
