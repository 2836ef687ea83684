"""The template of KIP-691, step by step, over the broker in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.errors import Aborted, FailureType, ProduceFailed
from engine.exactly_once.buffered import Buffered, Written
from engine.exactly_once.transaction import MOST_BYTES, MOST_RECORDS
from tests.engine.exactly_once.rig import T0, TOO_LARGE_FOR_THE_BROKER, TOO_LARGE_FOR_THE_CLIENT, Rig
from tests.support.fake_kafka import Fault


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
    rig = Rig()
    rig.faults("produce", Fault.AFTER)
    with pytest.raises(ProduceFailed):
        rig.flush(b"1")
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
    rig = Rig()
    rig.flush(b"1")
    rig.transaction.close()
    rig.transaction.close()
    assert rig.kafka.end_offset(T0) == 2


def test_what_was_flushed_can_be_taken_back_in_part() -> None:
    rig = Rig()
    rig.flush(b"1", b"2", b"3")
    rig.transaction.replace(1, [Written("t", None, b"4", (), None, None)])
    rig.commit()
    assert (rig.seen, rig.checks) == ([b"1", b"4"], 1)


def test_records_given_together_keep_their_place_and_are_written_again_with_the_others() -> None:
    rig = Rig()
    rig.transaction.produce("t", None, b"1")
    rig.transaction.produce_all([Written("t", None, b"2", (), None, None), ("t", None, b"3", (), None, None)])
    rig.transaction.produce("t", None, b"4")
    rig.transaction.flush()
    assert rig.transaction.flushed == 4
    rig.transaction.replace(4, ())
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
    letters = Buffered(rig.transaction)
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
