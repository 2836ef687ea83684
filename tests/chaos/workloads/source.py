"""A growing file to a topic: lines, dead letters and source offsets in one transaction (KIP-618)."""

from __future__ import annotations

from tests.chaos.topics import create, end_offset, is_bad, read_once
from tests.chaos.verify import Verdict, judge, judge_unordered
from tests.chaos.workloads.base import EngineWorkload, contexts


class SourceWorkload(EngineWorkload):
    """FileStreamSource, whose worker has `exactly.once.source.enabled`. A bad line fails in the transform."""

    def begin(self) -> None:
        self.output = f"{self.name}-out"
        self.file = self.world.files / f"{self.name}.txt"
        self.lines: list[str] = []
        create(self.servers, self.output)
        create(self.servers, self.dlq)
        self.feed()
        config = {
            "connector.class": "FileStreamSource",
            "file": str(self.file),
            "topic": self.output,
            "batch.size": "20",
            "key.converter": "StringConverter",
            "value.converter": "StringConverter",
            **self.steps(),
            **self.tolerant(),
        }
        self.start(config)

    def feed(self) -> None:
        first = len(self.lines)
        more = [f"line {number}{' bad' if is_bad(number) else ''}" for number in range(first, first + 300)]
        with self.file.open("a") as file:
            file.writelines(f"{line}\n" for line in more)
        self.lines += more
        self.records = len(self.lines)

    def progress(self) -> int:
        return end_offset(self.servers, self.output)

    def verdicts(self) -> dict[str, Verdict]:
        [lane] = read_once(self.servers, self.output).values()
        good = [line for line in self.lines if not line.endswith("bad")]
        return {
            "records": judge({0: good}, {0: [(message.value() or b"").decode() for message in lane]}),
            "dead letters": judge_unordered(self.positions_of_bad(), self.letters()),
        }

    def positions_of_bad(self) -> list[int]:
        """Where the bad lines end in the file: a source's record is known by its position."""
        ends, position = [], 0
        for line in self.lines:
            position += len(line) + 1
            if line.endswith("bad"):
                ends.append(position)
        return ends

    def letters(self) -> list[int]:
        rows = contexts(read_once(self.servers, self.dlq))
        return [int(row["record"]["source_offset"]["position"]) for row in rows]

    def is_caught_up(self) -> bool:
        """It has no end to catch up with: what it wrote is all that can be said."""
        return True
