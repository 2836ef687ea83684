"""One run: a workload, something that happens to it a few times, and what a reader finds when all is over."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tests.chaos.mischief import Mischief
from tests.chaos.verify import Verdict, together
from tests.chaos.workloads.base import Workload
from tests.chaos.world import World

CATCH_UP_TIMEOUT_S = 240  # and a second for so many records
CATCH_UP_RECORDS = 100
GRACE_S = 2.0  # for whatever woke last to do its harm
LOOK_EVERY_S = 0.5
Make = Callable[[World, str, random.Random], Workload]


class Result(NamedTuple):
    """What a run came to; `trouble` is what kept it from its end."""

    workload: str
    seed: int
    log: tuple[str, ...]
    kills: Counter[str]
    records: int
    verdicts: dict[str, Verdict]
    seconds: float
    trouble: str = ""

    @property
    def verdict(self) -> Verdict:
        return together(self.verdicts.values())

    @property
    def is_clean(self) -> bool:
        return not self.trouble and self.verdict.is_clean

    def __str__(self) -> str:
        happened = ", ".join(self.log) or "nothing"
        line = (
            f"seed {self.seed:<6} {self.workload:<7} {self.records:>6} records  lost {len(self.verdict.lost)}"
            f"  doubled {len(self.verdict.doubled)}  {self.seconds:5.1f} s  {happened}"
        )
        if self.is_clean:
            return line
        rows = [f"    {kind}: {verdict}" for kind, verdict in self.verdicts.items()]
        return "\n".join([line, "    FAILED", *([f"    {self.trouble}"] if self.trouble else []), *rows])


def run(world: World, kind: str, make: Make, seed: int, events: int) -> Result:
    """Make, disturb and check one workload. The same seed draws the same events; when they strike is the world's."""
    rng = random.Random(f"{seed} {kind}")
    began = time.monotonic()
    workload = make(world, f"{kind}-{seed}-{time.time_ns() // 1_000_000 % 10**7}", rng)
    mischief = Mischief(world, rng, workload.progress, workload.brokers)
    verdicts: dict[str, Verdict] = {}
    trouble = ""
    try:
        world.mend()
        workload.begin()
        for _ in range(events):
            workload.feed()
            _await_more(workload, rng)
            workload.disturb(mischief)
        verdicts, trouble = _settled(workload)
    except Exception as error:  # noqa: BLE001, whatever goes wrong fails this run, and is told with its seed
        trouble = f"{type(error).__name__}: {error}"
    except BaseException:  # told to end: by then nothing of it may run
        _ended(world, workload)
        raise
    trouble = "; ".join(filter(None, (trouble, _ended(world, workload))))  # ended also after it failed
    seconds = time.monotonic() - began
    return Result(kind, seed, tuple(mischief.log), mischief.kills, workload.records, verdicts, seconds, trouble)


def _await_more(workload: Workload, rng: random.Random) -> None:
    """Until something was written since, and a moment more; not for ever, for the world may be in trouble still."""
    before, deadline = workload.progress(), time.monotonic() + 30
    while workload.progress() <= before and time.monotonic() < deadline:
        time.sleep(0.3)
    time.sleep(rng.uniform(0, 0.8))


def _settled(workload: Workload) -> tuple[dict[str, Verdict], str]:
    """The verdicts once nothing is missing, and nobody has anything to do any more; or when it took too long."""
    limit_s = CATCH_UP_TIMEOUT_S + workload.records // CATCH_UP_RECORDS
    deadline = time.monotonic() + limit_s
    trouble = f"not caught up within {limit_s} s"
    while time.monotonic() < deadline:
        if not together(workload.verdicts().values()).lost and workload.is_caught_up():
            trouble = ""
            break
        time.sleep(LOOK_EVERY_S)
    time.sleep(GRACE_S)
    return workload.verdicts(), trouble


def _ended(world: World, workload: Workload) -> str:
    """End the run's own; what kept it from ending."""
    try:
        workload.end()
        world.end_standbys()
    except Exception as error:  # noqa: BLE001, as above
        return f"could not be ended: {type(error).__name__}: {error}"
    return ""


class Totals:
    """The results of many runs, added up."""

    def __init__(self) -> None:
        self.results: list[Result] = []

    def add(self, result: Result) -> None:
        self.results.append(result)

    @property
    def failed(self) -> list[Result]:
        return [one for one in self.results if not one.is_clean]

    def __str__(self) -> str:
        verdict = together(one.verdict for one in self.results)
        kills = sum((one.kills for one in self.results), Counter())
        by_kind = ", ".join(f"{count} × {kind}" for kind, count in kills.most_common())
        return (
            f"{len(self.results)} runs, {len(self.failed)} failed\n"
            f"{kills.total()} times something happened: {by_kind or 'nothing'}\n"
            f"{sum(one.records for one in self.results)} records, {len(verdict.lost)} lost, "
            f"{len(verdict.doubled)} doubled, {len(verdict.swapped)} out of order"
        )
