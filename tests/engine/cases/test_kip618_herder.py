"""KIP-618 in the herder, as Kafka's own tests assert it, case by case; what is different here, the test says."""

from __future__ import annotations

from functools import partial

import pytest
from starlette.testclient import TestClient

from engine.assembly.driver import task_settings
from engine.config.client_names import leader_id
from engine.config.topic import (
    ConfigState,
    KeyValue,
    TargetState,
    TaskEntry,
    commit_record,
    connector_record,
    count_record,
    fold_all,
    owns,
    task_configs,
    task_record,
)
from engine.errors import GenerationFenced, NotLeading, RequestConflict, RetriableError
from engine.herder.fencing_rounds import FencingRound, needed_round
from engine.herder.herder import Herder
from engine.herder.leadership import LeaderProducer
from engine.herder.snapshot import ConnectorFacts
from engine.pipeline.claim import end_of_ownership
from engine.ports import Committed
from engine.record.record import TopicPartition
from engine.rest.app import build_app
from engine.worker_messages import LeaseEnd
from tests.engine.herder.test_fencing import until
from tests.engine.herder.world import Election, LogProducer, Transactional, World, ask, turn
from tests.support.permissions import open_worker

PARTITIONS = [TopicPartition("t", number) for number in range(3)]
EXACTLY = {"name": "c", "topics": "t", "tasks.max": "3", "delivery": "exactly_once"}


def generation(number: int, tasks: int, *, count: int | None = None) -> list[KeyValue]:
    """The records of a generation, after the count record if there is one."""
    rows = [] if count is None else [count_record("c", count)]
    entry = TaskEntry(number, EXACTLY, (), exactly_once=True)
    return [
        connector_record("c", EXACTLY),
        *rows,
        *(task_record("c", at, entry) for at in range(tasks)),
        commit_record("c", tasks, number),
    ]


@pytest.fixture
def world() -> World:
    world = World()
    world.ends = dict.fromkeys(PARTITIONS, 5)
    return world


@pytest.fixture
def herder(world: World) -> Herder:
    made = world.started()
    ask(made, partial(made.put, "c", EXACTLY))
    turn(made)
    return made


def stop(world: World, herder: Herder) -> None:
    """The connector stops; it has committed."""
    world.end()
    world.groups["connect-c"] = dict.fromkeys(PARTITIONS, Committed(5))
    ask(herder, partial(herder.set_target, "c", TargetState.STOPPED))
    turn(herder)


def test_nobody_can_ask_for_a_round(herder: Herder) -> None:
    """E-46, DistributedHerderTest#testFenceZombiesInvalidSignature: there is no such request here to be signed: the
    leader makes the rounds before it grants leases."""
    client = TestClient(build_app(herder, lambda _properties: ConnectorFacts()), raise_server_exceptions=False)
    assert client.put("/connectors/c/fence").status_code == 404


def test_a_driver_that_stands_by_sends_what_it_is_asked_to_the_leader(world: World, herder: Herder) -> None:
    """E-47, DistributedHerderTest#testTaskRequestedZombieFencingForwardedToLeader: of operators' requests, as tasks
    make none; 307 instead of a request of its own."""
    election = Election()
    election.won = False
    follower = world.started(election, "w:2")
    with pytest.raises(NotLeading) as told:
        ask(follower, partial(follower.restart_task, "c", 0))
    assert told.value.url == "http://w:1"


def test_a_lease_that_finds_no_count_record_is_refused() -> None:
    """E-48, DistributedHerderTest#testTaskRequestedZombieFencingFailedForwardToLeader: a task that was not fenced in is
    not run; it stops quietly, since the leader leases it again after the round."""
    state = fold_all(ConfigState(), generation(1, 1))
    [task] = task_configs(state, "c")
    assert not owns(state, task, 0)
    assert end_of_ownership(state, task, 0) is LeaseEnd.STOPPED
    after = fold_all(state, [count_record("c", 1)])
    assert owns(after, task, 0)


def test_offsets_are_changed_after_a_round_and_then_without_another(world: World, herder: Herder) -> None:
    """E-67, DistributedHerderTest#testModifyOffsetsSourceConnectorExactlyOnceEnabled: of a sink here; sources and sinks
    go the same way."""
    stop(world, herder)
    for offset in (2, 3):
        row = {"kafka_topic": "t", "kafka_partition": 1}, {"kafka_offset": offset}
        until(herder, ask(herder, partial(herder.change_offsets, "c", [row])).done)
        assert world.groups["connect-c"][PARTITIONS[1]] == Committed(offset)
    assert world.fenced == [("c", (0, 1, 2))]


