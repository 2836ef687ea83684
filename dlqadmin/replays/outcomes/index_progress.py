"""The index's progress on dead letter topics, up to ends that were seen after a commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from dlqadmin.broker import clusters
from dlqadmin.deadletters.models import IndexPosition
from dlqadmin.replays.models import IndexGoal
from dlqadmin.replays.outcomes.target_readers import Offsets, left

Partition = tuple[str, int]
LOOKS, LOOK_S = 10, 0.1  # number and interval of looks at an index that is about to catch up


class DeadLetterTopicProgress(msgspec.Struct, frozen=True):
    """The number of records of a topic that the index has not read, up to its current ends.

    `moved_at` is the last progress of the slowest partition. A busy topic has new ends at every look. `covered` is the
    time of earlier ends that the index has reached: everything committed past before then is fully indexed.
    """

    behind: int = 0
    moved_at: datetime | None = None
    covered: datetime | None = None

    def behind_of(self, since: datetime | None) -> int:
        """Return the number of unread records that matter for a commit seen at `since`."""
        return 0 if since and self.covered and since < self.covered else self.behind


def positions(topics: Mapping[str, int]) -> dict[Partition, IndexPosition]:
    """Return the index's positions in these topics."""
    rows = IndexPosition.objects.filter(cluster=clusters.current(), topic__in=topics)
    return {(row.topic, row.partition): row for row in rows}


def reach(
    topics: Mapping[str, int],
    ends: Offsets,
    begins: Offsets,
    before: Mapping[Partition, IndexPosition],
    now: datetime,
    wait: Callable[[float], None] | None = time.sleep,
) -> dict[str, DeadLetterTopicProgress]:
    """Return the index's progress on each topic. `topics` maps names to partition counts.

    `wait` is called between looks while the index is catching up, at most LOOKS times. `before` are the positions from
    before the ends were read. Such a position beyond the end belongs to a former topic of the same name, so nothing of
    the new topic is read.
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
    """Return the current positions, and how many records each partition still lacks."""
    rows = positions(topics)
    known = {where: row.position for where, row in rows.items() if row.position != old.get(where)}
    places = [(topic, number) for topic, count in topics.items() for number in range(count)]
    return rows, {where: left(where, known, ends, begins) for where in places}


def _reach(
    topic: str, late: Mapping[int, int], rows: Mapping[Partition, IndexPosition], ends: Offsets, now: datetime
) -> DeadLetterTopicProgress:
    if not late:
        return DeadLetterTopicProgress()
    heard = [rows[topic, number].updated_at for number in late if (topic, number) in rows]
    return DeadLetterTopicProgress(
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
    """Return when the ends were noted that the index has reached.

    The current ends then become the next goal. None if the index has not reached them.
    """
    here = clusters.key(clusters.current())
    goal, fresh = IndexGoal.objects.get_or_create(cluster=here, topic=topic, defaults={"ends": ends, "noted_at": now})
    wanted = {} if fresh else {int(number): end for number, end in goal.ends.items()}
    anew = any(ends.get(number, 0) < end for number, end in wanted.items())
    reached = all(known.get(number, 0) >= end for number, end in wanted.items())
    if anew or reached:
        # Guarded by `noted_at`: another look may have set a newer goal.
        IndexGoal.objects.filter(pk=goal.pk, noted_at=goal.noted_at).update(ends=ends, noted_at=now)
    return goal.noted_at if reached and not (anew or fresh) else None
