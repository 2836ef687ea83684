"""The lag of those that read a replay's targets, measured while it sends: consumer groups, and Spark queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from dlqadmin.broker import topics
from dlqadmin.connectors import spark_queries
from dlqadmin.connectors.cluster_responses import clusters_with
from dlqadmin.replays.models import ItemCount, Replay
from dlqadmin.replays.sending.pause_rules import Lag

LOOK_S = 2.0
Ask = Callable[[str, Sequence[str]], int]  # topics and group → records that the group has still to read


class Watch:
    """The highest lag among a replay's consumer groups and Spark queries.

    It is measured every two seconds, and only for replays with a lag limit. A query tells its lag itself.
    """

    def __init__(self, replay: Replay, ask: Ask = topics.lag, clock: Callable[[], float] = time.monotonic) -> None:
        self._replay = replay
        self._ask = ask
        self._clock = clock
        self._looked: float | None = None
        self._lag: Lag | None = None
        self._groups: Sequence[str] = ()

    def now(self) -> Lag | None:
        """Return the lag of the slowest group or query.

        None if the replay has no lag limit, or if nobody is watched. Raises BrokerUnavailable.
        """
        replay, now = self._replay, self._clock()
        if replay.max_lag is None or not replay.topic_ids:
            return None
        if self._looked is None or now - self._looked > LOOK_S:
            self._groups = self._groups or groups(replay)
            lags = [Lag(group, self._ask(group, sorted(replay.topic_ids))) for group in self._groups]
            lags += [Lag(query, spark_queries.lag(query) or 0) for query in _queries(replay)]
            self._lag = max(lags, key=lambda lag: lag.records, default=None)
            self._looked = now
        return self._lag


def groups(replay: Replay) -> list[str]:
    """Return the consumer groups whose outcome counts.

    These are the groups of the engine's connectors, and the groups that a person named.
    """
    watched = set(_watched(replay)) - set(_queries(replay))
    # Readers outside the engine are stored with their kind, such as `group:billing`.
    engine = {f"connect-{name}" for name in watched if ":" not in name}
    return sorted({*engine, *(name.partition(":")[2] for name in watched if ":" in name), *replay.watch})


def _queries(replay: Replay) -> list[str]:
    """Return the Spark queries whose outcome counts. A connector of the same name goes first, as for outcomes."""
    return [name for name in _watched(replay) if spark_queries.is_known(name) and not clusters_with(name)]


def _watched(replay: Replay) -> list[str]:
    rows = ItemCount.objects.filter(replay=replay).exclude(watched="").order_by("watched")
    return list(rows.values_list("watched", flat=True).distinct())
