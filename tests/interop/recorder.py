"""The topics of a writer on its broker, and a recording of the messages in them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.programs import BenchmarkProgram
from demo.jars import KAFKA_VERSION
from dlqadmin.broker.messages import from_kafka
from dlqadmin.host.network import wait_until
from engine.record.record import RawRecord
from tests.interop.recordings import Origin, Recording
from tests.interop.sample import samples
from tests.interop.writer_programs import HOME, SOURCES, Writer
from tests.support.topics import ended

TIMEOUT_S = 120
LASTING = {"retention.ms": "-1"}  # the earthquakes are of 2018
MADE_BY = (
    "make interop RECORD=1 ran `program` against a real broker; folders in its traces were renamed to /app and /python"
)
FOLDERS = {
    os.fsencode(HOME): b"/app",
    os.fsencode(SOURCES): b"/app",
    os.fsencode(sys.base_prefix): b"/python",
}


def recording(writer: Writer, bootstrap: str, letters: Sequence[RawRecord]) -> Recording:
    """Return what the writer consumed and wrote."""
    records = messages(bootstrap, writer.topic)
    return Recording(
        writer=writer.name,
        program=f"tests/interop/writers/{writer.source}",
        libraries=writer.libraries,
        runtime=runtime(writer),
        broker=f"Apache Kafka {writer.kafka}",
        made_by=MADE_BY,
        group=writer.group,
        origins=tuple(map(Origin, (sample.cause for sample in samples(writer.causes)), records)),
        letters=tuple(map(anonymous, letters)),
    )


def anonymous(message: RawRecord) -> RawRecord:
    """Return the message without this machine's folders, which stack traces name."""
    headers = tuple((name, _anonymous(value)) for name, value in message.headers)
    return msgspec.structs.replace(message, value=_anonymous(message.value), headers=headers)


def _anonymous(data: bytes | None) -> bytes | None:
    for folder, name in FOLDERS.items():
        data = None if data is None else data.replace(folder, name)
    return data


def prepare(writer: Writer, bootstrap: str) -> None:
    """Create the writer's topics, and write the sample to its origin topic."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    topics = [NewTopic(topic, 1, 1, config=LASTING) for topic in (writer.topic, f"{writer.topic}-titles")]
    permitted = {"errors.deadletterqueue.group.enable": "true"} if writer.kafka != KAFKA_VERSION else {}
    topics += [NewTopic(topic, 1, 1, config={**LASTING, **permitted}) for topic in writer.dead_letter_topics]
    for made in admin.create_topics(topics).values():
        made.result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 2})
    for sample in samples(writer.causes):
        headers: list[tuple[str, str | bytes | None]] = list(sample.headers)
        producer.produce(writer.topic, sample.value, sample.key, 0, timestamp=sample.timestamp, headers=headers)
    assert producer.flush(TIMEOUT_S) == 0


def until_written(program: BenchmarkProgram, writer: Writer, bootstrap: str) -> list[RawRecord]:
    """Return the messages of all of the writer's topics, once each failed record stands in the last one."""
    wanted = sum(bool(sample.cause) for sample in samples(writer.causes))
    found: list[RawRecord] = []

    def written() -> bool:
        program.check()
        found[:] = [message for topic in writer.dead_letter_topics for message in messages(bootstrap, topic)]
        return sum(message.topic == writer.final_topic for message in found) >= wanted

    try:
        wait_until(written, f"{wanted} dead letters in {writer.final_topic}", TIMEOUT_S, 0.5)
    except TimeoutError as error:
        raise TimeoutError(f"{error}\n{program.tail()}") from error
    return found


def messages(bootstrap: str, topic: str) -> list[RawRecord]:
    """Return the committed messages of a topic of one partition."""
    options = {"bootstrap.servers": bootstrap, "group.id": "interop", "enable.partition.eof": True, "log_level": 2}
    with closing(Consumer({**options, "enable.auto.commit": False, "isolation.level": "read_committed"})) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[RawRecord] = []
        while True:
            message = consumer.poll(TIMEOUT_S)
            assert message is not None, f"{topic} was not read to its end"
            if ended(message):
                return found
            found.append(from_kafka(message))


def runtime(writer: Writer) -> str:
    """Return the name and version of what runs the program."""
    if writer.source.endswith(".py"):
        return f"Python {platform.python_version()}"
    if writer.source.endswith(".js"):
        return "Node " + _told("node", "--version")
    if writer.source.endswith(".go"):
        return _told("go", "version").removeprefix("go version ")
    return _told("java", "--version").splitlines()[0]


def _told(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
