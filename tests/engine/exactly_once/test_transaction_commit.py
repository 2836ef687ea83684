"""What a transaction's commit is worth when no answer comes, and when it is refused."""

from __future__ import annotations

import pytest

from engine.errors import CommitFailed, Fenced, ProduceFailed, RetriableError
from engine.exactly_once.transaction import ATTEMPTS, COMMIT_TIMEOUT_MS
from tests.engine.exactly_once.rig import T0, TOO_LARGE_FOR_THE_BROKER, Rig
from tests.support.fake_kafka import FakeTransactional, Fault


def test_a_commit_finds_what_the_flushes_lost_and_writes_it_again() -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.write(b"2")
    rig.faults("produce", Fault.BEFORE)
    rig.commit()
    assert (rig.seen, rig.checks) == ([b"1", b"2"], 1)


@pytest.mark.parametrize("fault", list(Fault))
def test_a_commit_without_an_answer_is_asked_for_again(fault: Fault) -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.faults("end", fault, None, fault)
    rig.commit()
    assert (rig.seen, rig.checks, len(rig.clients)) == ([b"1"], 0, 1)


def test_a_commit_that_is_never_answered_is_finished_by_the_next_call_and_nothing_is_written_before_that() -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.kafka.faults = lambda call: Fault.BEFORE if call == "end" else None
    began_ms = rig.clock.now_ms()
    with pytest.raises(RetriableError):
        rig.commit(1)
    assert rig.clock.now_ms() - began_ms > COMMIT_TIMEOUT_MS
    with pytest.raises(RetriableError):
        rig.write(b"2")
    rig.kafka.transaction_timeout_ms = 10 * COMMIT_TIMEOUT_MS
    rig.kafka.faults = lambda call: None
    with pytest.raises(Fenced):  # by the broker, which ended it in the meantime
        rig.commit(1)


def test_positions_that_came_after_an_unanswered_commit_are_committed_behind_it() -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.clock.stop_at = rig.clock.now_ms()
    for offset in (1, 2):
        rig.faults("end", Fault.BEFORE)
        with pytest.raises(RetriableError):
            rig.commit(offset)
    rig.commit(2)
    assert (rig.seen, rig.kafka.offsets("g"), rig.checks) == ([b"1"], {T0: 2}, 0)


def test_a_stop_ends_the_wait_for_a_commit() -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.clock.stop_at = rig.clock.now_ms()
    rig.kafka.faults = lambda call: Fault.BEFORE if call == "end" else None
    with pytest.raises(RetriableError):
        rig.commit()
    assert len(rig.clock.waits) == 1


class Refusing(FakeTransactional):
    """Refuses the first commits of all its kind."""

    refusals = ATTEMPTS - 1

    def commit(self) -> None:
        if Refusing.refusals:
            Refusing.refusals -= 1
            raise CommitFailed("not now")
        super().commit()


def test_a_commit_that_is_refused_is_written_again_a_few_times() -> None:
    rig = Rig(client=Refusing)
    rig.flush(b"1")
    rig.commit()
    assert (rig.seen, rig.checks) == ([b"1"], ATTEMPTS - 1)


def test_a_commit_that_is_always_refused_may_be_tried_later() -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.kafka.faults = lambda call: Fault.BEFORE if call == "produce" else None
    rig.write(b"2")
    with pytest.raises(RetriableError):
        rig.commit()
    assert (rig.seen, rig.transaction.is_open) == ([], True)
    rig.kafka.faults = lambda call: None
    rig.commit()
    assert rig.seen == [b"1", b"2"]


def test_positions_without_an_answer_are_written_again_with_all_the_rest() -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.faults("send_offsets", Fault.AFTER)
    with pytest.raises(RetriableError):
        rig.commit(1)
    rig.flush(b"2")
    rig.commit(2)
    assert (rig.seen, rig.kafka.offsets("g")) == ([b"1", b"2"], {T0: 2})


def test_whoever_worked_meanwhile_is_found_before_anything_is_written_again() -> None:
    rig = Rig()
    rig.flush(b"1")

    def somebody_has_worked() -> None:
        raise Fenced("somebody")

    rig.trouble = somebody_has_worked
    with pytest.raises(ProduceFailed):
        rig.flush(TOO_LARGE_FOR_THE_BROKER)
    with pytest.raises(Fenced):
        rig.commit()
    rig.transaction.close()
    assert (rig.seen, rig.kafka.offsets("g"), rig.checks) == ([], {}, 1)


def test_a_successor_fences_at_the_next_call() -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.kafka.transactional("id").init()
    with pytest.raises(Fenced):
        rig.commit()
    rig.transaction.close()
    assert rig.seen == []
