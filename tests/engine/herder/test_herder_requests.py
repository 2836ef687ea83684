"""What the herder is asked to do to a connector."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial

import pytest
from msgspec.structs import replace

from engine.config.masking import MASK
from engine.config.topic import TargetState
from engine.errors import ConfigError, NotFound, RequestConflict
from engine.herder.herder import Herder
from engine.herder.snapshot import ConnectorFacts
from engine.worker_messages import LeaseEnd
from tests.engine.herder.running import PROPERTIES, ZERO, running
from tests.engine.herder.world import World, ask, examine, turn


def test_wrong_properties_are_refused_and_change_nothing(world: World, herder: Herder) -> None:
    with pytest.raises(ConfigError):
        ask(herder, partial(herder.put, "c", {**PROPERTIES, "tasks.max": "many"}))
    assert herder.view().names() == []


def test_a_name_is_created_once(world: World, herder: Herder) -> None:
    assert ask(herder, partial(herder.put, "c", PROPERTIES, create=True))
    with pytest.raises(RequestConflict):
        ask(herder, partial(herder.put, "c", PROPERTIES, create=True))


def test_a_masked_secret_that_comes_back_is_the_one_that_was_there(world: World, herder: Herder) -> None:
    ask(herder, partial(herder.put, "c", {**PROPERTIES, "db.password": "hidden"}))
    ask(herder, partial(herder.put, "c", {**PROPERTIES, "db.password": MASK, "tasks.max": "1"}))
    properties = world.config().connectors["c"].properties
    assert properties is not None
    assert (properties["db.password"], properties["tasks.max"]) == ("hidden", "1")


def test_what_does_not_exist_is_not_found(world: World, herder: Herder) -> None:
    for request in (
        partial(herder.delete, "x"),
        partial(herder.set_target, "x", TargetState.PAUSED),
        partial(herder.restart, "x"),
        partial(herder.restart_task, "x", 0),
    ):
        with pytest.raises(NotFound):
            ask(herder, request)


def test_a_paused_task_is_running_until_its_lease_has_ended(world: World, herder: Herder) -> None:
    running(world, herder)
    ask(herder, partial(herder.set_target, "c", TargetState.PAUSED))
    assert world.statuses()["status-task-c-0"]["state"] == "RUNNING"
    world.end(LeaseEnd.STOPPED)
    turn(herder)
    assert world.statuses()["status-task-c-0"]["state"] == "PAUSED"
    world.ends[ZERO] = 9
    turn(herder)
    assert world.leases == {}


def test_a_deleted_connector_leaves_tombstones(world: World, herder: Herder) -> None:
    running(world, herder)
    world.end()
    turn(herder)
    ask(herder, partial(herder.delete, "c"))
    assert world.statuses() == {}
    assert herder.view().names() == []


def test_a_restart_frees_a_failed_task_only_when_asked_for(world: World, herder: Herder) -> None:
    running(world, herder)
    world.end(LeaseEnd.FAILED, trace="Traceback …")
    turn(herder)
    assert world.statuses()["status-task-c-0"]["state"] == "FAILED"
    ask(herder, partial(herder.restart, "c"))
    assert world.statuses()["status-task-c-0"]["state"] == "FAILED"
    ask(herder, partial(herder.restart, "c", tasks=True, only_failed=True))
    assert world.statuses()["status-task-c-0"]["state"] == "RUNNING"
    assert world.statuses()["status-task-c-0"]["restarts"] == 2


def test_a_restart_shows_what_validation_says_now(world: World) -> None:
    found = {"trace": "the package is not installed"}
    herder = world.started(examine=lambda _: ConnectorFacts(trace=found.get("trace")))
    ask(herder, partial(herder.put, "c", PROPERTIES))
    assert world.statuses()["status-connector-c"]["state"] == "FAILED"
    found.clear()
    ask(herder, partial(herder.restart, "c"))
    assert world.statuses()["status-connector-c"]["state"] == "RUNNING"


def test_a_new_configuration_is_validated_once(world: World) -> None:
    validated: list[object] = []

    def count(properties: Mapping[str, str]) -> ConnectorFacts:
        validated.append(properties)
        return examine(properties)

    herder = world.started(examine=count)
    ask(herder, partial(herder.put, "c", PROPERTIES))
    turn(herder, 3)
    assert len(validated) == 1
    assert herder.view().facts_of("c").stages


def test_ignored_options_of_a_connector_are_logged_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    warning = ("producer.override.transactional.id", "mine", "is ignored: the engine sets it")
    herder = world.started(examine=lambda properties: replace(examine(properties), warnings=(warning,)))
    ask(herder, partial(herder.put, "c", PROPERTIES))
    turn(herder, 3)
    logged = [record.getMessage() for record in caplog.records if "is ignored" in record.getMessage()]
    assert logged == ["connector c: producer.override.transactional.id = mine: is ignored: the engine sets it"]


def test_a_patch_changes_some_options_and_removes_those_that_are_null(world: World, herder: Herder) -> None:
    ask(herder, partial(herder.put, "c", {**PROPERTIES, "db.password": "hidden"}))
    ask(herder, partial(herder.patch, "c", {"tasks.max": None, "file": "f", "name": "other", "db.password": MASK}))
    properties = world.config().connectors["c"].properties
    assert properties == {"name": "c", "topics": "t", "file": "f", "db.password": "hidden"}
    with pytest.raises(ConfigError):
        ask(herder, partial(herder.patch, "c", {"tasks.max": "many"}))
    with pytest.raises(NotFound):
        ask(herder, partial(herder.patch, "x", {}))
    assert world.config().connectors["c"].properties == properties


def test_a_connector_that_is_created_paused_gets_its_tasks_when_it_is_resumed(world: World, herder: Herder) -> None:
    world.ends[ZERO] = 5
    ask(herder, partial(herder.put, "c", PROPERTIES, create=True, target=TargetState.PAUSED))
    turn(herder, 2)
    assert (herder.view().config.connectors["c"].target, herder.view().tasks("c")) == (TargetState.PAUSED, [])
    ask(herder, partial(herder.set_target, "c", TargetState.STARTED))
    turn(herder)
    assert len(world.leases) == 1


def test_a_connector_that_is_created_stopped_has_the_tasks_whose_offsets_can_be_set(
    world: World, herder: Herder
) -> None:
    world.ends[ZERO] = 5
    ask(herder, partial(herder.put, "c", PROPERTIES, create=True, target=TargetState.STOPPED))
    turn(herder, 2)
    assert (len(herder.view().tasks("c")), world.leases) == (1, {})
    assert herder.view().assigned_tasks("c") == []


def test_a_level_for_the_cluster_is_set_in_every_driver_that_runs(world: World) -> None:
    logger = logging.getLogger("tests.herder.levels")
    logger.setLevel(logging.INFO)
    herder = world.started()
    ask(herder, partial(herder.set_cluster_log_level, logger.name, "debug"))
    turn(herder)
    assert logger.level == logging.DEBUG
    logger.setLevel(logging.INFO)
    herder.stop()
    herder.run()
    successor = world.started()
    assert logger.level == logging.INFO  # a level of the time before a driver started is not its own
    ask(successor, partial(successor.set_cluster_log_level, logger.name, "debug"))
    turn(successor)
    assert logger.level == logging.DEBUG
