"""A lease whose tasks have caught up stays while nobody else wants its slot, and something still comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from engine.config.topic import Leader, leader_record
from engine.pipeline.claim import ConfigTail
from engine.pipeline.lease import LOOK_MS, Deadline, Finish, run_tasks
from engine.pipeline.lease_linger import FEW, LINGER_MS, SETTLE_MS, LeaseLinger
from engine.pipeline.opened_task import OpenTask
from engine.pipeline.outcome import StepVerdict
from engine.pipeline.sink_task import CHUNK_RECORDS, COMMIT_INTERVAL_MS
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import RawRecord, TopicPartition
from engine.worker_messages import Lease, LeaseEnd, TaskConfig, TaskReport
from tests.engine.pipeline.rig import Rig
from tests.engine.pipeline.test_lease import config_topic
from tests.fakes import Clock, Consumer

BUDGET_MS = 5_000
STAY_MS = 30_000
LEASE = Lease("l", (), 1, BUDGET_MS, {}, STAY_MS)
BEGAN = 1_000_000


class Told:
    """What a lease told, and when."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.rows: list[tuple[int, dict[str, dict[str, int]]]] = []

    def __call__(self, reports: Sequence[TaskReport]) -> None:
        assert {report.end for report in reports} == {None}
        self.rows.append((self.clock.time_ms - BEGAN, {report.connector: report.positions for report in reports}))


def raw(offset: int, connector: str = "a") -> RawRecord:
    return RawRecord(connector, 0, offset, 0, "CREATE_TIME", None, b"%d" % offset)


class Lane:
    """Some connectors in one lease; `during(now)` is what else happens, at each look at the config topic."""

    def __init__(self, names: str = "a", records: int = 1) -> None:
        self.clock = Clock(BEGAN)
        self.rigs = {name: Rig([raw(number, name) for number in range(records)], clock=self.clock) for name in names}
        self.told = Told(self.clock)
        self.configs = Consumer(config_topic(names))
        for rig in self.rigs.values():
            rig.consumer.on_poll = self._wait if len(names) == 1 else rig.consumer.on_poll

    def run(self, during: Callable[[int], None] = lambda _: None, stay_ms: int = STAY_MS) -> dict[str, LeaseEnd | None]:
        """How each task ended."""
        tail = ConfigTail(self.configs, "configs", self.clock)
        tail.read_to_end()
        self.configs.on_poll = lambda: during(self.clock.time_ms - BEGAN)
        lease = Lease("l", tuple(TaskConfig(name, 0, 1, {}, ()) for name in self.rigs), 1, BUDGET_MS, {}, stay_ms)

        def open_task(config: TaskConfig, _careful: bool) -> Finish:
            task = self.rigs[config.connector].task
            return lambda: OpenTask(config, task, TolerancePolicy(-1, -1), lambda: None)

        reports = run_tasks(lease, tail, self.clock, open_task, Deadline(self.clock, BUDGET_MS), self.told)
        return {report.connector: report.end for report in reports}

    def write(self, leader: Leader) -> None:
        [end] = self.configs.end_offsets([TopicPartition("configs", 0)]).values()
        self.configs.append(RawRecord("configs", 0, end, 0, "CREATE_TIME", *leader_record(leader)))

    def add(self, name: str) -> None:
        consumer = self.rigs[name].consumer
        [end] = consumer.end_offsets(list(consumer.at)).values()
        consumer.append(raw(end, name))

    def every(self, ms: int, names: str, until_ms: int = 10**9) -> Callable[[int], None]:
        """A record for each of these, so often."""
        last = 0

        def during(now: int) -> None:
            nonlocal last
            if now < until_ms and now - last >= ms:
                last = now
                for name in names:
                    self.add(name)

        return during

    def _wait(self) -> None:
        """As a consumer that waits for records."""
        self.clock.time_ms += 100

    @property
    def lived_ms(self) -> int:
        return self.clock.time_ms - BEGAN


def test_without_leave_to_stay_a_task_that_has_caught_up_ends() -> None:
    lane = Lane()
    assert lane.run(stay_ms=0) == {"a": LeaseEnd.CAUGHT_UP}
    assert lane.lived_ms == 100


@pytest.mark.parametrize("names", ["a", "ab"])
def test_tasks_that_have_caught_up_wait_for_more_and_end_when_nothing_comes(names: str) -> None:
    lane = Lane(names)
    assert lane.run() == dict.fromkeys(names, LeaseEnd.CAUGHT_UP)
    assert LINGER_MS <= lane.lived_ms <= LINGER_MS + 300


@pytest.mark.parametrize("names", ["a", "abc"])
def test_a_record_that_comes_late_is_put_at_once_and_the_lease_outlives_its_budget(names: str) -> None:
    lane = Lane(names)
    assert lane.run(lane.every(1000, names, until_ms=20_000)) == dict.fromkeys(names, LeaseEnd.CAUGHT_UP)
    assert lane.lived_ms > 4 * BUDGET_MS
    for rig in lane.rigs.values():
        assert len(rig.sink.delivered) >= 19
        assert list(rig.task.committed.values()) == [len(rig.sink.delivered)]


def test_it_ends_when_it_has_stayed_long_enough() -> None:
    lane = Lane()
    lane.run(lane.every(1000, "a"))
    assert STAY_MS <= lane.lived_ms <= STAY_MS + 300