def test_offsets_stay_when_their_tasks_can_not_be_fenced(world: World, herder: Herder) -> None:
    """E-68, DistributedHerderTest#testModifyOffsetsSourceConnectorExactlyOnceEnabledZombieFencingFailure."""
    stop(world, herder)
    world.fencing = RetriableError("no coordinator")
    answer = ask(herder, partial(herder.change_offsets, "c", None))
    until(herder, answer.done)
    with pytest.raises(RetriableError, match="Failed to fence the tasks"):
        answer.result(0)
    assert world.groups["connect-c"] == dict.fromkeys(PARTITIONS, Committed(5))


def test_a_count_record_ends_what_a_commit_record_begins() -> None:
    """E-69, KafkaConfigBackingStoreTest#testTaskCountRecordsAndGenerations: generations begin at 1 here, and go on when
    a connector is deleted and comes back."""
    state = fold_all(ConfigState(), [connector_record("c", EXACTLY)])
    entry = state.connectors["c"]
    assert (entry.task_count, entry.fenced, entry.generation, needed_round("c", entry)) == (None, False, 0, None)
    state = fold_all(state, generation(1, 2))
    entry = state.connectors["c"]
    assert (entry.task_count, entry.fenced, entry.generation) == (None, False, 1)
    assert needed_round("c", entry) == FencingRound("c", 1, (), 2)
    entry = fold_all(state, [count_record("c", 4)]).connectors["c"]
    assert (entry.task_count, entry.fenced, entry.generation, needed_round("c", entry)) == (4, True, 1, None)


def test_only_who_leads_can_write(world: World) -> None:
    """E-70, KafkaConfigBackingStoreTest#testWritePrivileges: an operator's wish (target state) is written by the leader
    too here, so it needs the same right."""
    made: list[Transactional] = []

    def connect() -> Transactional:
        made.append(Transactional(world, leader_id("g"), LogProducer(world.config_log)))
        return made[-1]

    def write() -> None:
        producer.produce("configs", b"k", b"{}", partition=0)
        producer.flush()

    producer = LeaderProducer(connect)
    with pytest.raises(GenerationFenced):
        write()
    producer.take_over()
    write()
    Transactional(world, leader_id("g")).init()
    for _ in range(2):
        with pytest.raises(GenerationFenced):
            write()
    producer.take_over()
    write()
    write()
    assert len(made) == 2
    assert len(world.config_log.log[TopicPartition("configs", 0)]) == 3


def test_tasks_are_fenced_as_their_own_clients_would_reach_the_brokers() -> None:
    """E-81, WorkerTest#testZombieFencing: there is no admin call for it here, so the overrides of the producer count,
    and the ids are those of the tasks."""
    worker = open_worker({"group.id": "g", "producer.linger.ms": "7", "sasl.mechanism": "PLAIN"})
    sink = {"connector.class": "KafkaSink", "topics": "t", "topic": "out", "name": "c"}
    override = {"producer.override.retry.backoff.ms": "4761", "producer.override.transactional.id": "mine"}
    settings = task_settings({**sink, **override}, 11, worker)
    assert settings["transactional.id"] == "g-c-11"
    assert settings["retry.backoff.ms"] == "4761"
    assert (settings["sasl.mechanism"], settings["bootstrap.servers"]) == ("PLAIN", worker.bootstrap_servers)


def test_a_leader_whose_id_is_taken_fails_one_request_and_leads_again(world: World, herder: Herder) -> None:
    """E-91, ExactlyOnceSourceIntegrationTest#testFencedLeaderRecovery: its records are counted with a real broker, in
    test_leader."""
    Transactional(world, leader_id("g")).init()
    with pytest.raises(NotLeading):
        ask(herder, partial(herder.put, "c", {**EXACTLY, "tasks.max": "2"}))
    turn(herder)
    assert herder.is_leading()
    assert not ask(herder, partial(herder.put, "c", {**EXACTLY, "tasks.max": "2"}))
    assert world.config().leader.epoch == 2


def test_restarts_read_the_config_topic_first(world: World, herder: Herder) -> None:
    """KIP-618, manual restart of fenced-out tasks: 409 while the tasks of the connector are being replaced."""
    world.end()
    world.fencing = RetriableError("no coordinator")
    ask(herder, partial(herder.put, "c", {**EXACTLY, "tasks.max": "2"}))
    until(herder, lambda: world.fenced)
    for request in (partial(herder.restart_task, "c", 0), partial(herder.restart, "c", tasks=True)):
        with pytest.raises(RequestConflict, match="being fenced"):
            ask(herder, request)
