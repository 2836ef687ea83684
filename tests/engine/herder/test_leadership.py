"""Two drivers in one world: one leads, the other stands by, and no write of a former leader arrives."""

from __future__ import annotations

import logging
from functools import partial
from itertools import pairwise

import pytest
from msgspec.structs import replace

from engine.errors import FatalError, NotLeading, RequestConflict
from engine.herder.herder import LEAD_PAUSE_MOST_MS, Herder
from engine.herder.leadership import UNASSIGNED_MS
from engine.record.record import TopicPartition
from engine.rest import bodies
from engine.worker_messages import LeaseEnd
from tests.engine.herder.world import SETTINGS, Election, World, ask, turn

ZERO = TopicPartition("t", 0)
PROPERTIES = {"topics": "t"}


class Two:
    """Drivers `one` and `two`; the first leads."""

    def __init__(self) -> None:
        self.world = World()
        self.world.ends = {ZERO: 5}
        self.first, self.second = Election(), Election()
        self.second.won = False
        self.one = self.world.herder(self.first)
        self.two = self.world.herder(self.second, "w:2")
        turn(self.one)
        turn(self.two)

    def swap(self) -> None:
        """The group elects the second; nobody has told the first yet."""
        self.second.won = True
        turn(self.two)

    def lose(self) -> None:
        """The group has had no place for the first for so long that it is to stop."""
        turn(self.one)
        self.first.won = False
        self.world.now += UNASSIGNED_MS + 1

    def written(self) -> list[bytes | None]:
        return [row.key for row in self.world.config_log.log[TopicPartition("configs", 0)]]


@pytest.fixture
def two() -> Two:
    return Two()


def test_the_second_driver_stands_by_and_says_where_the_first_is(two: Two) -> None:
    view = two.two.view()
    assert (view.standby, view.leader_url, view.ready) == (True, "http://w:1", False)
    assert bodies.health_details(view)["status"] == "standby"
    with pytest.raises(NotLeading, match="http://w:1"):
        ask(two.two, partial(two.two.put, "c", PROPERTIES))


def test_a_driver_that_knows_no_leader_is_starting() -> None:
    world, election = World(), Election()
    election.won = False
    herder = world.started(election)
    assert bodies.health_details(herder.view())["status"] == "starting"
    with pytest.raises(RequestConflict, match="starting"):
        ask(herder, partial(herder.put, "c", PROPERTIES))


def test_a_driver_never_sends_anybody_to_itself(two: Two) -> None:
    """Started again after a crash, it reads its own record as the leader's."""
    election = Election()
    election.won = False
    again = two.world.herder(election)
    turn(again)
    assert again.view().leader_url == ""


def test_a_leader_that_is_not_heard_of_is_nobodys_address(two: Two) -> None:
    two.world.now += 15_001
    turn(two.two)
    assert (two.two.view().standby, two.two.view().leader_url) == (True, "")


def test_the_heartbeat_keeps_the_leader_known(two: Two) -> None:
    for _ in range(10):
        two.world.now += 3000
        turn(two.one)
        turn(two.two)
    assert two.two.view().leader_url == "http://w:1"


def test_the_next_leader_goes_on_where_the_first_was(two: Two) -> None:
    ask(two.one, partial(two.one.put, "c", PROPERTIES))
    turn(two.one)
    two.world.end()
    turn(two.one)
    two.lose()
    turn(two.one)
    two.swap()
    assert two.two.view().names() == ["c"]
    assert two.world.config().leader.epoch == 2
    assert (two.one.is_leading(), two.two.is_leading()) == (False, True)


def test_no_write_of_a_former_leader_arrives(two: Two) -> None:
    """Its election tells it nothing; its producer does (KIP-618, leader access to config topic)."""
    two.swap()
    before = two.written()
    with pytest.raises(NotLeading):
        ask(two.one, partial(two.one.put, "c", PROPERTIES))
    assert two.written() == before
    assert (two.one.is_leading(), two.one.view().standby) == (False, True)


