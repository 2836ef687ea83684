"""How far the readers of a replay's targets are behind, while it sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from dlqadmin.broker import topics
from dlqadmin.replays.models import ItemCount, Replay
from dlqadmin.replays.sending.deciding import Lag

LOOK_S = 2.0
Ask = Callable[[str, Sequence[str]], int]  # records of these topics in front of a group


class Watch:
    """The lag of the slowest of a replay's groups, asked for every two seconds, and only where it is limited."""

    def __init__(self, replay: Replay, ask: Ask = topics.lag, clock: Callable[[], float] = time.monotonic) -> None:
        self._replay = replay
        self._ask = ask
        self._clock = clock
        self._looked: float | None = None
        self._lag: Lag | None = None
        self._groups: Sequence[str] = ()

    def now(self) -> Lag | None:
        """None where no limit is set, or nobody is watched. Raises BrokerUnavailable."""
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
    """The consumer groups whose outcome counts: those of the engine's connectors, and what a person named."""
    watched = ItemCount.objects.filter(replay=replay).exclude(watched="").values_list("watched", flat=True)
    # Who is no connector of the engine is named with what it is, as `group:billing`.
    engine = {f"connect-{name}" for name in watched if ":" not in name}
    return sorted({*engine, *(name.partition(":")[2] for name in watched if ":" in name), *replay.watch})
