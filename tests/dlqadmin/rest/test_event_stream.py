from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asgiref.sync import async_to_sync

from dlqadmin.replays.jobs.documents import ItemCounts, ReplaySummary
from dlqadmin.replays.jobs.queries import is_over
from dlqadmin.replays.models import ReplayStatus
from dlqadmin.rest.event_stream import SharedReads, StreamTimes, events


def replay(status: str, waiting: int = 0) -> ReplaySummary:
    counts = ItemCounts(**{**dict.fromkeys(ItemCounts.__struct_fields__, 0), "waiting": waiting})
    others: dict[str, Any] = dict.fromkeys(ReplaySummary.__struct_fields__)
    return ReplaySummary(**{**others, "status": ReplayStatus(status), "counts": counts})


def heard(answers: Sequence[ReplaySummary | None]) -> tuple[list[bytes], float]:
    """What a listener hears while the replay is looked at; the last answer stays. And for how long, in seconds."""
    left, passed = list(answers), [0.0]

    async def look() -> ReplaySummary | None:
        return left.pop(0) if len(left) > 1 else left[0]

    async def sleep(seconds: float) -> None:
        passed[0] += seconds

    async def collect() -> list[bytes]:
        return [event async for event in events("replay", look, is_over, StreamTimes(), lambda: passed[0], sleep)]

    return async_to_sync(collect)(), passed[0]


def test_an_event_comes_whenever_the_replay_changed() -> None:
    said, _ = heard([replay("running", 2), replay("running", 2), replay("running", 1), replay("done")])
    assert [event.split(b'"waiting":')[1][:1] for event in said] == [b"2", b"1", b"0"]
    assert all(event.startswith(b"event: replay\ndata: {") and event.endswith(b"\n\n") for event in said)


def test_it_ends_five_seconds_after_the_replay_is_over() -> None:
    assert heard([replay("cancelled")])[1] == 5.0


def test_a_cancelled_replay_goes_on_while_outcomes_are_awaited() -> None:
    assert heard([replay("cancelled", 1), replay("cancelled", 1), replay("cancelled")])[1] == 6.0


def test_a_comment_every_fifteen_seconds_and_an_end_after_ten_minutes() -> None:
    said, seconds = heard([replay("paused")])
    assert (seconds, len(said), set(said[1:])) == (600.0, 40, {b": still here\n\n"})


def test_a_replay_that_is_gone_ends_the_stream() -> None:
    assert heard([None])[0] == []


def test_many_who_listen_cost_one_look() -> None:
    looks, passed = list[int](), [0.0]

    def read(pk: int) -> ReplaySummary | None:
        looks.append(pk)
        return replay("running", len(looks))

    shared = SharedReads(read, 0.5, lambda: passed[0])
    first = [shared(1) for _ in range(100)]
    assert (looks, first[0] is first[99]) == ([1], True)
    shared(2)
    passed[0] += 0.5
    assert (shared(1), looks) == (replay("running", 3), [1, 2, 1])
