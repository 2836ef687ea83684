"""Rules that decide whether a replay continues, waits or pauses itself.

Pure functions: no clock, no database, no Kafka.
"""

from __future__ import annotations

import msgspec

ENOUGH = 20  # outcomes needed before the failure rate counts, unless the canary step is over


class OutcomeTally(msgspec.Struct, frozen=True):
    """Counts of sent records by outcome. `waiting` records have no outcome yet."""

    waiting: int = 0
    passed: int = 0
    failed_again: int = 0
    unknown: int = 0

    @property
    def sent(self) -> int:
        return self.waiting + self.passed + self.failed_again + self.unknown


class Lag(msgspec.Struct, frozen=True):
    """The number of records that a consumer group has still to read."""

    group: str
    records: int


class Situation(msgspec.Struct, frozen=True):
    """The state of a replay, as the input of `decide`.

    - `left`: items that are still to be sent.
    - `since`: the tally of all sent records, without the outcomes from before a person last resumed the replay.
    - `size`: the size of the canary step in progress, None after the canary.
    - `step`: the tally of the records of that step.
    """

    left: int
    since: OutcomeTally = OutcomeTally()
    size: int | None = None
    step: OutcomeTally = OutcomeTally()
    breaker_percent: int | None = None
    max_lag: int | None = None
    lag: Lag | None = None


class Go(msgspec.Struct, frozen=True):
    """Continue. Send at most `most` records before the next decision, or as many as the rate allows if None."""

    most: int | None = None


class Wait(msgspec.Struct, frozen=True):
    """Wait for outcomes: all records of the canary step are sent."""


class Passed(msgspec.Struct, frozen=True):
    """The canary step is over and its records passed. Continue with the next step."""


class Stop(msgspec.Struct, frozen=True):
    """Pause and ask a person.

    `is_canary`: the canary step is the reason. Resuming the replay skips the rest of the step.
    """

    why: str
    is_canary: bool = False


def decide(now: Situation) -> Go | Wait | Passed | Stop:
    """Return the next action of the sender. An unknown outcome does not count as passed."""
    if now.lag is not None and now.max_lag is not None and now.lag.records > now.max_lag:
        return Stop(f"{now.lag.group} has a lag of {now.lag.records} records, more than {now.max_lag}")
    if now.size is not None:
        return _step(now, now.size)
    if _is_broken(now.since, now.breaker_percent, ENOUGH):
        return Stop(f"{_failed(now.since)} records failed again, more than {now.breaker_percent} %")
    return Go()


def _step(now: Situation, size: int) -> Go | Wait | Passed | Stop:
    step, is_sent = now.step, now.step.sent >= size or not now.left
    is_over = is_sent and not step.waiting
    if _is_broken(step, now.breaker_percent, 1 if is_over else ENOUGH):
        return Stop(f"{_failed(step)} canary records failed again", is_canary=True)
    if not is_over:
        return Wait() if is_sent else Go(size - step.sent)
    if step.unknown:
        verb = "has" if step.unknown == 1 else "have"
        return Stop(f"{step.unknown} of {step.sent} canary records {verb} an unknown outcome", is_canary=True)
    return Passed()


def _is_broken(tally: OutcomeTally, percent: int | None, enough: int) -> bool:
    """Return whether too many records failed again, even if all waiting records pass.

    A failure is known as soon as its dead letter is indexed, a pass only after the settle time. So the first outcomes
    are failures, whatever the rate of failures is.
    """
    is_enough = tally.passed + tally.failed_again >= enough
    return percent is not None and is_enough and tally.failed_again * 100 > percent * _judged(tally)


def _judged(tally: OutcomeTally) -> int:
    return tally.passed + tally.failed_again + tally.waiting


def _failed(tally: OutcomeTally) -> str:
    return f"{tally.failed_again} of {_judged(tally)}"
