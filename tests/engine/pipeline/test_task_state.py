from __future__ import annotations

from dataclasses import replace

import pytest

from engine.errors import NewerFormat
from engine.pipeline.outcome import FailedAttempts
from engine.pipeline.task_state import (
    MAX_BYTES,
    MAX_MARKS,
    VERSION,
    OperationId,
    ParkedRetry,
    ReportedError,
    TaskState,
    restore,
)
from engine.policy.tolerance import TolerancePolicy
from engine.record.stage import Stage, StageType
from engine.reporting.metrics import Metric
from tests.engine.pipeline.rig import STAGES


def full(topic: str = "a-topic.named-as-they-are") -> TaskState:
    """A state with everything in it, as long as it gets."""
    state = TaskState(9999, 10**6, 10**4, STAGES, seq=10**9)
    state.metrics = dict.fromkeys(Metric, 10**12)
    state.stage_failures = [10**9] * len(STAGES)
    places = [OperationId(topic, 9984 + number, 10**12, 3) for number in range(MAX_MARKS)]
    state.parked = ParkedRetry(places[0], FailedAttempts(10**6, 10**13), 10**13)
    state.reported = tuple(ReportedError(place, 2**32 - 1) for place in places)
    policy = TolerancePolicy(-1, 10**9, 86_400_000)
    for number in range(3000):
        state.tolerance = policy.add(state.tolerance, 1_700_000_000_000 + number * 28_000)
    return state


def again(state: TaskState, *, restarts: int | None = None, stages: tuple[Stage, ...] = STAGES) -> TaskState:
    restarts = state.restarts if restarts is None else restarts
    return restore(
        [state.to_metadata(), ""], task=state.task, generation=state.generation, restarts=restarts, stages=stages
    )


def test_everything_comes_back() -> None:
    assert again(full()) == full()


def test_it_stays_under_two_kilobytes_and_keeps_the_latest_marks() -> None:
    long = full("t" * 249)
    kept = again(long)
    assert len(long.to_metadata()) < MAX_BYTES
    assert 0 < len(kept.reported) < MAX_MARKS
    assert kept.reported == long.reported[-len(kept.reported) :]
    assert (kept.metrics, kept.tolerance, kept.parked) == (long.metrics, long.tolerance, long.parked)


def test_a_restart_forgives_errors_and_keeps_metrics_and_the_reported_mark() -> None:
    state, restarted = full(), again(full(), restarts=10**4 + 1)
    assert (restarted.tolerance.total, restarted.parked) == (0, None)
    assert (restarted.metrics, restarted.reported) == (state.metrics, state.reported)


def test_failures_by_stage_begin_anew_with_other_stages() -> None:
    stages = (*STAGES[:-1], Stage(StageType.TASK_PUT, "Other"))
    assert again(full(), stages=stages).stage_failures == [0] * len(stages)


def test_another_tasks_state_is_not_taken() -> None:
    other = restore([full().to_metadata()], task=1, generation=1, restarts=0, stages=STAGES)
    assert other == TaskState(1, 1, 0, STAGES)


def test_the_memory_of_a_newer_version_is_refused_and_not_lost() -> None:
    newer = full().to_metadata().replace(f'"v":{VERSION},', f'"v":{VERSION + 1},')
    with pytest.raises(NewerFormat, match=r"\(format 5; this version reads 4\): run that version again"):
        restore([newer], task=9999, generation=1, restarts=0, stages=STAGES)


def test_metadata_of_other_programs_is_no_memory() -> None:
    fresh = TaskState(0, 1, 0, STAGES)
    for metadata in ("", "{}", '{"v": 99}', "[]", "x"):
        assert restore([metadata], task=0, generation=1, restarts=0, stages=STAGES) == fresh


@pytest.mark.parametrize("count", [100, 200, 1_000])
def test_failures_by_stage_go_before_anything_else_where_there_are_too_many_stages(count: int) -> None:
    stages = tuple(Stage(StageType.PROCESSOR, "P", name=f"n{number}") for number in range(count))
    state = replace(full(), stages=stages, stage_failures=[10**9] * count, stage_dropped=[10**9] * count)
    kept = again(state, stages=stages)
    assert len(state.to_metadata()) < MAX_BYTES
    assert kept == replace(state, stage_failures=[0] * count, stage_dropped=[0] * count)


def test_a_parked_retry_is_forgotten_with_other_stages() -> None:
    state = full()
    state.reported = ()
    fewer = again(state, stages=STAGES[:3])
    assert (fewer.parked, fewer.describe_parked()) == (None, None)
    assert fewer.metrics == state.metrics


def test_what_waits_is_told_in_words() -> None:
    state = TaskState(0, 1, 0, STAGES, parked=ParkedRetry(OperationId("t", 0, 5, 3), FailedAttempts(2, 1), 3))
    assert state.describe_parked() == "TASK_PUT (Sink) failed 2 times on t-0 at offset 5; waiting to retry"
    state.unwritten = FailedAttempts(1, 1)
    assert state.describe_parked() == "writing dead letters failed once; waiting to retry"
    assert TaskState(0, 1, 0, STAGES).describe_parked() is None


def test_failures_with_dead_letters_come_back_and_a_restart_forgives_them() -> None:
    state = TaskState(0, 1, 0, STAGES, unwritten=FailedAttempts(3, 7))
    assert again(state).unwritten == FailedAttempts(3, 7)
    assert again(state, restarts=1).unwritten == FailedAttempts()
