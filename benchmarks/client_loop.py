"""A sink by hand, as short as a client library allows.

Usage: `python -m benchmarks.client_loop kind target bootstrap group topic partition…`.

The loop consumes a chunk, sends it and commits each second, forever. It has no converters, retries,
dead letters or exactly-once delivery, and it does not read the answers of single documents.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import httpx2
import orjson
from confluent_kafka import Consumer, Message, TopicPartition

from benchmarks.raw_copy import COMMIT_S, CONSUMER

CHUNK = 1000
JSON = {"Content-Type": "application/json"}
Send = Callable[[Sequence[Message]], None]


def run(send: Send, bootstrap: str, group: str, topic: str, partitions: Sequence[int]) -> NoReturn:
    """Send these partitions until the process is ended."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **CONSUMER})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    due = time.monotonic() + COMMIT_S
    while True:
        messages = consumer.consume(CHUNK, 0.1)
        if messages:
            send(messages)
        if time.monotonic() > due:
            places = [place for place in consumer.position(consumer.assignment()) if place.offset >= 0]
            if places:
                consumer.commit(offsets=places, asynchronous=False)
            due = time.monotonic() + COMMIT_S


def single(target: str) -> Send:
    """Send each record in a request of its own."""
    client = httpx2.Client(trust_env=False)

    def send(messages: Sequence[Message]) -> None:
        for message in messages:
            client.post(target, content=message.value(), headers=JSON).raise_for_status()

    return send


def batched(target: str) -> Send:
    """Send 500 records in a request."""
    client = httpx2.Client(trust_env=False)

    def send(messages: Sequence[Message]) -> None:
        for first in range(0, len(messages), 500):
            body = b"\n".join([message.value() or b"" for message in messages[first : first + 500]])
            client.post(target, content=body, headers=JSON).raise_for_status()

    return send


def documents(target: str) -> Send:
    """Write each record as a document over the bulk API."""
    client = httpx2.Client(trust_env=False, timeout=60)

    def send(messages: Sequence[Message]) -> None:
        lines = list[bytes]()
        for message in messages:
            name = f"{message.topic()}+{message.partition()}+{message.offset()}"
            lines += [orjson.dumps({"index": {"_index": message.topic(), "_id": name}}), message.value() or b""]
        lines.append(b"")
        client.post(f"{target}/_bulk", content=b"\n".join(lines), headers=JSON).raise_for_status()

    return send


def lines(target: str) -> Send:
    """Append each record to a file as a line, and make each chunk durable."""
    file = Path(target, f"{os.getpid()}.jsonl").open("ab", buffering=0)  # noqa: SIM115, it ends with the process

    def send(messages: Sequence[Message]) -> None:
        file.write(b"\n".join([message.value() or b"" for message in messages]) + b"\n")
        os.fsync(file.fileno())

    return send


def rows(target: str) -> Send:
    """Append each chunk to a Delta Lake table of the process: two that change the columns would disturb each other."""
    import pyarrow as pa
    from deltalake import write_deltalake

    table_of_process = f"{target}-{os.getpid()}"

    def send(messages: Sequence[Message]) -> None:
        table = pa.Table.from_pylist([orjson.loads(message.value() or b"") for message in messages])
        write_deltalake(table_of_process, table, mode="append", schema_mode="merge")

    return send


KINDS: dict[str, Callable[[str], Send]] = {
    "http": single,
    "http-batch": batched,
    "elasticsearch": documents,
    "objects": lines,
    "delta": rows,
}

if __name__ == "__main__":
    kind, to, servers, name, source, *numbers = sys.argv[1:]
    run(KINDS[kind](to), servers, name, source, [int(number) for number in numbers])