def test_a_leader_that_the_group_lost_sight_of_goes_on_until_another_leads(two: Two) -> None:
    """A broker that was restarted asks its members to join again; nothing needs to stop for that."""
    turn(two.one)
    two.first.won = False
    two.world.now += UNASSIGNED_MS
    turn(two.one)
    assert two.one.is_leading()
    two.swap()
    turn(two.one)
    assert (two.one.is_leading(), two.two.is_leading()) == (False, True)


def test_what_was_seen_last_stays_while_nobody_leads(two: Two) -> None:
    """As when the brokers are away for longer than a membership lasts."""
    ask(two.one, partial(two.one.put, "c", PROPERTIES))
    two.lose()
    turn(two.one, 3)
    view = two.one.view()
    assert (view.names(), view.is_seen, bodies.health_details(view)["status"]) == (["c"], True, "standby")
    two.swap()
    turn(two.one)
    assert (two.one.view().names(), two.one.view().is_seen) == ([], False)


def test_a_former_leader_steps_down_at_its_next_heartbeat(two: Two) -> None:
    two.swap()
    two.first.confirmed = False
    two.world.now += 3000
    turn(two.one)
    assert not two.one.is_leading()
    turn(two.one, 3)
    assert two.world.config().leader.worker_id == "w:2"
    assert two.one.view().leader_url == "http://w:2"


def test_a_driver_that_slept_asks_the_brokers_before_it_fences_its_successor(two: Two) -> None:
    two.swap()
    two.first.confirmed = False
    two.world.now += 3000
    turn(two.one, 5)
    two.world.now += 3000
    turn(two.two)
    assert two.two.is_leading()


def test_a_driver_that_lost_the_election_while_it_took_over_writes_nothing(two: Two) -> None:
    class Losing(Election):
        asked = 0

        def confirms(self) -> bool:
            self.asked += 1
            return self.asked == 1

    losing = two.world.herder(Losing(), "w:3")
    before = two.written()
    turn(losing)
    assert two.written() == before
    assert not losing.is_leading()


def test_who_leads_again_knows_what_failed_while_it_led_before(two: Two) -> None:
    ask(two.one, partial(two.one.put, "c", PROPERTIES))
    turn(two.one)
    two.world.end(LeaseEnd.FAILED, trace="Traceback …")
    turn(two.one)
    two.lose()
    turn(two.one)
    assert not two.one.is_leading()
    two.first.won = True
    turn(two.one, 2)
    [task] = two.one.view().tasks("c")
    assert (two.one.is_leading(), task.trace) == (True, "Traceback …")
    assert two.world.statuses()["status-task-c-0"]["state"] == "FAILED"


def test_leases_of_a_former_leader_are_asked_to_stop_and_not_granted_again_before_they_end(two: Two) -> None:
    ask(two.one, partial(two.one.put, "c", PROPERTIES))
    turn(two.one)
    [lease_id] = two.world.leases
    two.lose()
    turn(two.one)
    assert [task.connector for task in two.one.view().state.leased_tasks()] == ["c"]
    two.first.won = True
    turn(two.one, 2)
    assert two.one.is_leading()
    assert list(two.world.leases) == [lease_id]
    two.world.end(LeaseEnd.FENCED)
    two.world.ends[ZERO] = 9
    turn(two.one, 2)
    [(lease, _)] = two.world.leases.values()
    assert lease.leader_epoch == 2


def test_a_lease_of_a_former_leader_that_does_not_stop_is_cancelled(two: Two) -> None:
    ask(two.one, partial(two.one.put, "c", PROPERTIES))
    turn(two.one)
    two.lose()
    turn(two.one)
    two.world.now += 60_000
    turn(two.one)
    assert two.world.cancelled == ["1-1"]


def test_the_command_lines_connectors_are_written_once(two: Two) -> None:
    election = Election()
    herder = two.world.herder(election, "w:4", initial=[{"name": "c", "topics": "t"}])
    turn(herder)
    ask(herder, partial(herder.put, "c", {"topics": "t", "tasks.max": "2"}))
    election.won = False
    turn(herder)
    election.won = True
    turn(herder)
    properties = two.world.config().connectors["c"].properties
    assert herder.is_leading()
    assert properties is not None
    assert properties["tasks.max"] == "2"


