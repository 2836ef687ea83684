"""The template of KIP-691 step by step, and its commit when no answer comes, over the broker in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.errors import Aborted, CommitFailed, FailureType, GenerationFenced, ProduceFailed, RetriableError
from engine.exactly_once.buffered import BufferedProducer, BufferedRecord
from engine.exactly_once.transaction import ATTEMPTS, COMMIT_TIMEOUT_MS, MOST_BYTES, MOST_RECORDS
from tests.engine.exactly_once.rig import T0, TOO_LARGE_FOR_THE_BROKER, TOO_LARGE_FOR_THE_CLIENT, Rig
from tests.support.fake_kafka import FakeTransactional, Fault


def test_a_transaction_begins_with_its_first_record_and_ends_with_the_commit() -> None:
    rig = Rig()
    assert not rig.transaction.is_open
    rig.flush(b"1", b"2")
    assert (rig.transaction.is_open, rig.seen, rig.transaction.flushed) == (True, [], 2)
    rig.commit()
    assert (rig.transaction.is_open, rig.seen, rig.kafka.offsets("g")) == (False, [b"1", b"2"], {T0: 1})
    rig.write(b"3")
    rig.commit(2)
    assert (rig.seen, rig.kafka.offsets("g"), rig.checks) == ([b"1", b"2", b"3"], {T0: 2}, 0)


def test_positions_are_committed_where_nothing_was_written() -> None:
    rig = Rig()
    rig.commit(7)
    assert rig.kafka.offsets("g") == {T0: 7}


def test_a_transaction_without_positions_commits_its_records() -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.transaction.commit({})
    assert (rig.seen, rig.kafka.offsets("g")) == ([b"1"], {})


def test_a_rejected_record_is_of_all_since_the_last_flush_and_those_before_it_stay() -> None:
    rig = Rig()
    rig.flush(b"1")
    with pytest.raises(ProduceFailed) as raised:
        rig.flush(b"2", TOO_LARGE_FOR_THE_BROKER)
    assert (raised.value.ordinals, raised.value.type) == ((0, 1), FailureType.MESSAGE_REJECTED)
    assert raised.value.guilty == (0, 1)  # nobody knows which of a batch
    rig.flush(b"2")
    rig.commit()
    assert (rig.seen, rig.checks, len(rig.clients)) == ([b"1", b"2"], 1, 2)


def test_a_record_that_the_client_refuses_leaves_the_transaction_alone() -> None:
    rig = Rig()
    with pytest.raises(ProduceFailed) as raised:
        rig.flush(b"1", TOO_LARGE_FOR_THE_CLIENT, b"2")
    assert raised.value.ordinals == (1,)
    rig.commit()
    assert (rig.seen, rig.checks) == ([b"1", b"2"], 0)


def test_what_the_client_refuses_is_counted_from_the_last_flush_also_when_it_is_written_again() -> None:
    rig = Rig()
    rig.flush(b"1", b"2")
    with pytest.raises(ProduceFailed):
        rig.flush(TOO_LARGE_FOR_THE_BROKER)
    with pytest.raises(ProduceFailed) as raised:
        rig.flush(b"3", TOO_LARGE_FOR_THE_CLIENT)
    assert raised.value.ordinals == (1,)
    rig.commit()
    assert rig.seen == [b"1", b"2", b"3"]


def test_a_lost_batch_may_be_written_later() -> None:
    rig = Rig()
    rig.faults("produce", Fault.BEFORE)
    with pytest.raises(ProduceFailed) as raised:
        rig.flush(b"1", b"2")
    assert (raised.value.ordinals, raised.value.type) == ((0, 1), FailureType.DELIVERY_FAILED)
    rig.flush(b"1", b"2")
    rig.commit()
    assert rig.seen == [b"1", b"2"]


def test_a_batch_whose_acknowledgement_was_lost_is_there_once() -> None:
    """T-55, TransactionManagerTest#testDropCommitOnBatchExpiry."""
    rig = Rig()
    rig.faults("produce", Fault.AFTER)
    with pytest.raises(ProduceFailed) as raised:
        rig.flush(b"1")
    assert (raised.value.type, rig.transaction.is_open) == (FailureType.DELIVERY_FAILED, True)
    rig.flush(b"1")
    rig.commit()
    assert rig.seen == [b"1"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda rig: rig.flush(TOO_LARGE_FOR_THE_BROKER),
        lambda rig: rig.flush(TOO_LARGE_FOR_THE_CLIENT),
        lambda rig: (rig.write(TOO_LARGE_FOR_THE_BROKER), rig.commit()),
        lambda rig: (rig.faults("produce", Fault.AFTER), rig.commit()),
        lambda rig: (rig.faults("send_offsets", Fault.AFTER), rig.commit()),
    ],
)
def test_where_nothing_is_kept_a_lost_transaction_is_aborted_and_told(spoil: Callable[[Rig], object]) -> None:
    rig = Rig(keeps=False)
    rig.write(b"1")
    with pytest.raises(Aborted):
        spoil(rig)
    assert (rig.seen, rig.kafka.offsets("g"), rig.transaction.is_open) == ([], {}, False)