@pytest.mark.parametrize(
    ("leader", "end"),
    [(Leader(1, "w", 1, crowded=True), LeaseEnd.CAUGHT_UP), (Leader(2, "w", 1), LeaseEnd.STOPPED)],
    ids=["crowded", "stopped"],
)
def test_what_waits_ends_at_once_when_it_is_stopped_or_somebody_else_wants_the_slot(
    leader: Leader, end: LeaseEnd
) -> None:
    lane = Lane("ab")

    def during(now: int) -> None:
        if now == 1000:
            lane.write(leader)

    assert lane.run(during) == {"a": end, "b": end}
    assert 1000 <= lane.lived_ms <= 1200


def test_a_busy_task_ends_with_its_budget_when_somebody_else_wants_the_slot() -> None:
    lane = Lane(records=100)
    lane.rigs["a"].task.chunk_records = 1
    lane.write(Leader(1, "w", 1, crowded=True))
    assert lane.run() == {"a": LeaseEnd.BUDGET}
    assert BUDGET_MS <= lane.lived_ms <= BUDGET_MS + 300


def test_it_tells_when_it_comes_to_rest_and_once_a_budget() -> None:
    lane = Lane()
    lane.run(lane.every(1000, "a", until_ms=11_000))
    beats, (settled, positions) = lane.told.rows[:-1], lane.told.rows[-1]
    assert [round(at / BUDGET_MS) for at, _ in beats] == [1, 2]
    assert 0 <= settled - 10_000 - COMMIT_INTERVAL_MS - SETTLE_MS <= 1_500
    assert positions == {"a": {"a-0": len(lane.rigs["a"].sink.delivered)}}


def test_a_pool_in_which_a_task_never_catches_up_ends_with_its_budget() -> None:
    staying = LeaseLinger(LEASE, 0, COMMIT_INTERVAL_MS)
    for number in range(5):
        staying.note_records("idle", 0, number)
        staying.note_records("busy", 1000, number)
    assert not staying.can_renew(2, BUDGET_MS - LINGER_MS)


def test_a_task_alone_goes_on_however_busy_it_is() -> None:
    staying = LeaseLinger(LEASE, 0, COMMIT_INTERVAL_MS)
    staying.note_records("busy", 1000, BUDGET_MS)
    assert staying.can_renew(1, BUDGET_MS)


@pytest.mark.parametrize(("served", "tasks", "goes_on"), [(3, 12, True), (2, 12, False), (1, FEW, True)])
def test_a_pool_that_is_mostly_idle_is_sorted_anew(served: int, tasks: int, goes_on: bool) -> None:
    staying = LeaseLinger(LEASE, 0, COMMIT_INTERVAL_MS)
    for number in range(tasks):
        staying.note_records(f"c-{number}", 0, 1)
    for number in range(served):
        staying.note_records(f"c-{number}", 1, BUDGET_MS)
    assert staying.can_renew(tasks, BUDGET_MS) is goes_on


def test_what_came_is_told_after_the_commit_that_follows_it() -> None:
    staying = LeaseLinger(LEASE, 0, 2_000)
    staying.note_records("a", 1, 100)
    assert not staying.is_report_due(2_099)
    assert staying.is_report_due(2_100 + SETTLE_MS)


def test_what_came_counts_until_it_is_told() -> None:
    staying = LeaseLinger(LEASE, 0, COMMIT_INTERVAL_MS)
    for number in range(2 * FEW):
        staying.note_records(f"c-{number}", 0, 1)
        staying.note_records(f"c-{number}", 1, BUDGET_MS)
    assert [staying.can_renew(2 * FEW, BUDGET_MS) for _ in range(2)] == [True, True]
    staying.note_report()
    assert not staying.can_renew(2 * FEW, BUDGET_MS)


@pytest.mark.parametrize("names", ["ab", "abcdefgh"])
def test_a_pool_that_waits_looks_no_oftener_the_more_tasks_it_has(names: str) -> None:
    lane, looks = Lane(names), [0]

    def look() -> None:
        looks[0] += 1

    for rig in lane.rigs.values():
        rig.consumer.on_poll = look
    lane.run()
    assert lane.lived_ms >= LINGER_MS
    assert lane.lived_ms - 50 <= looks[0] * LOOK_MS <= lane.lived_ms + 50


@pytest.mark.slow
def test_a_pool_that_waits_takes_a_burst_without_pauses() -> None:
    lane, written, taken = Lane("abcdefgh"), [0], dict[int, int]()
    task = lane.rigs["a"].task
    process = task.process

    def during(now: int) -> None:
        if now >= 1000 and not written[0]:
            [end] = lane.rigs["a"].consumer.end_offsets(list(lane.rigs["a"].consumer.at)).values()
            for offset in range(end, end + 20 * CHUNK_RECORDS):
                lane.rigs["a"].consumer.append(raw(offset, "a"))
            written[0] = now

    def watched(raws: Sequence[RawRecord]) -> StepVerdict | None:
        taken[lane.clock.time_ms] = taken.get(lane.clock.time_ms, 0) + len(raws)
        return process(raws)

    task.process = watched  # type: ignore[method-assign] # to watch it
    lane.run(during)
    assert max(taken.values()) == 20 * CHUNK_RECORDS
