from datetime import UTC, datetime
from typing import Any

from dlqadmin.metrics import queries
from dlqadmin.metrics.documents import ConnectorPipeline
from dlqadmin.metrics.models import TaskSnapshot

STAGES = [
    {"type": "KAFKA_CONSUME", "class": "usgs.earthquakes"},
    {"type": "VALUE_CONVERTER", "class": "JsonConverter"},
    {"type": "TRANSFORMATION", "class": "Cast$Value"},
    {"type": "TASK_PUT", "class": "SqlSink"},
]


def snapshot(
    connector: str,
    task: int,
    consumed: int,
    delivered: int,
    dead: int,
    failures: dict[str, int] | None = None,
    **status: Any,
) -> TaskSnapshot:
    metrics = {"records-consumed": consumed, "records-delivered": delivered, "records-dead-lettered": dead}
    return TaskSnapshot.objects.create(
        connector=connector,
        task=task,
        state="RUNNING",
        reported_at=datetime(2026, 11, 21, tzinfo=UTC),
        metrics=metrics,
        status={"stages": STAGES, "stage_failures": failures or {}, **status},
    )


def test_the_balance_adds_up_by_connector_and_in_all(db: None) -> None:
    snapshot("usgs-to-sql", 0, 900, 600, 300)
    snapshot("usgs-to-sql", 1, 832, 637, 195)
    snapshot("local-file-sink", 0, 3, 3, 0)
    balance = queries.balance()
    assert (balance.consumed, balance.delivered, balance.dead_lettered) == (1735, 1240, 495)
    assert balance.balanced
    assert [(row.name, row.consumed) for row in balance.connectors] == [
        ("local-file-sink", 3),
        ("usgs-to-sql", 1732),
    ]


def test_two_errors_that_cancel_out_do_not_balance(db: None) -> None:
    snapshot("a", 0, 10, 9, 0)
    snapshot("b", 0, 10, 11, 0)
    assert queries.balance().balanced is False


def test_stages_count_what_came_in_and_what_failed(db: None) -> None:
    snapshot("c", 0, 1000, 700, 300, {"1:VALUE_CONVERTER:JsonConverter": 10, "3:TASK_PUT:SqlSink": 290})
    snapshot(
        "c",
        1,
        732,
        537,
        195,
        {"1:VALUE_CONVERTER:JsonConverter": 8, "2:TRANSFORMATION:Cast$Value": 7, "3:TASK_PUT:SqlSink": 180},
    )
    found = queries.stages("c")
    assert [(row.class_name, row.arrived, row.failed) for row in found.stages] == [
        ("usgs.earthquakes", 1732, 0),
        ("JsonConverter", 1732, 18),
        ("Cast$Value", 1714, 7),
        ("SqlSink", 1707, 470),
    ]
    assert (found.total_failed, found.exact) == (495, True)


def test_a_failed_poll_of_the_consumer_comes_first_and_loses_no_record(db: None) -> None:
    told = [*STAGES[1:], {"type": "KAFKA_CONSUME", "class": "KafkaConsumer"}]
    failures = {"0:VALUE_CONVERTER:JsonConverter": 2, "3:KAFKA_CONSUME:KafkaConsumer": 5}
    snapshot("c", 0, 10, 8, 2, failures, stages=told)
    found = queries.stages("c")
    rows = [(row.index, row.class_name, row.arrived, row.failed) for row in found.stages]
    assert rows[:2] == [(0, "KafkaConsumer", 10, 5), (1, "JsonConverter", 10, 2)]
    assert (rows[2], found.exact) == ((2, "Cast$Value", 8, 0), True)


def test_failures_of_a_stage_that_is_another_one_now_are_not_its_own(db: None) -> None:
    before = {
        "2:TRANSFORMATION:Flatten$Value": 5,
        "3:TRANSFORMATION:SqlSink": 6,
        "2": 7,
        "02:TRANSFORMATION:Cast$Value": 8,
    }
    snapshot("c", 0, 10, 8, 2, {"2:TRANSFORMATION:Cast$Value": 2, **before})
    old = [*STAGES[:2], {"type": "TASK_PUT", "class": "SqlSink"}]
    snapshot("c", 1, 10, 9, 1, {"1:VALUE_CONVERTER:JsonConverter": 1, "2:TASK_PUT:SqlSink": 9}, stages=old)
    found = queries.stages("c")
    assert [row.failed for row in found.stages] == [0, 1, 2, 0]


def test_a_processors_failures_go_by_the_name_of_its_node() -> None:
    status = {
        "stages": [{"type": "PROCESSOR", "class": "quakes.Step", "name": name} for name in ("parse", "a:b")],
        "stage_failures": {"0:PROCESSOR:parse": 3, "0:PROCESSOR:quakes.Step": 9, "1:PROCESSOR:a:b": 4},
    }
    assert queries.by_stage(queries.pipeline_of(status), status["stage_failures"]) == [3, 4]


def test_stages_with_retried_failures_say_that_they_are_not_exact(db: None) -> None:
    snapshot("c", 0, 10, 10, 0, {"3:TASK_PUT:SqlSink": 4})
    assert queries.stages("c").exact is False


def test_a_connector_that_never_reported_has_no_stages(db: None) -> None:
    assert queries.stages("nobody") == ConnectorPipeline(connector="nobody", stages=[], total_failed=0, exact=True)


def test_lag_is_what_lies_between_positions_and_ends() -> None:
    status = {"positions": {"t-0": 5, "t-1": 9}, "ends": {"t-0": 8, "t-1": 9, "t-2": 4}}
    assert queries.task_lag(status) == 7
    assert queries.task_lag({}) is None


def test_the_lag_a_task_reports_is_believed() -> None:
    assert queries.task_lag({"lag": 3, "positions": {"t-0": 5}, "ends": {"t-0": None}}) == 3
    assert queries.task_lag({"positions": {"t-0": None}, "ends": {"t-0": None, "t-1": "x"}}) == 0
