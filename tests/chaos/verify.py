"""What a reader found, against what there should be. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Lane = Hashable  # within a lane the order counts: a partition, a file
Item = Hashable


class Verdict(NamedTuple):
    """Items that are missing, there more than once, of nobody, and behind one that they should be before."""

    lost: tuple[Item, ...] = ()
    doubled: tuple[Item, ...] = ()
    foreign: tuple[Item, ...] = ()
    swapped: tuple[Item, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not any(self)

    def __str__(self) -> str:
        rows = [f"{name}: {_short(items)}" for name, items in self._asdict().items() if items]
        return "; ".join(rows) or "each once, in order"


def judge(expected: Mapping[Any, Sequence[Item]], found: Mapping[Any, Sequence[Item]]) -> Verdict:
    """The verdict over all lanes; each item is named with its lane."""
    verdicts = [
        _named(lane, compare(expected.get(lane, ()), found.get(lane, ()))) for lane in expected.keys() | found.keys()
    ]
    return together(verdicts)


def judge_unordered(expected: Iterable[Item], found: Iterable[Item]) -> Verdict:
    """The verdict where the order does not count."""
    return compare(tuple(expected), tuple(found))._replace(swapped=())


def compare(expected: Sequence[Item], found: Sequence[Item]) -> Verdict:
    """The verdict over one lane. What is expected is expected once."""
    place = {item: number for number, item in enumerate(expected)}
    if len(place) != len(expected):
        raise ValueError("an item is expected twice")
    counts = Counter(found)
    swapped, furthest = [], -1
    for item in dict.fromkeys(found):
        if item in place:
            if place[item] < furthest:
                swapped.append(item)
            furthest = max(furthest, place[item])
    return Verdict(
        lost=tuple(item for item in expected if item not in counts),
        doubled=tuple(item for item, count in counts.items() if count > 1 and item in place),
        foreign=tuple(item for item in counts if item not in place),
        swapped=tuple(swapped),
    )


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict of several."""
    columns = zip(*verdicts, strict=True)
    return Verdict(*(tuple(item for items in column for item in items) for column in columns))


def _named(lane: Lane, verdict: Verdict) -> Verdict:
    return Verdict(*(tuple((lane, item) for item in items) for items in verdict))


def _short(items: Sequence[Item]) -> str:
    shown = ", ".join(map(str, items[:10]))
    return f"{len(items)} ({shown}{', …' if len(items) > 10 else ''})"
