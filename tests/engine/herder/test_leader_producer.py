"""The leader's own producer: whatever its client answers, its writes arrive together or it leads no more."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.errors import AbortableError, EngineError, FatalError, GenerationFenced, RetriableError
from engine.herder.leadership import LeaderProducer
from tests import fakes


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
    with pytest.raises(GenerationFenced, match="expired"):
        write(leading(client), b"a")


@pytest.mark.parametrize("error", [GenerationFenced("taken over"), FatalError("beyond repair")])
@pytest.mark.parametrize("call", ["begin", "flush", "commit"])
def test_whatever_ends_the_client_ends_the_leadership(call: str, error: EngineError) -> None:
    with pytest.raises(GenerationFenced):
        write(leading(Client(call, error)), b"a")


def test_nobody_writes_before_taking_over_or_after_letting_go() -> None:
    client = Client()
    with pytest.raises(GenerationFenced):
        write(LeaderProducer(lambda: client), b"a")  # type: ignore[arg-type, return-value] # a fake
    producer = leading(client)
    producer.release()
    with pytest.raises(GenerationFenced):
        write(producer, b"a")


def test_a_client_that_can_not_take_over_is_closed() -> None:
    client = Client("init", RetriableError("no coordinator"))
    with pytest.raises(RetriableError):
        LeaderProducer(lambda: client).take_over()  # type: ignore[arg-type, return-value] # a fake
    assert client.calls == ["init", "close"]
