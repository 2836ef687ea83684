"""How far the index has read dead letter topics, up to ends that were seen after a commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec
from django.conf import settings

from dlqadmin.deadletters.models import IndexPosition
from dlqadmin.replays.models import IndexGoal
from dlqadmin.replays.outcome.readers import Offsets, left

Partition = tuple[str, int]
LOOKS, LOOK_S = 10, 0.1  # at an index that is about to catch up


class Reach(msgspec.Struct, frozen=True):
    """What the index has not read of a topic, up to the ends that were seen just now.

    `moved_at` is when it was last heard of the slowest partition. A busy topic has new ends at every look:
    what was committed past before `covered` is sealed all the same, by earlier ends that the index has reached.
    """

    behind: int = 0
    moved_at: datetime | None = None
    covered: datetime | None = None

    def behind_of(self, since: datetime | None) -> int:
        """The same for what is known since then to be committed past."""
        return 0 if since and self.covered and since < self.covered else self.behind


def positions(topics: Mapping[str, int]) -> dict[Partition, IndexPosition]:
    """Where the index is in these topics."""
    rows = IndexPosition.objects.filter(cluster=settings.CLUSTER, topic__in=topics)
    return {(row.topic, row.partition): row for row in rows}


def reach(
    topics: Mapping[str, int],
    ends: Offsets,
    begins: Offsets,
    before: Mapping[Partition, IndexPosition],
    now: datetime,
    wait: Callable[[float], None] | None = time.sleep,
) -> dict[str, Reach]:
    """How far the index is with each topic, which has that many partitions; waits a moment for what is under way.

    `before` are the positions from before the ends were asked for: one behind its end was of another topic,
    which had this name before, and nothing of this one is read.
    """
    old = {where: row.position for where, row in before.items() if row.position > ends.get(where, 0)}
    rows, late = _late(topics, ends, begins, old)
    for _ in range(LOOKS if wait else 0):
        if wait is None or not any(late.values()):
            break
        wait(LOOK_S)
        rows, late = _late(topics, ends, begins, old)
    return {
        topic: _reach(topic, {n: late[topic, n] for n in range(count) if late[topic, n]}, rows, ends, now)
        for topic, count in topics.items()
    }


def _late(
    topics: Mapping[str, int], ends: Offsets, begins: Offsets, old: Offsets
) -> tuple[dict[Partition, IndexPosition], dict[Partition, int]]:
    """The positions now, and how much each partition lacks."""
    rows = positions(topics)
    known = {where: row.position for where, row in rows.items() if row.position != old.get(where)}
    places = [(topic, number) for topic, count in topics.items() for number in range(count)]
    return rows, {where: left(where, known, ends, begins) for where in places}


def _reach(
    topic: str, late: Mapping[int, int], rows: Mapping[Partition, IndexPosition], ends: Offsets, now: datetime
) -> Reach:
    if not late:
        return Reach()
    heard = [rows[topic, number].updated_at for number in late if (topic, number) in rows]
    return Reach(
        behind=sum(late.values()),
        moved_at=min(heard) if len(heard) == len(late) else None,
        covered=_covered(
            topic,
            {number: row.position for (name, number), row in rows.items() if name == topic},
            {number: end for (name, number), end in ends.items() if name == topic},
            now,
        ),
    )


def _covered(topic: str, known: Mapping[int, int], ends: Mapping[int, int], now: datetime) -> datetime | None:
    """When the ends were noted that the index has reached; the present ones are its next goal then."""
    goal, fresh = IndexGoal.objects.get_or_create(topic=topic, defaults={"ends": ends, "noted_at": now})
    wanted = {} if fresh else {int(number): end for number, end in goal.ends.items()}
    anew = any(ends.get(number, 0) < end for number, end in wanted.items())
    reached = all(known.get(number, 0) >= end for number, end in wanted.items())
    if anew or reached:
        IndexGoal.objects.filter(topic=topic, noted_at=goal.noted_at).update(ends=ends, noted_at=now)
    return goal.noted_at if reached and not (anew or fresh) else None
