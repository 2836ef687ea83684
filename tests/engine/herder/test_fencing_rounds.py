"""Which rounds of fencing there are; the config topic alone says so."""

from __future__ import annotations

import pytest

from engine.config.topic import ConnectorState, TaskEntry
from engine.herder.fencing_rounds import FencingRound, has_old_work_ended, needed_round
from engine.herder.state import HerderSettings, HerderState, LeaseRun
from engine.worker_messages import Lease, TaskConfig


def entry(tasks: int, count: int | None, *, exactly_once: bool = True, fenced: bool = False) -> ConnectorState:
    rows = tuple(TaskEntry(2, {}, (), exactly_once=exactly_once) for _ in range(tasks))
    return ConnectorState({"name": "c"}, 2, rows, task_count=count, fenced=fenced)


def test_a_fenced_generation_needs_no_round() -> None:
    """E-49, DistributedHerderTest#testExternalZombieFencingRequestForAlreadyFencedConnector."""
    assert needed_round("c", entry(12, 12, fenced=True)) is None


@pytest.mark.parametrize(
    ("before", "now", "fenced"),
    [(None, 3, ()), (0, 3, ()), (1, 1, ()), (1, 2, (0,)), (3, 1, (0, 1, 2)), (2, 2, (0, 1)), (2, 0, (0, 1))],
)
def test_the_producers_of_the_last_count_are_fenced_unless_the_only_task_takes_its_own_over(
    before: int | None, now: int, fenced: tuple[int, ...]
) -> None:
    """E-50, DistributedHerderTest#testExternalZombieFencingRequestForSingleTaskConnector;
    E-51, DistributedHerderTest#testExternalZombieFencingRequestForFreshConnector."""
    assert needed_round("c", entry(now, before)) == FencingRound("c", 2, fenced, now)


def test_from_one_task_to_none_is_a_round_too() -> None:
    """KIP-618 passes over it; then two tasks would begin without a round, and meet a zombie of the one."""
    assert needed_round("c", entry(0, 1)) == FencingRound("c", 2, (0,), 0)


def test_who_never_wrote_transactions_needs_no_round() -> None:
    assert needed_round("c", entry(2, None, exactly_once=False)) is None
    assert needed_round("c", entry(2, 0, exactly_once=False)) is None


def test_a_soft_downgrade_gets_a_last_round_even_of_a_single_task() -> None:
    assert needed_round("c", entry(1, 1, exactly_once=False)) == FencingRound("c", 2, (0,), 0)


def test_a_deleted_connector_needs_no_round() -> None:
    assert needed_round("c", ConnectorState(None, 3, (), task_count=2)) is None


def running(generation: int, asked: int | None = None, *, cancelled: bool = False) -> HerderState:
    lease = Lease("1-1", (TaskConfig("c", 0, generation, {}, ()),), 1, 5000, {})
    return HerderState(leases={"1-1": LeaseRun(lease, 0, asked, cancelled)})


def test_a_round_waits_for_the_leases_of_older_generations_for_their_graceful_time() -> None:
    round_, settings = FencingRound("c", 2, (0,), 1), HerderSettings(graceful_ms=1000)
    assert has_old_work_ended(HerderState(), round_, 0, settings)
    assert has_old_work_ended(running(2), round_, 0, settings)
    assert not has_old_work_ended(running(1), round_, 0, settings)
    assert not has_old_work_ended(running(1, asked=100), round_, 1100, settings)
    assert has_old_work_ended(running(1, asked=100), round_, 1101, settings)
    assert has_old_work_ended(running(1, asked=100, cancelled=True), round_, 100, settings)
