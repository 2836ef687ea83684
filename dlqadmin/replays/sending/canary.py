"""The state of a replay's canary, computed from the item counters and the committed chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from django.db.models import Count

from dlqadmin.replays.items import item_counters
from dlqadmin.replays.items.item_states import UNSENT
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem
from dlqadmin.replays.sending.pause_rules import Lag, OutcomeTally, Situation, Stop, decide


def situation(replay: Replay, lag: Lag | None = None) -> Situation:
    """Return the input of `decide` for the replay's current state."""
    states = item_counters.states(replay.pk)
    is_canary = replay.step < len(replay.steps)
    return Situation(
        left=sum(states[state] for state in UNSENT),
        since=_since(tally(states), replay.accepted),
        size=replay.steps[replay.step] if is_canary else None,
        step=of_step(replay) if is_canary else OutcomeTally(),
        breaker_percent=replay.breaker_percent,
        max_lag=replay.max_lag,
        lag=lag,
    )


def tally(states: Mapping[str, int]) -> OutcomeTally:
    """Convert item counts by state to a tally. States of unsent items are ignored."""
    found = Counter(states)
    return OutcomeTally(
        found[ItemState.SENT], found[ItemState.PASSED], found[ItemState.FAILED_AGAIN], found[ItemState.UNKNOWN]
    )


def of_step(replay: Replay) -> OutcomeTally:
    """Return the tally of the canary step in progress.

    A chunk never holds records of two steps.
    """
    before = sum(replay.steps[: replay.step])
    chunks = Chunk.objects.filter(replay=replay, state=ChunkState.COMMITTED).order_by("first")
    sent = 0
    # Every chunk has at least one record, so `before` + 1 chunks always suffice.
    for first, records in chunks.values_list("first", "records")[: before + 1]:
        if sent >= before:
            rows = ReplayItem.objects.filter(replay=replay, ordinal__gte=first, sent_at__isnull=False).order_by()
            return tally(dict(rows.values_list("state").annotate(n=Count("pk"))))
        sent += records
    return OutcomeTally()


def is_stopped(replay: Replay) -> bool:
    """Return whether the canary is the reason that the replay paused."""
    decision = decide(situation(replay))
    return isinstance(decision, Stop) and decision.is_canary


def as_sent(replay: Replay) -> list[int]:
    """Return the canary's steps, with the current step cut to the number of records it has sent.

    The current step ends there.
    """
    return [*replay.steps[: replay.step], of_step(replay).sent, *replay.steps[replay.step + 1 :]]


def accepted(replay: Replay) -> dict[str, int]:
    """Return the current outcome counts, to store when a person resumes the replay.

    That person has seen these outcomes, so the breaker counts only later ones.
    """
    states = item_counters.states(replay.pk)
    return {state: states[state] for state in (ItemState.PASSED, ItemState.FAILED_AGAIN, ItemState.UNKNOWN)}


def _since(now: OutcomeTally, before: Mapping[str, int]) -> OutcomeTally:
    def grown(state: ItemState, n: int) -> int:
        return max(0, n - before.get(state, 0))

    return OutcomeTally(
        now.waiting,
        grown(ItemState.PASSED, now.passed),
        grown(ItemState.FAILED_AGAIN, now.failed_again),
        grown(ItemState.UNKNOWN, now.unknown),
    )
