"""One connector's trouble is its own: the others are served, leases go on, and it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from engine.assembly.validation import secrets_of, validate
from engine.config.masking import MASK
from engine.config.topic import TargetState, connector_record
from engine.errors import ConfigError, EngineError, FatalError, LeaseLost, RetriableError
from engine.herder.herder import Herder
from engine.herder.positions import GroupOffsets
from engine.herder.snapshot import ConnectorFacts
from engine.ports import Committed
from engine.record.record import TopicPartition
from engine.rest import bodies
from tests import fakes
from tests.engine.herder.world import World, ask, turn
from tests.support.permissions import open_worker

ZERO = TopicPartition("t", 0)
FILE = {"connector.class": "FileStreamSink", "topics": "t"}
SQL = {"connector.class": "SqlSink", "topics": "t", "table.name": "q", "connection.url": "sqlite:///secret.db"}


class Groups(World):
    """A world where some groups can't be read, or committed to."""

    def __init__(self, **refused: EngineError) -> None:
        super().__init__()
        self.refused = refused
        self.ends = {ZERO: 5}

    def committed(self, group: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        if error := self.refused.get(group.removeprefix("connect-")):
            raise error
        return super().committed(group, partitions)


def examine(properties: Mapping[str, str]) -> ConnectorFacts:
    plan = validate(properties, open_worker({}))
    return ConnectorFacts(kind=plan.known.kind, stages=plan.stages, secrets=plan.secrets)


def real(world: World, **changes: Any) -> Herder:
    """A herder that validates as the engine does."""
    return world.started(examine=examine, secrets=secrets_of, **changes)


def put(herder: Herder, name: str, properties: Mapping[str, str]) -> None:
    ask(herder, partial(herder.put, name, properties))


def store(world: World, name: str, properties: Mapping[str, str]) -> None:
    """A connector that an older engine let pass."""
    world.write_config(connector_record(name, properties))


@pytest.mark.parametrize("error", [FatalError("GROUP_AUTHORIZATION_FAILED"), RetriableError("its coordinator is away")])
def test_a_group_that_can_not_be_read_is_its_connectors_trouble(error: EngineError) -> None:
    world = Groups(bad=error)
    herder = world.started()
    for name in ("bad", "good"):
        put(herder, name, {"topics": "t"})
    turn(herder, 2)
    assert [task.connector for lease, _ in world.leases.values() for task in lease.tasks] == ["good"]
    assert herder.view().trouble is None
    assert str(error) in world.statuses()["status-connector-bad"]["trace"]
    world.refused = {}
    world.now += 60_000
    turn(herder)
    assert len(world.leases) == 2
    assert "trace" not in world.statuses()["status-connector-bad"]


@pytest.mark.parametrize("error", [FatalError("GROUP_AUTHORIZATION_FAILED"), RetriableError("its coordinator is away")])
def test_a_lost_lease_whose_group_can_not_be_read_frees_its_slot(error: EngineError) -> None:
    world = Groups()
    herder = world.started()
    put(herder, "c", {"topics": "t"})
    turn(herder)
    world.refused = {"c": error}
    world.lose(LeaseLost("it died"))
    turn(herder)
    assert herder.view().state.leases == {}
    assert herder.view().trouble is None


def test_a_standing_lease_that_can_not_be_followed_stops_nobody() -> None:
    world = Groups()
    herder = world.started()
    put(herder, "s", {"topics": "t", "kind": "stream"})
    turn(herder)
    world.refused = {"s": FatalError("GROUP_AUTHORIZATION_FAILED")}
    put(herder, "c", {"topics": "t"})
    world.now += 5_000
    turn(herder, 2)
    assert len(world.leases) == 2
    assert herder.view().trouble is None


def test_a_group_that_refuses_a_commit_does_not_keep_the_others_from_theirs() -> None:
    class Refusing(fakes.Consumer):
        def commit(self, offsets: Mapping[TopicPartition, Committed]) -> None:
            raise FatalError("UNKNOWN_MEMBER_ID")

    world = Groups()
    made: dict[str, fakes.Consumer] = {}

    def consumers(group: str) -> fakes.Consumer:
        made[group] = (Refusing if group == "connect-a" else fakes.Consumer)(group=world.groups[group])
        return made[group]

    herder = world.started(offsets=GroupOffsets(world, consumers, world.producer))
    for name in ("a", "b"):
        put(herder, name, {"topics": "t"})
        ask(herder, partial(herder.set_target, name, TargetState.STOPPED))
        world.groups[f"connect-{name}"] = {ZERO: Committed(1)}
    turn(herder)
    world.now += 60_001
    turn(herder, 2)
    assert made["connect-b"].commits == [{ZERO: Committed(1)}]
    assert all(consumer.closed for consumer in made.values())
    assert herder.view().trouble is None


@pytest.mark.parametrize("regex", [" (?i)t", "("])
def test_no_regex_ends_the_herder(regex: str) -> None:
    world = Groups()
    store(world, "old", {**FILE, "name": "old", "topics": "", "topics.regex": regex})
    herder = real(world)
    put(herder, "c", FILE)
    turn(herder, 2)
    assert "c" in {task.connector for lease, _ in world.leases.values() for task in lease.tasks}


def test_a_stored_regex_that_validation_lets_pass_is_the_connectors_trouble() -> None:
    world = Groups()
    herder = world.started()
    put(herder, "bad", {"topics.regex": "("})
    put(herder, "c", {"topics": "t"})
    turn(herder, 2)
    assert len(world.leases) == 1
    assert "topics.regex" in world.statuses()["status-connector-bad"]["trace"]


def test_what_is_checked_is_what_is_stored() -> None:
    world = Groups()
    herder = real(world)
    put(herder, "c", {**SQL, "insert.mode": "upsert ", "pk.mode": " record_value", "pk.fields": "id"})
    stored = world.config().connectors["c"].properties or {}
    assert (stored["insert.mode"], stored["pk.mode"]) == ("upsert", "record_value")


@pytest.mark.parametrize("name", [" c", "c ", "c\t"])
def test_a_name_with_blanks_around_it_is_refused(name: str) -> None:
    herder = real(Groups())
    with pytest.raises(ConfigError):
        put(herder, name, FILE)
    assert herder.view().names() == []


def test_the_first_connectors_are_stored_as_they_are_checked() -> None:
    world = Groups()
    herder = real(world, initial=[{**FILE, "name": "c", "tasks.max": " 1 "}])
    assert (herder.view().config.connectors["c"].properties or {})["tasks.max"] == "1"


def test_secrets_stay_masked_when_the_configuration_is_no_longer_valid() -> None:
    world = Groups()
    properties = {**SQL, "name": "c", "errors.retry.limitt": "1"}
    store(world, "c", properties)
    store(world, "gone", {**properties, "name": "gone", "connector.class": "uninstalled.Sink", "salt": "hidden"})
    herder = real(world)
    view = herder.view()
    assert view.facts["c"].trace is not None
    assert bodies.config(view, "c")["connection.url"] == MASK
    assert bodies.config(view, "gone")["salt"] == MASK


def test_a_mask_that_comes_back_after_the_configuration_broke_is_what_was_there() -> None:
    world = Groups()
    store(world, "c", {**SQL, "name": "c", "errors.retry.limitt": "1"})
    herder = real(world)
    sent = bodies.config(herder.view(), "c")
    del sent["errors.retry.limitt"]
    put(herder, "c", sent)
    assert (world.config().connectors["c"].properties or {})["connection.url"] == SQL["connection.url"]


@pytest.mark.parametrize("properties", [{"connection.url": MASK}, {"connection.url": f"postgresql://u:{MASK}@h/db"}])
def test_a_mask_where_nothing_was_before_is_refused(properties: dict[str, str]) -> None:
    herder = real(Groups())
    with pytest.raises(ConfigError) as caught:
        put(herder, "c", {**SQL, **properties})
    assert [option for option, _, _ in caught.value.problems] == ["connection.url"]


def test_a_broken_plugin_is_its_connectors_trace() -> None:
    def broken(_properties: Mapping[str, str]) -> ConnectorFacts:
        raise AttributeError("the plugin changed")

    world = Groups()
    store(world, "c", {**FILE, "name": "c"})
    herder = world.herder(examine=broken)
    turn(herder, 2)
    assert "the plugin changed" in world.statuses()["status-connector-c"]["trace"]


def test_a_lease_that_hangs_is_cancelled_and_counts_as_lost() -> None:
    world = Groups()
    herder = world.started()
    put(herder, "c", {"topics": "t"})
    turn(herder)
    for expected in range(1, 6):
        world.now += 700_000
        turn(herder, 2)
        assert len(world.cancelled) == expected
        world.lose(LeaseLost("Job cancelled"))
        turn(herder)
        world.now += 60_000
        turn(herder)
    status = world.statuses()["status-task-c-0"]
    assert status["state"] == "FAILED"
    assert "did not end by its deadline" in status["trace"]
    assert world.leases == {}


def test_a_position_beyond_the_end_makes_a_lease_that_looks_for_itself() -> None:
    world = Groups()
    world.groups["connect-c"] = {ZERO: Committed(1000)}
    world.ends = {ZERO: 10}
    herder = world.started()
    put(herder, "c", {"topics": "t"})
    turn(herder)
    [(lease, _)] = world.leases.values()
    assert [task.beyond for task in lease.tasks] == [True]
