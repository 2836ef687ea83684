"""Where a replay stands with its canary, read from what is counted and from the chunks that were committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from django.db.models import Count

from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem
from dlqadmin.replays.sending import counters
from dlqadmin.replays.sending.deciding import Lag, Situation, Stop, Tally, decide
from dlqadmin.replays.sending.items import UNSENT


def situation(replay: Replay, lag: Lag | None = None) -> Situation:
    """What `decide` asks for, as it is now."""
    states = counters.states(replay.pk)
    is_canary = replay.step < len(replay.steps)
    return Situation(
        left=sum(states[state] for state in UNSENT),
        since=_since(tally(states), replay.accepted),
        size=replay.steps[replay.step] if is_canary else None,
        step=of_step(replay) if is_canary else Tally(),
        breaker_percent=replay.breaker_percent,
        max_lag=replay.max_lag,
        lag=lag,
    )


def tally(states: Mapping[str, int]) -> Tally:
    """Counts of states, as far as they are of records that were sent."""
    found = Counter(states)
    return Tally(
        found[ItemState.SENT], found[ItemState.PASSED], found[ItemState.FAILED_AGAIN], found[ItemState.UNKNOWN]
    )


def of_step(replay: Replay) -> Tally:
    """What became of the records of the step that is under way. A chunk never holds records of two steps."""
    before = sum(replay.steps[: replay.step])
    chunks = Chunk.objects.filter(replay=replay, state=ChunkState.COMMITTED).order_by("first")
    sent = 0
    for first, records in chunks.values_list("first", "records")[: before + 1]:
        if sent >= before:
            rows = ReplayItem.objects.filter(replay=replay, ordinal__gte=first, sent_at__isnull=False).order_by()
            return tally(dict(rows.values_list("state").annotate(n=Count("pk"))))
        sent += records
    return Tally()


def is_stopped(replay: Replay) -> bool:
    """Is it the canary that it was paused for?"""
    decision = decide(situation(replay))
    return isinstance(decision, Stop) and decision.is_canary


def as_sent(replay: Replay) -> list[int]:
    """The steps, the one that is under way with as many as were sent of it: it ends there."""
    return [*replay.steps[: replay.step], of_step(replay).sent, *replay.steps[replay.step + 1 :]]


def accepted(replay: Replay) -> dict[str, int]:
    """The outcomes that there are now: who resumes has seen them, and the breaker counts from there on."""
    states = counters.states(replay.pk)
    return {state: states[state] for state in (ItemState.PASSED, ItemState.FAILED_AGAIN, ItemState.UNKNOWN)}


def _since(now: Tally, before: Mapping[str, int]) -> Tally:
    def grown(state: ItemState, n: int) -> int:
        return max(0, n - before.get(state, 0))

    return Tally(
        now.waiting,
        grown(ItemState.PASSED, now.passed),
        grown(ItemState.FAILED_AGAIN, now.failed_again),
        grown(ItemState.UNKNOWN, now.unknown),
    )
