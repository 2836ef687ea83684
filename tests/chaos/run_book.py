"""A file with the results of finished runs, so that a series of hours can be stopped and goes on where it was."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Self

import msgspec

from tests.chaos.runs import Result


class FinishedRun(msgspec.Struct, frozen=True):
    """The result of one run as the file has it. `log` says what happened, in order."""

    seed: int
    workload: str
    log: list[str]
    records: int
    lost: int
    doubled: int
    is_clean: bool
    seconds: float
    trouble: str = ""

    @property
    def kills(self) -> int:
        """Return the number of processes that were killed."""
        return sum(one.startswith("kill ") for one in self.log)

    @classmethod
    def of(cls, result: Result) -> Self:
        return cls(
            seed=result.seed,
            workload=result.workload,
            log=list(result.log),
            records=result.records,
            lost=len(result.verdict.lost),
            doubled=len(result.verdict.doubled),
            is_clean=result.is_clean,
            seconds=round(result.seconds, 1),
            trouble=result.trouble,
        )


class RunBook:
    """The finished runs of a series. Each is in the file before the next one begins."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.runs = msgspec.json.decode(file.read_bytes(), type=list[FinishedRun]) if file.exists() else []

    @property
    def next_seed(self) -> int:
        """Return the seed of the next run."""
        return max((one.seed for one in self.runs), default=-1) + 1

    @property
    def kills(self) -> int:
        """Return the number of processes that were killed in all runs."""
        return sum(one.kills for one in self.runs)

    @property
    def failed(self) -> list[FinishedRun]:
        return [one for one in self.runs if not one.is_clean]

    def add(self, result: Result) -> None:
        self.runs.append(FinishedRun.of(result))
        fresh = self._file.with_suffix(".new")
        fresh.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(self.runs), indent=1))
        fresh.replace(self._file)

    def __str__(self) -> str:
        kinds = Counter[str]()
        for one in self.runs:
            kinds[one.workload] += one.kills
        seeds = ", ".join(f"{one.seed} ({one.workload})" for one in self.failed)
        return (
            f"{self.kills} kills in {len(self.runs)} runs ({', '.join(f'{n} {kind}' for kind, n in kinds.items())})\n"
            f"{sum(one.records for one in self.runs)} records, {sum(one.lost for one in self.runs)} lost, "
            f"{sum(one.doubled for one in self.runs)} doubled\n"
            f"{len(self.failed)} runs failed{f': seed {seeds}' if seeds else ''}"
        )
