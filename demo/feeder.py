"""Send the demo's input: one batch, a mark that it is complete, then a slow trickle.

`python -m demo.feeder` runs until it is stopped. After a restart it continues: records that the
topic holds are not sent again, and a batch that is marked complete is not changed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable

from confluent_kafka import Producer

from demo.damage import DAMAGED, Event, batch, cut_short, intact_event, is_accepted, spoil_magnitude
from demo.environment import demo_environment
from demo.past_week import PastWeek
from demo.past_week_triage import live_through
from demo.topics import PARTITIONS, create_topics, ends, partition_of

BATCH = "usgs-2018w06"
TOPIC = "usgs.earthquakes"
MARKS = "demo.marks"
COMPLETE = "is complete"  # `demo.processes` looks for it in the output
CONNECT_TEST = "connect-test"
TRICKLE_STRIDE = 37  # coprime to the number of events, so that the trickle visits all of them
TRICKLE_DAMAGED_EVERY = 10


class Feeder:
    """A producer of the demo's input on one broker."""

    def __init__(self, bootstrap_servers: str, topic: str = TOPIC, marks: str = MARKS) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.topic = topic
        self.marks = marks
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "log_level": 2})

    def create_topics(self) -> None:
        """Create the demo's topics that do not exist."""
        create_topics(self.bootstrap_servers, {self.topic: PARTITIONS, self.marks: 1, CONNECT_TEST: 1})

    def send_batch(self) -> dict[str, int]:
        """Send the records of the batch that the topic lacks, then the mark.

        Returns the end offsets of the topic's partitions.
        """
        if sum(self.ends(self.marks, 1).values()) == 0:
            self._send(missing(batch(), self.ends(self.topic, PARTITIONS)))
            ends = {str(partition): end for partition, end in self.ends(self.topic, PARTITIONS).items()}
            sent = len(batch())
            mark = {"batch": BATCH, "sent": sent, "intact": sent - DAMAGED, "damaged": DAMAGED, "ends": ends}
            self._producer.produce(self.marks, key=BATCH.encode(), value=json.dumps(mark).encode())
            self._flush()
        return {str(partition): end for partition, end in self.ends(self.topic, PARTITIONS).items()}

    def trickle(self, per_minute: float, stop: threading.Event) -> None:
        """Send one event after the other, with new ids, until `stop` is set."""
        if per_minute <= 0:
            stop.wait()
            return
        events = intact_event()
        number = sum(self.ends(self.topic, PARTITIONS).values()) - len(batch())
        while not stop.wait(60 / per_minute):
            number += 1
            self._send([resent(events, number)])

    def ends(self, topic: str, partitions: int) -> dict[int, int]:
        """Return the end offset of each partition."""
        return ends(self.bootstrap_servers, topic, partitions)

    def _send(self, events: Iterable[Event]) -> None:
        for event in events:
            self._producer.produce(self.topic, key=event.key, value=event.value, partition=partition_of(event.key))
        self._flush()

    def _flush(self) -> None:
        left = self._producer.flush(60)
        if left:
            raise TimeoutError(f"{left} records were not delivered to {self.bootstrap_servers} within 60 s")


def missing(events: Iterable[Event], ends: dict[int, int]) -> list[Event]:
    """Return the events that a topic with these end offsets lacks."""
    already_sent = dict(ends)
    unsent = []
    for event in events:
        partition = partition_of(event.key)
        if already_sent[partition] > 0:
            already_sent[partition] -= 1
        else:
            unsent.append(event)
    return unsent


def resent(events: list[Event], number: int) -> Event:
    """Return the trickle's event with this number.

    It is an old event with a new id. Every tenth is damaged, if the table would accept it otherwise.
    """
    source = events[number * TRICKLE_STRIDE % len(events)]
    new_id = source.key + b"-%d" % number
    event = Event(new_id, source.value.replace(b'"id":"' + source.key + b'"', b'"id":"' + new_id + b'"'))
    if number % TRICKLE_DAMAGED_EVERY == 0 and is_accepted(source):
        event = cut_short(event, number) if number % (2 * TRICKLE_DAMAGED_EVERY) else spoil_magnitude(event)
    return event


def main() -> None:
    """Feed until a signal ends the process. All sent records are flushed."""
    env = demo_environment()
    feeder = Feeder(env["KAFKA_BOOTSTRAP_SERVERS"])
    feeder.create_topics()
    feeder.send_batch()
    print(f"batch {BATCH} {COMPLETE}: {len(batch())} records", flush=True)
    if env["DEMO_PAST_WEEK"] == "true":
        week = PastWeek(env["KAFKA_BOOTSTRAP_SERVERS"])
        threading.Thread(target=live_through, args=(env, week), daemon=True).start()
    feeder.trickle(float(env["DEMO_TRICKLE_PER_MINUTE"]), threading.Event())


if __name__ == "__main__":
    main()