def test_an_abort_forgets_what_was_written() -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.write(b"2")
    rig.transaction.abort()
    assert (rig.transaction.is_open, rig.transaction.flushed) == (False, 0)
    rig.flush(b"3")
    rig.commit()
    assert (rig.seen, rig.checks) == ([b"3"], 0)


def test_after_an_abort_without_an_answer_the_id_is_taken_over_again() -> None:
    rig = Rig()
    rig.flush(b"1")
    rig.faults("end", Fault.BEFORE)
    rig.transaction.abort()
    rig.flush(b"2")
    rig.commit()
    assert (rig.seen, rig.checks) == ([b"2"], 1)


def test_closing_aborts() -> None:
    """T-83, SenderTest#testIncompleteTransactionAbortOnShutdown."""
    rig = Rig()
    rig.flush(b"1")
    rig.transaction.close()
    rig.transaction.close()
    assert (rig.kafka.end_offset(T0), rig.seen) == (2, [])


def test_what_was_flushed_can_be_taken_back_in_part() -> None:
    rig = Rig()
    rig.flush(b"1", b"2", b"3")
    rig.transaction.replace_after(1, [BufferedRecord("t", None, b"4", (), None, None)])
    rig.commit()
    assert (rig.seen, rig.checks) == ([b"1", b"4"], 1)


def test_records_given_together_keep_their_place_and_are_written_again_with_the_others() -> None:
    rig = Rig()
    rig.transaction.produce("t", None, b"1")
    rig.transaction.produce_all([BufferedRecord("t", None, b"2", (), None, None), ("t", None, b"3", (), None, None)])
    rig.transaction.produce("t", None, b"4")
    rig.transaction.flush()
    assert rig.transaction.flushed == 4
    rig.transaction.replace_after(4, ())
    rig.transaction.produce_all([("t", None, b"5", (), None, None)])
    rig.commit()
    assert (rig.seen, rig.checks) == ([b"1", b"2", b"3", b"4", b"5"], 1)


@pytest.mark.parametrize("values", [[b"1"] * MOST_RECORDS, [b"x" * (MOST_BYTES - 1), b"x"]], ids=["records", "bytes"])
def test_it_is_full_after_so_many_records_or_bytes(values: list[bytes]) -> None:
    rig = Rig()
    rig.write(*values[:-1])
    before = rig.transaction.is_full
    rig.write(values[-1])
    assert (before, rig.transaction.is_full) == (False, True)
    rig.transaction.abort()
    assert not rig.transaction.is_full


def test_who_buffers_sees_ordinals_of_its_own() -> None:
    rig = Rig()
    letters = BufferedProducer(rig.transaction)
    letters.produce("t", None, b"l1")
    letters.produce("t", None, TOO_LARGE_FOR_THE_CLIENT)
    rig.flush(b"1", b"2")
    with pytest.raises(ProduceFailed) as raised:
        letters.flush()
    assert raised.value.ordinals == (1,)
    letters.flush()
    letters.produce("t", None, b"l3")
    letters.clear()
    letters.flush()
    rig.commit()
    assert rig.seen == [b"1", b"2", b"l1"]


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
    with pytest.raises(GenerationFenced):  # by the broker, which ended it in the meantime
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
        raise GenerationFenced("somebody")

    rig.trouble = somebody_has_worked
    with pytest.raises(ProduceFailed):
        rig.flush(TOO_LARGE_FOR_THE_BROKER)
    with pytest.raises(GenerationFenced):
        rig.commit()
    rig.transaction.close()
    assert (rig.seen, rig.kafka.offsets("g"), rig.checks) == ([], {}, 1)


def test_a_successor_fences_at_the_next_call() -> None:
    """T-109, StreamsProducerTest#shouldThrowTaskMigratedExceptionOnEosCommitWithProducerFenced."""
    rig = Rig()
    rig.flush(b"1")
    rig.kafka.transactional("id").init()
    with pytest.raises(GenerationFenced):
        rig.commit()
    rig.transaction.close()
    assert rig.seen == []
