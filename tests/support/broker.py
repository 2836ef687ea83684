"""A broker for tests: what they write stays, whatever time the records say."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from demo.broker import LocalBroker
from dlqadmin.host.network import HOST, free_ports, wait_until

# A broker of a test lives for seconds or minutes: nothing in it is worth optimising.
os.environ.setdefault("KAFKA_JVM_PERFORMANCE_OPTS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")

BROKER_VARIABLE = "TEST_BROKER"  # the bootstrap servers of a broker that the processes of a suite share

OVERRIDES = {
    "log.retention.check.interval.ms": "86400000",
    # What times out is ended at once, not at the next look ten seconds later.
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    # Members of the consumer protocol hear of a new assignment with their next heartbeat.
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
}


def lasting_broker(folder: Path) -> LocalBroker:
    """Return a broker, not started yet, that keeps records older than their topic's retention.

    The demo's looks for them every minute, and to it those of 1970 are; this one looks once a day.
    """
    return LocalBroker(folder, overrides=OVERRIDES)


REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
}
IN_SYNC_TIMEOUT_S = 120


class BrokerCluster:
    """Three brokers, each a process that is also a controller. Two of three replicas acknowledge every record."""

    def __init__(self, home: Path) -> None:
        ports = free_ports(6)[::2]
        voters = ",".join(f"{number}@{HOST}:{port + 1}" for number, port in enumerate(ports, 1))
        self.brokers = [
            LocalBroker(
                home / f"broker-{number}",
                port,
                OVERRIDES | REPLICATED | {"node.id": str(number), "controller.quorum.voters": voters},
                heap="256m",
            )
            for number, port in enumerate(ports, 1)
        ]

    @property
    def bootstrap_servers(self) -> str:
        """Return the addresses for clients."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers)

    def start(self) -> BrokerCluster:
        """Start all brokers, and return when each of them answers."""
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.await_ready()
        self.await_in_sync()
        return self

    def stop(self) -> None:
        """Kill them: the last ones could not shut down cleanly without the majority of the controllers."""
        for broker in self.brokers:
            broker.kill()

    def await_in_sync(self) -> None:
        """Return when every replica of every topic is in sync, those of Kafka's own topics too."""
        wait_until(lambda: not any(self.lagging()), "The replicas of the brokers", IN_SYNC_TIMEOUT_S, 0.5)

    def lagging(self) -> Iterator[str]:
        """Yield each partition with a replica that is not in sync, or the cluster if it does not answer."""
        with suppress(KafkaException):
            found = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0}).list_topics(timeout=5)
            if len(found.brokers) == len(self.brokers):
                for topic in found.topics.values():
                    for number, partition in topic.partitions.items():
                        if len(partition.isrs) < len(partition.replicas) or partition.leader < 0:
                            yield f"{topic.topic}-{number}"
                return
        yield "cluster"
