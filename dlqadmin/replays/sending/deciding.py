"""Whether a replay goes on, waits, or pauses by itself. Pure: no clock, no database, no Kafka."""

from __future__ import annotations

import msgspec

ENOUGH = 20  # outcomes by which a share of failures means something, while a step is under way


class Tally(msgspec.Struct, frozen=True):
    """Of records that were sent: how many wait for an outcome, and how many have which."""

    waiting: int = 0
    passed: int = 0
    failed_again: int = 0
    unknown: int = 0

    @property
    def sent(self) -> int:
        return self.waiting + self.passed + self.failed_again + self.unknown


class Lag(msgspec.Struct, frozen=True):
    """How many records wait in front of a consumer group."""

    group: str
    records: int


class Situation(msgspec.Struct, frozen=True):
    """Where a replay stands.

    `size` is that of the canary's step that is under way, None past the canary, and `step` what became of its
    records; `since` of all that were sent since a person said last that it is to go on. `left` are still to be sent.
    """

    left: int
    since: Tally = Tally()
    size: int | None = None
    step: Tally = Tally()
    breaker_percent: int | None = None
    max_lag: int | None = None
    lag: Lag | None = None


class Go(msgspec.Struct, frozen=True):
    """Send on: so many at most before it is decided again; None: whatever the rate allows."""

    most: int | None = None


class Wait(msgspec.Struct, frozen=True):
    """The canary's records are sent; their outcomes are awaited."""


class Passed(msgspec.Struct, frozen=True):
    """The canary's step is over, and all is well: on to the next one."""


class Stop(msgspec.Struct, frozen=True):
    """Pause, and ask. `is_canary`: because of the step; who resumes goes past it."""

    why: str
    is_canary: bool = False


def decide(now: Situation) -> Go | Wait | Passed | Stop:
    """What is to be done. What is unknown has not passed."""
    if now.lag is not None and now.max_lag is not None and now.lag.records > now.max_lag:
        return Stop(f"{now.lag.group} has {now.lag.records} records in front of it, more than {now.max_lag}")
    if now.size is not None:
        return _step(now, now.size)
    if _is_broken(now.since, now.breaker_percent, ENOUGH):
        return Stop(f"{_failed(now.since)} records failed again, more than {now.breaker_percent} %")
    return Go()


def _step(now: Situation, size: int) -> Go | Wait | Passed | Stop:
    step, is_sent = now.step, now.step.sent >= size or not now.left
    is_over = is_sent and not step.waiting
    if _is_broken(step, now.breaker_percent, 1 if is_over else ENOUGH):
        return Stop(f"{_failed(step)} of the canary failed again", is_canary=True)
    if not is_over:
        return Wait() if is_sent else Go(size - step.sent)
    if step.unknown:
        verb = "has" if step.unknown == 1 else "have"
        return Stop(f"{step.unknown} of {step.sent} of the canary {verb} an unknown outcome", is_canary=True)
    return Passed()


def _is_broken(tally: Tally, percent: int | None, enough: int) -> bool:
    known = tally.passed + tally.failed_again
    return percent is not None and known >= enough and tally.failed_again * 100 > percent * known


def _failed(tally: Tally) -> str:
    return f"{tally.failed_again} of {tally.passed + tally.failed_again}"
