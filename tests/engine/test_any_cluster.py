"""Drivers that sleep and wake, leases that are lost and go on, rounds that fail, answers that never come, in any order.

Each record arrives once, in the order of its partition, in the output or as a dead letter; and what woke too late
changed nothing. Herder, config topic, leases, tasks and transactions are the engine's own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from engine.config.topic import TargetState
from tests.support.cluster import CONNECTOR, DAY_MS, INPUTS, MOST_PARTITIONS, Cluster, Driver, Worker
from tests.support.cluster_lease import LETTERS, OUTPUT
from tests.support.cluster_records import BAD, BIG, GOOD, Records
from tests.support.examples import examples
from tests.support.fake_kafka import Fault
from tests.support.stepping import Process

STEPS = 50
LEAST_STEPS = 30  # of an example, on average
DRAIN_TURNS = 300
FAULTS = st.sampled_from([None] * 6 + list(Fault))
ANY = st.integers(0, 11)
PLACES = st.sampled_from(["init", "list_offsets", "committed", "fetch", "produce", "produce", "send_offsets", "end"])
MOST_BETWEEN = 40


class AnyCluster(RuleBasedStateMachine):
    """Two drivers or more, one connector with up to four partitions of two topics, a reader that sees all of it."""

    steps_taken = 0

    def __init__(self) -> None:
        super().__init__()
        self.cluster = Cluster()
        self.records = Records(self.cluster.kafka)

    @initialize(slow_markers=st.booleans(), tasks=st.integers(1, 3), partitions=st.integers(1, 3))
    def begin(self, slow_markers: bool, tasks: int, partitions: int) -> None:
        self.cluster.kafka.slow_markers = slow_markers
        for _ in range(partitions - 1):
            self.grow(0)
        for which in range(partitions):
            self.send(which, [GOOD] * 7 + [BAD, BIG, GOOD])
        self.lead_on(1, 0)
        self.leader().herder.put(CONNECTOR, properties(tasks, INPUTS[:1]))
        self.lead_on(3, 0)
        self.cluster.add_driver()

    # the input
    @rule(which=ANY, kinds=st.lists(st.sampled_from([GOOD, GOOD, GOOD, BAD, BIG]), min_size=1, max_size=12))
    def send(self, which: int, kinds: list[str]) -> None:
        partitions = [one for topic in INPUTS for one in self.cluster.kafka.partitions_of(topic)]
        self.records.send(partitions[which % len(partitions)], kinds)

    @rule(which=ANY)
    def grow(self, which: int) -> None:
        topic = self.cluster.kafka.topics[INPUTS[which % len(INPUTS)]]
        if len(topic.logs) < MOST_PARTITIONS:
            topic.logs.append([])
            topic.begins.append(0)

    # drivers
    @rule(turns=st.integers(1, 6), ms=st.sampled_from([50, 300, 600]))
    def lead_on(self, turns: int, ms: int) -> None:
        for _ in range(turns):
            self.leader().finish()
            self.cluster.clock.time_ms += ms

    @rule(which=ANY, fault=FAULTS, count=st.integers(1, 12))
    def step_driver(self, which: int, fault: Fault | None, count: int) -> None:
        """Somewhere in its turn it stops."""
        driver = self.driver(which)
        for _ in range(count - 1):
            driver.step()
        driver.step(fault)

    @rule(which=ANY)
    def finish_turn(self, which: int) -> None:
        self.driver(which).finish()

    @rule(which=ANY)
    def elect(self, which: int) -> None:
        """Another one is to lead; who led before has not heard of it."""
        self.cluster.elect(which % len(self.cluster.drivers))

    @rule(which=ANY)
    def hear(self, which: int) -> None:
        self.driver(which).hears()

    @rule(which=ANY)
    def crash_driver(self, which: int) -> None:
        self.cluster.crash(which % len(self.cluster.drivers))

    @rule(count=st.integers(1, 14), which=ANY)
    def leader_sleeps(self, count: int, which: int) -> None:
        """It stops in the middle of a turn, and another leads; that it is to wake is another rule's."""
        self.step_driver(self.cluster.drivers.index(self.leader()), None, count)
        if len(self.cluster.drivers) < 2:
            self.cluster.add_driver()
        others = [place for place, one in enumerate(self.cluster.drivers) if one is not self.leader()]
        self.cluster.elect(others[which % len(others)])
        self.lead_on(4, 600)

    # what operators do
    @rule(tasks=st.integers(1, 3), topics=st.integers(1, 2))
    def reconfigure(self, tasks: int, topics: int) -> None:
        self.leader().herder.put(CONNECTOR, properties(tasks, INPUTS[:topics]))
        self.leader().finish()

    @rule(state=st.sampled_from([TargetState.STARTED, TargetState.STARTED, TargetState.STARTED, *TargetState]))
    def set_target(self, state: TargetState) -> None:
        self.leader().herder.set_target(CONNECTOR, state)
        self.leader().finish()

    @rule(task=st.integers(0, 2))
    def restart_task(self, task: int) -> None:
        self.leader().herder.restart_task(CONNECTOR, task)
        self.leader().finish()

    # leases, and what is left of them
    @precondition(lambda self: self.cluster.live())
    @rule(which=ANY, fault=FAULTS, count=st.integers(1, 25))
    def step_lease(self, which: int, fault: Fault | None, count: int) -> None:
        process = self.worker(which).process
        for _ in range(count - 1):
            process.step()
        process.step(fault)

    @precondition(lambda self: self.cluster.live())
    @rule(which=ANY, faults=st.lists(FAULTS, min_size=5, max_size=40))
    def trouble_lease(self, which: int, faults: list[Fault | None]) -> None:
        process = self.worker(which).process
        for fault in faults:
            process.step(fault)

    @precondition(lambda self: self.cluster.live())
    @rule(which=ANY)
    def finish_lease(self, which: int) -> None:
        self.worker(which).process.run()

    @precondition(lambda self: self.cluster.live())
    @rule(which=ANY, place=PLACES, times=st.integers(1, 4), turns=st.integers(0, 6), goes_on=st.booleans())
    def lose_lease(self, which: int, place: str, times: int, turns: int, goes_on: bool) -> None:
        """Somewhere in its work it stops; its driver hears that it is lost, and goes on without it."""
        worker = self.worker(which)
        self.step_to(worker.process, place, times)
        worker.lose()
        self.lead_on(turns, 300)
        if goes_on:
            self.finish_leases()

    @precondition(lambda self: self.cluster.live())
    @rule(which=ANY, place=PLACES, times=st.integers(1, 4), tasks=st.integers(1, 3), goes_on=st.booleans())
    def move_on(self, which: int, place: str, times: int, tasks: int, goes_on: bool) -> None:
        """A lease stops in the middle of its work while its partitions go to the tasks of a new generation."""
        worker = self.worker(which)
        self.step_to(worker.process, place, times)
        self.send(0, [GOOD] * 4)
        self.reconfigure(tasks, 1)
        self.lead_on(3, 600)
        worker.lose()
        for round_ in self.rounds():
            round_.run()
        self.lead_on(4, 300)
        if goes_on:
            self.finish_leases()

    def step_to(self, process: Process, place: str, times: int) -> None:
        """Until it is so often about to make such a request, or over."""
        for _ in range(times):
            process.step()
            for _ in range(MOST_BETWEEN):
                if process.is_over or process.at == place:
                    break
                process.step()

    def finish_leases(self) -> None:
        for worker in self.cluster.live():
            worker.process.run()

    @precondition(lambda self: self.cluster.zombies())
    @rule(which=ANY, count=st.integers(1, 12), fault=FAULTS)
    def step_zombie(self, which: int, count: int, fault: Fault | None) -> None:
        zombie = self.zombie(which)
        zombie.step(fault)
        for _ in range(count - 1):
            zombie.step()

    @precondition(lambda self: self.cluster.zombies())
    @rule(which=ANY, faults=st.lists(FAULTS, max_size=6))
    def finish_zombie(self, which: int, faults: list[Fault | None]) -> None:
        zombie = self.zombie(which)
        for fault in faults:
            zombie.step(fault)
        zombie.run()

    @precondition(lambda self: self.cluster.zombies() and self.cluster.live())
    @rule(which=ANY, place=PLACES, zombie=ANY, count=st.integers(0, 12))
    def meet(self, which: int, place: str, zombie: int, count: int) -> None:
        """A zombie wakes while its successor is in the middle of something."""
        woken = self.zombie(zombie)
        self.step_to(self.worker(which).process, place, 1)
        for _ in range(count):
            woken.step()
        self.finish_leases()

    @precondition(lambda self: self.rounds())
    @rule(which=ANY, fault=FAULTS)
    def step_round(self, which: int, fault: Fault | None) -> None:
        rounds = self.rounds()
        rounds[which % len(rounds)].step(fault)

    # time
    @rule(ms=st.sampled_from([50, 300, 1_200, 1_200, 4_000, 61_000, 8 * DAY_MS]))
    def pass_time(self, ms: int) -> None:
        """Up to transactions that time out, and ids that expire."""
        self.cluster.clock.time_ms += ms

    @invariant()
    def each_record_is_seen_once_and_in_order(self) -> None:
        type(self).steps_taken += 1
        self.records.look()

    def teardown(self) -> None:
        try:
            self.drain()
            before = self.snapshot()
            for zombie in self.cluster.zombies():
                zombie.run()
            for driver in self.cluster.drivers[1:]:
                driver.finish()
            self.cluster.kafka.settle()
            self.records.look()
            assert self.snapshot() == before, "a zombie has changed something"
        finally:
            self.cluster.close()

    def drain(self) -> None:
        """No faults any more; one driver leads, and works until everything has arrived."""
        cluster = self.cluster
        cluster.kafka.slow_markers = False
        cluster.elect(0)
        for driver in cluster.drivers:
            driver.hears()
        driver = cluster.drivers[0]
        for turn in range(DRAIN_TURNS):
            driver.finish()
            if turn == 5:
                driver.herder.put(CONNECTOR, properties(2, INPUTS))
                driver.herder.set_target(CONNECTOR, TargetState.STARTED)
            for process in [*self.rounds(), *(one.process for one in cluster.live() if one.driver is driver)]:
                process.run()
            self.records.look()
            if turn > 8 and not self.records.missing() and not driver.herder.view().state.leases:
                return
            cluster.clock.time_ms += 250
        view = driver.herder.view()
        missing = sorted(self.records.missing())
        raise AssertionError(f"missing {missing}\ntrouble {view.trouble} {view.troubles}\n{view.state}")

    def snapshot(self) -> object:
        """Everything that a zombie could change."""
        kafka = self.cluster.kafka
        records = {topic: kafka.read(topic) for topic in (OUTPUT, LETTERS)}
        return records, kafka.offsets(f"connect-{CONNECTOR}")

    def driver(self, which: int) -> Driver:
        return self.cluster.drivers[which % len(self.cluster.drivers)]

    def leader(self) -> Driver:
        return next(one for one in self.cluster.drivers if one.number == self.cluster.elected)

    def worker(self, which: int) -> Worker:
        live = self.cluster.live()
        return live[which % len(live)]

    def zombie(self, which: int) -> Process:
        zombies = self.cluster.zombies()
        return zombies[which % len(zombies)]

    def rounds(self) -> list[Process]:
        return [one for one in self.cluster.rounds if not one.is_over]


def properties(tasks: int, topics: tuple[str, ...]) -> dict[str, str]:
    return {"connector.class": "KafkaSink", "topics": ",".join(topics), "tasks.max": str(tasks)}


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
@examples(100, 300)
def test_each_record_arrives_once_whatever_happens_to_a_cluster_in_any_order(count: int) -> None:
    AnyCluster.steps_taken = 0
    run_state_machine_as_test(
        AnyCluster,
        settings=settings(
            max_examples=count,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert AnyCluster.steps_taken >= count * LEAST_STEPS
