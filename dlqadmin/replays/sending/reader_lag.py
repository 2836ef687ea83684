"""The lag of the consumer groups that read a replay's targets, measured while it sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from dlqadmin.broker import topics
from dlqadmin.replays.models import ItemCount, Replay
from dlqadmin.replays.sending.pause_rules import Lag

LOOK_S = 2.0
Ask = Callable[[str, Sequence[str]], int]  # topics and group → records that the group has still to read


class Watch:
    """The highest lag among a replay's consumer groups.

    It is measured every two seconds, and only for replays with a lag limit.
    """

    def __init__(self, replay: Replay, ask: Ask = topics.lag, clock: Callable[[], float] = time.monotonic) -> None:
        self._replay = replay
        self._ask = ask
        self._clock = clock
        self._looked: float | None = None
        self._lag: Lag | None = None
        self._groups: Sequence[str] = ()

    def now(self) -> Lag | None:
        """Return the lag of the slowest group.

        None if the replay has no lag limit, or if no group is watched. Raises BrokerUnavailable.
        """
        replay, now = self._replay, self._clock()
        if replay.max_lag is None or not replay.topic_ids:
            return None
        if self._looked is None or now - self._looked > LOOK_S:
            self._groups = self._groups or groups(replay)
            lags = [Lag(group, self._ask(group, sorted(replay.topic_ids))) for group in self._groups]
            self._lag = max(lags, key=lambda lag: lag.records, default=None)
            self._looked = now
        return self._lag


def groups(replay: Replay) -> list[str]:
    """Return the consumer groups whose outcome counts.

    These are the groups of the engine's connectors, and the groups that a person named.
    """
    watched = ItemCount.objects.filter(replay=replay).exclude(watched="").values_list("watched", flat=True)
    # Readers outside the engine are stored with their kind, such as `group:billing`.
    engine = {f"connect-{name}" for name in watched if ":" not in name}
    return sorted({*engine, *(name.partition(":")[2] for name in watched if ":" in name), *replay.watch})
