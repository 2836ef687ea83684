"""What the workloads share: a name of their own, topics, steps that sign, and how a dead letter is known again."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import orjson
from confluent_kafka import Message

from demo.broker import LocalBroker
from tests.chaos.mischief import Mischief
from tests.chaos.topics import Lanes
from tests.chaos.verify import Verdict
from tests.chaos.world import World

PARTITIONS = 2
MS_A_RECORD = 4
MISCHIEF = {  # how often, compared with each other
    "kill_worker": 3,
    "kill_executor": 2,
    "kill_driver": 2,
    "kill_broker": 2,
    "pause_worker": 1,
    "pause_executor": 1,
    "pause_driver": 1,
    "pause_broker": 2,
    "wake_worker": 3,
    "wake_leader": 2,
}


class Workload(Protocol):
    """What an engine is doing while it is disturbed. Made anew for each run."""

    records: int  # so many are there to be delivered or dead-lettered

    def begin(self) -> None: ...
    def feed(self) -> None:
        """More to do."""
        ...

    def disturb(self, mischief: Mischief) -> None:
        """Something happens to it."""
        ...

    def brokers(self) -> Sequence[LocalBroker]:
        """Those that it needs."""
        ...

    def progress(self) -> int:
        """A number that grows with what is written."""
        ...

    def verdicts(self) -> dict[str, Verdict]:
        """What is there now against what there should be, by kind of output. Read anew each time."""
        ...

    def is_caught_up(self) -> bool:
        """Does the engine itself say that nothing is left?"""
        ...

    def end(self) -> None: ...


class EngineWorkload:
    """A connector of the world's engine."""

    def __init__(self, world: World, name: str, rng: random.Random, *, weak: bool = False) -> None:
        self.world = world
        self.name = name
        self.rng = rng
        self.weak = weak
        self.servers = world.broker.bootstrap_servers
        self.dlq = f"{name}-dlq"
        self.records = 0

    def start(self, config: Mapping[str, str]) -> None:
        self.world.start_engine()
        self.world.drivers.put(self.name, config)

    def disturb(self, mischief: Mischief) -> None:
        mischief.do(mischief.choose(MISCHIEF))

    def brokers(self) -> Sequence[LocalBroker]:
        return [self.world.broker]

    def end(self) -> None:
        self.world.drivers.delete(self.name)

    def steps(self, step: str = "Busy", prefix: str = "transforms") -> dict[str, str]:
        """A step that takes time, and signs."""
        return {
            prefix: "busy",
            f"{prefix}.busy.type": f"tests.chaos.steps.{step}",
            f"{prefix}.busy.ms": str(MS_A_RECORD),
            f"{prefix}.busy.signs": str(self.world.signs),
        }

    def tolerant(self) -> dict[str, str]:
        """Dead letters for whatever fails."""
        letters = "errors.deadletterqueue."
        return {
            "errors.tolerance": "all",
            f"{letters}topic.name": self.dlq,
            f"{letters}topic.partitions": "1",
            f"{letters}include.messages": "true",
        }


def json_converters() -> dict[str, str]:
    return {
        "key.converter": "StringConverter",
        "value.converter": "JsonConverter",
        "value.converter.schemas.enable": "false",
    }


def places(lanes: Lanes) -> dict[int, list[int]]:
    """The numbers in each partition that records say they were written to first."""
    found: dict[int, list[int]] = {}
    for lane in lanes.values():
        for message in lane:
            row = orjson.loads(message.value() or b"null")
            found.setdefault(row["p"], []).append(row["n"])
    return found


def contexts(lanes: Lanes) -> list[dict[str, Any]]:
    return [_context(message) for lane in lanes.values() for message in lane]


def _context(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(message.value() or b"null")
    return body
