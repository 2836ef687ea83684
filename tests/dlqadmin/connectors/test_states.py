from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from dlqadmin.connectors.connect_clusters import ENGINE, ConnectorKey
from dlqadmin.connectors.control_history import ControlRequest, newest_requests
from dlqadmin.connectors.documents import DerivedState, ShownState
from dlqadmin.connectors.states import ReportedStates, derive, reported_states, shown_state
from dlqadmin.metrics.models import TaskSnapshot
from tests.dlqadmin.fakes import FakeEngine

NOW = datetime(2026, 11, 21, 3, 12, tzinfo=UTC)
C = ConnectorKey(ENGINE, "c")
R, F, P, S, U = "RUNNING", "FAILED", "PAUSED", "STOPPED", "UNASSIGNED"


def told(connector: str, *tasks: str) -> ReportedStates:
    return ReportedStates(connector, dict(enumerate(tasks)))


def shown(states: ReportedStates, request: ControlRequest | None = None, **more: Any) -> ShownState:
    return shown_state(states, more.pop("snapshots", ()), request, **{"reachable": True, "as_of": NOW, **more})


def asked(state: Any, reason: str = "Disk is being replaced.") -> ControlRequest:
    return ControlRequest(state, "operator-1", NOW - timedelta(days=3), reason)


@pytest.mark.parametrize(
    ("connector", "tasks", "state", "text"),
    [
        (R, (R, R), "running", "2 of 2 tasks run"),
        (R, (R,), "running", "1 of 1 task runs"),
        (R, (R, F), "failed", "1 of 2 tasks failed"),
        (R, (F,), "failed", "1 of 1 task failed"),
        (F, (), "failed", "The connector failed"),
        (F, (R,), "failed", "The connector failed"),
        (P, (P, F), "failed", "1 of 2 tasks failed, and the connector is paused"),
        (P, (P, P), "paused", "Paused by an unknown person"),
        (P, (R, P), "paused", "Paused by an unknown person"),
        (S, (), "stopped", "Stopped by an unknown person"),
        (R, (), "no_tasks", "The connector has no tasks"),
        (R, (R, U), "unassigned", "1 of 2 tasks waits for a worker"),
        (R, (U, "RESTARTING"), "unassigned", "2 of 2 tasks wait for a worker"),
        (U, (), "unassigned", "The connector waits for a worker"),
        (R, (R, P), "paused", "Paused by an unknown person"),
        (R, (S,), "stopped", "Stopped by an unknown person"),
    ],
)
def test_a_connector_runs_only_if_all_its_tasks_run(
    connector: str, tasks: tuple[str, ...], state: DerivedState, text: str
) -> None:
    found = shown(told(connector, *tasks))
    assert (found.state, found.text) == (state, text)
    assert derive(connector, told(connector, *tasks).counts) == state


def test_a_running_connector_tells_of_its_idle_tasks_and_a_failed_one_of_its_failure() -> None:
    note = "idle tasks: 2, because tasks.max is 4 and the number of partitions is 2"
    tasks = [{"id": 0, "state": R}, {"id": 1, "state": R}]
    states = reported_states({"status": {"connector": {"state": R, "note": note}, "tasks": tasks}})
    assert shown(states).text == f"2 of 2 tasks run; {note}"
    failed = [*tasks[:1], {"id": 1, "state": F}]
    states = reported_states({"status": {"connector": {"state": R, "note": note}, "tasks": failed}})
    assert shown(states).text == "1 of 2 tasks failed"


def test_a_pause_names_the_person_the_time_and_the_reason() -> None:
    found = shown(told(P, P), asked("paused"))
    assert (found.text, found.by, found.reason) == ("Paused by operator-1", "operator-1", "Disk is being replaced.")
    assert found.since == "2026-11-18T03:12:00.000Z"


def test_a_request_for_another_state_does_not_explain_a_pause() -> None:
    assert shown(told(P, P), asked("running")).by is None
    assert shown(told(P, P), asked("stopped")).by is None
    assert shown(told(R, R), asked("paused")).by is None


def test_an_empty_reason_is_no_reason() -> None:
    assert shown(told(S), asked("stopped", "")).reason is None


def test_a_silent_engine_makes_the_state_unknown_and_keeps_the_last_one() -> None:
    found = shown(told(R, R, F), reachable=False)
    assert (found.state, found.last_known, found.as_of) == ("unknown", "failed", "2026-11-21T03:12:00.000Z")
    assert found.text == "Unknown, because the engine does not respond. Last known: 1 of 2 tasks failed"


def test_a_failure_began_with_the_first_task_that_failed() -> None:
    rows = [
        TaskSnapshot(connector="c", task=number, state=state, state_since=NOW - timedelta(minutes=minutes))
        for number, state, minutes in ((0, R, 60), (1, F, 23), (2, F, 5))
    ]
    assert shown(told(R, R, F, F), snapshots=rows).since == "2026-11-21T02:49:00.000Z"
    assert shown(told(R, R, R, F), snapshots=rows).since == "2026-11-21T03:07:00.000Z"  # task 1 runs again
    assert shown(told(R, R, R, R), snapshots=rows).since is None


def test_a_response_of_another_form_has_no_tasks() -> None:
    assert reported_states({"status": {"connector": {"state": R}, "tasks": "none"}}) == told(R)
    assert reported_states({}) == told(U)
    assert reported_states({"status": {"connector": {"state": R}, "tasks": [{"state": F}]}}).tasks == {0: F}


@pytest.mark.sql
def test_the_newest_request_that_the_engine_did_not_refuse_counts(as_operator: APIClient, engine: FakeEngine) -> None:
    engine.add("c", {"topics": "a"}, state="PAUSED")
    as_operator.post("/api/v1/connectors/c/pause", {"reason": "disk"})
    engine.answer = (409, {"message": "rebalance"})
    as_operator.post("/api/v1/connectors/c/resume", {"reason": "no"})
    assert newest_requests([C, ConnectorKey(ENGINE, "other")])[C].reason == "disk"
    (row,) = as_operator.get("/api/v1/connectors").json()["results"]
    assert (row["state"], row["shown"]["state"], row["shown"]["text"]) == ("PAUSED", "paused", "Paused by operator-1")
    assert row["shown"]["tasks"] == {
        "total": 1, "running": 0, "failed": 0, "paused": 1, "stopped": 0, "unassigned": 0
    }  # fmt: skip
    one = as_operator.get("/api/v1/connectors/c").json()["shown"]
    assert (one["by"], one["reason"]) == ("operator-1", "disk")