def with_file(two: Two, **file: str) -> tuple[Election, Herder]:
    """A driver that has a connector of its own to write, and stands by."""
    election = Election()
    election.won = False
    herder = two.world.herder(election, "w:4", initial=[{"name": "c", "topics": "t", **file}])
    turn(herder)
    return election, herder


@pytest.mark.parametrize("does", ["changed", "deleted", "nothing"])
def test_who_takes_over_leaves_the_connectors_as_the_leader_before_left_them(two: Two, does: str) -> None:
    ask(two.one, partial(two.one.put, "c", PROPERTIES))
    election, herder = with_file(two, **{"tasks.max": "2"})
    if does == "changed":
        ask(two.one, partial(two.one.put, "c", {**PROPERTIES, "tasks.max": "3"}))
    elif does == "deleted":
        ask(two.one, partial(two.one.delete, "c"))
    two.world.now += 3000
    turn(two.one)
    before = two.world.config().connectors["c"].properties
    election.won = True
    turn(herder)
    assert herder.is_leading()
    assert two.world.config().connectors["c"].properties == before


def test_a_driver_that_waits_for_the_membership_of_one_that_died_writes_its_connectors(two: Two) -> None:
    election, herder = with_file(two)
    two.world.now += 10_000
    turn(herder)
    election.won = True
    turn(herder)
    assert two.world.config().connectors["c"].properties == {"name": "c", "topics": "t"}


def test_connectors_of_the_command_line_that_were_not_written_are_tried_again(two: Two) -> None:
    election, herder = with_file(two, name="d")
    two.world.interrupt = 2  # the leader's record, then this
    election.won = True
    turn(herder)
    assert not herder.is_leading()
    turn(herder)
    assert herder.is_leading()
    assert two.world.config().connectors["d"].properties == {"name": "d", "topics": "t"}


def test_stopping_leaves_the_group(two: Two) -> None:
    two.one.stop()
    two.one.run()
    assert two.first.closed
    assert two.world.config().leader.worker_id == ""


LACKS = "TOPIC_AUTHORIZATION_FAILED; the principal lacks Write on topic configs"


def test_a_driver_that_must_not_write_says_so_once_and_tries_ever_less_often(caplog: pytest.LogCaptureFixture) -> None:
    world, tries = World(), []
    world.unwritable = FatalError(LACKS)
    herder = world.herder(settings=replace(SETTINGS, trouble_ms=1000))
    with caplog.at_level(logging.WARNING):
        for _ in range(600):  # of 200 ms
            before = world.owners.get("connect-cluster-g")
            turn(herder)
            if world.owners.get("connect-cluster-g") is not before:
                tries.append(world.now)
            world.now += 200
    assert [later - earlier for earlier, later in pairwise(tries)] == [
        1000, 2000, 4000, 8000, 16_000, 32_000,
    ]  # fmt: skip
    assert [line for line in caplog.messages if LACKS in line] == [
        f"this driver can't lead; next attempt in 1000 ms: the leader's producer can't be used any more: {LACKS}"
    ]
    health = bodies.health_details(herder.view())
    assert (health["status"], LACKS in health["trouble"]) == ("degraded", True)
    with pytest.raises(RequestConflict, match="lacks Write on topic configs"):
        ask(herder, partial(herder.put, "c", PROPERTIES))
    world.unwritable = None
    world.now += LEAD_PAUSE_MOST_MS
    turn(herder)
    assert bodies.health_details(herder.view())["status"] == "ok"


def test_a_leader_that_loses_its_right_to_write_says_so(two: Two) -> None:
    two.world.unwritable = FatalError(LACKS)
    two.world.now += 3000  # the next heartbeat
    turn(two.one, 2)
    assert LACKS in bodies.health_details(two.one.view())["trouble"]
    two.world.unwritable = None
    two.first.won = False
    two.swap()
    turn(two.one)
    assert bodies.health_details(two.one.view())["status"] == "standby"
