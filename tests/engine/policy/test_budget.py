import pytest

from engine.policy.budget import ErrorBudget, budgets, limited_kinds, limits_decide, named_handlers
from engine.policy.tolerance import TolerancePolicy, ToleranceState
from engine.worker_messages import ConnectorKind

MINUTE_MS = 60_000
READING = {"deserialization.exception.handler": "LogAndContinueExceptionHandler"}
PROCESSING = {"processing.exception.handler": "my.Handler"}
WRITING = {"default.production.exception.handler": "my.Writing"}
LIMIT = {"errors.tolerance.limit": "10"}
NOW = 1_795_230_750_000


@pytest.mark.parametrize(("limit", "used", "left"), [(10, 0, 10), (10, 3, 7), (10, 10, 0), (10, 11, 0), (0, 0, 0)])
def test_left_is_how_many_errors_are_still_tolerated(limit: int, used: int, left: int) -> None:
    assert ErrorBudget("total", limit, used).left == left


def test_without_a_limit_nothing_is_left_and_nothing_is_short() -> None:
    assert ErrorBudget("total", -1, 10**9).left is None


@pytest.mark.parametrize("made", range(5))
def test_the_error_after_those_left_is_the_one_that_fails_the_task(made: int) -> None:
    policy, state = TolerancePolicy(limit=3, rate_limit=-1), ToleranceState()
    for _ in range(made):
        state = policy.add(state, NOW)
    total, _ = budgets(policy.used(state, NOW), NOW, MINUTE_MS, NOW)
    assert policy.is_exceeded(policy.add(state, NOW), NOW) == (total.left == 0)


def test_a_task_that_told_nothing_has_no_budget() -> None:
    assert budgets({}, 0, MINUTE_MS, NOW) == ()


@pytest.mark.parametrize(("later_ms", "used"), [(0, 4), (MINUTE_MS - 1, 4), (MINUTE_MS, 0), (MINUTE_MS * 99, 0)])
def test_a_window_after_the_last_failure_the_rate_is_unused(later_ms: int, used: int) -> None:
    told = {"limit": -1, "used": 4, "rate_limit": 9, "rate_used": 4}
    assert budgets(told, NOW, MINUTE_MS, NOW + later_ms) == (ErrorBudget("total", -1, 4), ErrorBudget("rate", 9, used))


def test_a_rate_that_is_used_without_a_time_of_failure_is_believed() -> None:
    assert budgets({"rate_limit": 9, "rate_used": 4}, 0, MINUTE_MS, NOW) == (ErrorBudget("rate", 9, 4),)


@pytest.mark.parametrize(
    ("kind", "properties", "expected"),
    [
        (ConnectorKind.SINK, ["topics"], True),
        (ConnectorKind.SOURCE, ["processing.exception.handler"], True),
        (ConnectorKind.STREAM, ["topics", "errors.retry.limit"], False),
        (ConnectorKind.STREAM, ["errors.tolerance.rate.limit"], True),
        (ConnectorKind.STREAM, ["errors.tolerance"], True),
    ],
)
def test_default_handlers_decide_in_a_stream_that_sets_no_limits(
    kind: ConnectorKind, properties: list[str], expected: bool
) -> None:
    assert limits_decide(kind, properties) is expected


@pytest.mark.parametrize(
    ("kind", "properties", "expected"),
    [
        (ConnectorKind.SINK, LIMIT, ("deserialization", "processing")),
        (ConnectorKind.SINK, LIMIT | READING, ("processing",)),
        (ConnectorKind.SINK, LIMIT | PROCESSING, ("deserialization",)),
        (ConnectorKind.SINK, LIMIT | PROCESSING | WRITING, ("deserialization",)),
        (ConnectorKind.SINK, LIMIT | READING | PROCESSING, ()),
        (ConnectorKind.SINK, LIMIT | READING | {"processing.exception.handler": ""}, ("processing",)),
        (ConnectorKind.SOURCE, LIMIT | READING | PROCESSING | WRITING, ("poll",)),
        (ConnectorKind.STREAM, READING, ()),
        (ConnectorKind.STREAM, {"processors": "a", "sinks": "b"} | LIMIT | READING, ("processing", "production")),
        (ConnectorKind.STREAM, {"processors": "a", "sinks": "b"} | LIMIT | READING | PROCESSING, ("production",)),
        (ConnectorKind.STREAM, {"processors": "a"} | LIMIT | READING | PROCESSING, ()),
        (ConnectorKind.STREAM, {"sinks": "b"} | LIMIT | READING | WRITING, ()),
        ("unheard-of", LIMIT, ("deserialization", "processing")),
    ],
)
def test_limits_decide_about_what_no_handler_is_named_for(
    kind: str, properties: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert limited_kinds(kind, properties) == expected


def test_a_handler_goes_by_its_new_name_or_its_old_one() -> None:
    both = WRITING | {"production.exception.handler": "my.Newer"}
    assert named_handlers(ConnectorKind.STREAM, READING | WRITING) == {
        "deserialization": "LogAndContinueExceptionHandler",
        "production": "my.Writing",
    }
    assert named_handlers(ConnectorKind.STREAM, both) == {"production": "my.Newer"}


@pytest.mark.parametrize(("kind", "idle"), [(ConnectorKind.SINK, WRITING), (ConnectorKind.SOURCE, READING)])
def test_a_handler_that_is_never_asked_decides_about_nothing(kind: ConnectorKind, idle: dict[str, str]) -> None:
    assert named_handlers(kind, PROCESSING | idle) == {"processing": "my.Handler"}
