"""Topic to topic: records, dead letters of what is no JSON or too big, and positions in one transaction."""

from __future__ import annotations

from tests.chaos.topics import MAX_BYTES, Input, create, end_offset, is_bad, is_big, read_once
from tests.chaos.verify import Verdict, judge, judge_unordered
from tests.chaos.workloads.base import PARTITIONS, EngineWorkload, contexts, json_converters, places


class SinkWorkload(EngineWorkload):
    """KafkaSink."""

    with_big = True
    tasks = 2

    def begin(self) -> None:
        self.output = f"{self.name}-out"
        create(self.servers, self.output, PARTITIONS, {"max.message.bytes": str(MAX_BYTES)})
        create(self.servers, self.dlq)
        self.input = Input(self.servers, self.name, PARTITIONS)
        self.feed()
        self.start(self.config())

    def config(self) -> dict[str, str]:
        return {
            "connector.class": "KafkaSink",
            "topics": self.name,
            "topic": self.output,
            **({"delivery.guarantee": "at_least_once"} if self.weak else {}),
            "tasks.max": str(self.tasks),
            **json_converters(),
            **self.steps(),
            **self.tolerant(),
        }

    def feed(self) -> None:
        self.input.write(self.rng.randrange(200, 400), with_bad=True, with_big=self.with_big)
        self.records = sum(self.input.counts)

    def progress(self) -> int:
        return end_offset(self.servers, self.output)

    def verdicts(self) -> dict[str, Verdict]:
        return {
            "records": judge(self.good(), places(read_once(self.servers, self.output))),
            "dead letters": judge_unordered(self.failing(), self.letters()),
        }

    def good(self) -> dict[int, list[int]]:
        """The numbers by partition that are to arrive, in order."""
        failing = set(self.failing())
        return {
            partition: [number for number in range(count) if (partition, number) not in failing]
            for partition, count in enumerate(self.input.counts)
        }

    def failing(self) -> list[tuple[int, int]]:
        return [
            (partition, number)
            for partition, count in enumerate(self.input.counts)
            for number in range(count)
            if is_bad(number) or (self.with_big and is_big(number))
        ]

    def letters(self) -> list[tuple[int, int]]:
        """Origins of the dead letters. A number is its record's offset: the input has no other records."""
        rows = [one.get("original_record", one["record"]) for one in contexts(read_once(self.servers, self.dlq))]
        return [(row["partition"], row["offset"]) for row in rows]

    def is_caught_up(self) -> bool:
        tasks = self.world.drivers.tasks(self.name)
        return bool(tasks) and all(task["positions"] and task["lag"] == 0 for task in tasks)
