"""From a second cluster to the engine's own: records and positions in one transaction on the target (KIP-656)."""

from __future__ import annotations

from collections.abc import Sequence

from demo.broker import LocalBroker
from tests.chaos.topics import Input, create, read_once
from tests.chaos.verify import Verdict, judge
from tests.chaos.workloads.base import PARTITIONS, places
from tests.chaos.workloads.sink import SinkWorkload


class MirrorWorkload(SinkWorkload):
    """A mirror of either type; as a sink with `transaction.producer`. Bytes stay as they are: none fails."""

    with_big = False

    def begin(self) -> None:
        source = self.world.other.bootstrap_servers
        self.type = self.rng.choice(("source", "sink"))
        self.output = self.name
        create(self.servers, self.output, PARTITIONS)
        self.input = Input(source, self.name, PARTITIONS)
        self.feed()
        self.start(self.config())

    def config(self) -> dict[str, str]:
        return {
            "connector.class": "mirror",
            "connector.type": self.type,
            **({} if self.weak or self.type == "source" else {"transaction.producer": "true"}),
            "source.cluster.bootstrap.servers": self.world.other.bootstrap_servers,
            "topics": self.name,
            "replication.policy.class": "IdentityReplicationPolicy",
            "emit.heartbeats.enabled": "false",
            "emit.checkpoints.enabled": "false",
            "heartbeats.replication.enabled": "false",
            "source.consumer.queued.max.messages.kbytes": "1",
            "tasks.max": str(self.tasks),
            **self.steps(),
        }

    def brokers(self) -> Sequence[LocalBroker]:
        return [self.world.broker, self.world.other]

    def feed(self) -> None:
        self.input.write(self.rng.randrange(200, 400))
        self.records = sum(self.input.counts)

    def verdicts(self) -> dict[str, Verdict]:
        everything = {partition: list(range(count)) for partition, count in enumerate(self.input.counts)}
        return {"records": judge(everything, places(read_once(self.servers, self.output)))}

    def is_caught_up(self) -> bool:
        """What it wrote is all that can be said: a source has no end to catch up with."""
        return True
