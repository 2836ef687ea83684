"""Two drivers in one world: one leads, the other stands by, and no write of a former leader arrives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from engine.errors import AbortableError, Conflict, EngineError, FatalError, Fenced, NotLeading, RetriableError
from engine.herder.herder import Herder
from engine.herder.leadership import PLACELESS_MS, LeaderProducer
from engine.leases import LeaseEnd
from engine.record.record import TopicPartition
from engine.rest import bodies
from tests import fakes
from tests.engine.herder.world import Election, World, ask, turn

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
        self.world.now += PLACELESS_MS + 1

    def written(self) -> list[bytes | None]:
        return [row.key for row in self.world.config_log.log[TopicPartition("configs", 0)]]


@pytest.fixture
def two() -> Two:
    return Two()


def test_the_second_driver_stands_by_and_says_where_the_first_is(two: Two) -> None:
    view = two.two.view()
    assert (view.standby, view.leader_url, view.ready) == (True, "http://w:1", False)
    assert bodies.health(view)["status"] == "standby"
    with pytest.raises(NotLeading, match="http://w:1"):
        ask(two.two, partial(two.two.put, "c", PROPERTIES))


def test_a_driver_that_knows_no_leader_is_starting() -> None:
    world, election = World(), Election()
    election.won = False
    herder = world.herder(election)
    turn(herder)
    assert bodies.health(herder.view())["status"] == "starting"
    with pytest.raises(Conflict, match="starting"):
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
    assert (two.one.leads(), two.two.leads()) == (False, True)


def test_no_write_of_a_former_leader_arrives(two: Two) -> None:
    """Its election tells it nothing; its producer does (KIP-618, leader access to config topic)."""
    two.swap()
    before = two.written()
    with pytest.raises(NotLeading):
        ask(two.one, partial(two.one.put, "c", PROPERTIES))
    assert two.written() == before
    assert (two.one.leads(), two.one.view().standby) == (False, True)


def test_a_leader_that_the_group_lost_sight_of_goes_on_until_another_leads(two: Two) -> None:
    """A broker that was restarted asks its members to join again; nothing needs to stop for that."""
    turn(two.one)
    two.first.won = False
    two.world.now += PLACELESS_MS
    turn(two.one)
    assert two.one.leads()
    two.swap()
    turn(two.one)
    assert (two.one.leads(), two.two.leads()) == (False, True)


def test_what_was_seen_last_stays_while_nobody_leads(two: Two) -> None:
    """As when the brokers are away for longer than a membership lasts."""
    ask(two.one, partial(two.one.put, "c", PROPERTIES))
    two.lose()
    turn(two.one, 3)
    view = two.one.view()
    assert (view.names(), view.is_seen, bodies.health(view)["status"]) == (["c"], True, "standby")
    two.swap()
    turn(two.one)
    assert (two.one.view().names(), two.one.view().is_seen) == ([], False)


def test_a_former_leader_steps_down_at_its_next_heartbeat(two: Two) -> None:
    two.swap()
    two.first.confirmed = False
    two.world.now += 3000
    turn(two.one)
    assert not two.one.leads()
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
    assert two.two.leads()


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
    assert not losing.leads()


def test_who_leads_again_knows_what_failed_while_it_led_before(two: Two) -> None:
    ask(two.one, partial(two.one.put, "c", PROPERTIES))
    turn(two.one)
    two.world.end(LeaseEnd.FAILED, trace="Traceback …")
    turn(two.one)
    two.lose()
    turn(two.one)
    assert not two.one.leads()
    two.first.won = True
    turn(two.one, 2)
    [task] = two.one.view().tasks("c")
    assert (two.one.leads(), task.trace) == (True, "Traceback …")
    assert two.world.statuses()["status-task-c-0"]["state"] == "FAILED"


def test_leases_of_a_former_leader_are_asked_to_stop_and_not_granted_again_before_they_end(two: Two) -> None:
    ask(two.one, partial(two.one.put, "c", PROPERTIES))
    turn(two.one)
    [lease_id] = two.world.leases
    two.lose()
    turn(two.one)
    assert [task.connector for task in two.one.view().state.leased()] == ["c"]
    two.first.won = True
    turn(two.one, 2)
    assert two.one.leads()
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
    assert herder.leads()
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
    assert herder.leads()
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
    assert not herder.leads()
    turn(herder)
    assert herder.leads()
    assert two.world.config().connectors["d"].properties == {"name": "d", "topics": "t"}


def test_stopping_leaves_the_group(two: Two) -> None:
    two.one.stop()
    two.one.run()
    assert two.first.closed
    assert two.world.config().leader.worker_id == ""


class Client(fakes.Producer):
    """A transactional client that meets an error in one of its calls, as often as it says."""

    def __init__(self, call: str = "", *errors: EngineError) -> None:
        super().__init__()
        self.call, self.errors = call, list(errors)
        self.calls: list[str] = []

    def init(self) -> None:
        self._do("init")

    def begin(self) -> None:
        self._do("begin")

    def flush(self) -> None:
        self._do("flush")

    def commit(self) -> None:
        self._do("commit")
        self.records += self.queue
        self.queue = []

    def abort(self) -> None:
        self._do("abort")
        self.queue = []

    def close(self) -> None:
        self._do("close")

    def _do(self, call: str) -> None:
        self.calls.append(call)
        if call == self.call and self.errors:
            raise self.errors.pop(0)


def leading(client: Client) -> LeaderProducer:
    producer = LeaderProducer(lambda: client)  # type: ignore[arg-type, return-value] # a fake
    producer.take_over()
    client.calls.clear()
    return producer


def write(producer: LeaderProducer, *keys: bytes) -> None:
    for key in keys:
        producer.produce("configs", key, b"{}", partition=0)
    producer.flush()


def test_each_write_is_a_transaction_and_its_records_arrive_together() -> None:
    client = Client()
    producer = leading(client)
    write(producer, b"a", b"b")
    write(producer, b"c")
    write(producer)
    assert client.calls == ["begin", "flush", "commit"] * 2
    assert [key for _, key, _, _, _ in client.records] == [b"a", b"b", b"c"]


def test_a_commit_that_is_not_answered_is_asked_for_again_and_finished_before_the_next_write() -> None:
    late = RetriableError("timed out")
    client = Client("commit", late, late, late)
    producer = leading(client)
    with pytest.raises(RetriableError):
        write(producer, b"a", b"b")
    assert client.calls == ["begin", "flush", "commit", "commit"]
    write(producer, b"c")
    assert client.calls[4:] == ["commit", "commit", "begin", "flush", "commit"]
    assert [key for _, key, _, _, _ in client.records] == [b"a", b"b", b"c"]


def test_a_record_that_is_lost_on_its_way_is_aborted_and_the_leader_goes_on() -> None:
    client = Client("flush", AbortableError("timed out"))
    producer = leading(client)
    with pytest.raises(RetriableError):
        write(producer, b"a")
    assert client.calls == ["begin", "flush", "abort"]
    write(producer, b"b")
    assert [key for _, key, _, _, _ in client.records] == [b"b"]


def test_an_abort_that_is_not_answered_is_finished_first() -> None:
    client = Client("abort", RetriableError("timed out"))
    producer = leading(client)
    client.call, client.errors = "flush", [AbortableError("lost")]
    original = client.abort
    client.abort = failing_once(original)  # type: ignore[method-assign] # of a fake
    with pytest.raises(RetriableError):
        write(producer, b"a")
    write(producer, b"b")
    assert client.calls == ["begin", "flush", "abort", "begin", "flush", "commit"]


def failing_once(call: Callable[[], None], error: EngineError | None = None) -> Callable[[], None]:
    left = [error or RetriableError("timed out")]

    def wrapped() -> None:
        if left:
            raise left.pop()
        call()

    return wrapped


def test_a_client_that_can_not_even_abort_ends_the_leadership() -> None:
    """As when its id expired while a record was under way: it would never write again."""
    expired = AbortableError("the transactional id has expired")
    client = Client("abort", expired)
    client.flush = failing_once(client.flush, expired)  # type: ignore[method-assign] # of a fake
    with pytest.raises(Fenced, match="expired"):
        write(leading(client), b"a")


@pytest.mark.parametrize("error", [Fenced("taken over"), FatalError("beyond repair")])
@pytest.mark.parametrize("call", ["begin", "flush", "commit"])
def test_whatever_ends_the_client_ends_the_leadership(call: str, error: EngineError) -> None:
    with pytest.raises(Fenced):
        write(leading(Client(call, error)), b"a")


def test_nobody_writes_before_taking_over_or_after_letting_go() -> None:
    client = Client()
    with pytest.raises(Fenced):
        write(LeaderProducer(lambda: client), b"a")  # type: ignore[arg-type, return-value] # a fake
    producer = leading(client)
    producer.let_go()
    with pytest.raises(Fenced):
        write(producer, b"a")


def test_a_client_that_can_not_take_over_is_closed() -> None:
    client = Client("init", RetriableError("no coordinator"))
    with pytest.raises(RetriableError):
        LeaderProducer(lambda: client).take_over()  # type: ignore[arg-type, return-value] # a fake
    assert client.calls == ["init", "close"]
