"""The members of recent JSON values, as completions of `value.`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
from django.db.models.functions import Coalesce

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.search.member_paths import write_member
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded

SAMPLE = 50  # the newest dead letters whose values are read
MAX_VALUE_BYTES = 64 * 1024
MAX_PATHS, MAX_DEPTH = 2000, 8
TIMEOUT_S = 0.5
MAX_STEP = 60  # characters


def recent_value_paths() -> tuple[Counter[str], int]:
    """Return how many recent values contain each path, as queries name it, and the number of values.

    A path has no step for a list. After the time limit, the result covers the values read so far.
    """
    rows = DeadLetter.objects.order_by("-failed_at", "-id").values_list("value_size", "pk")
    found: Counter[str] = Counter()
    values = 0
    try:
        with bounded(TIMEOUT_S):
            small = [pk for size, pk in rows[:SAMPLE] if size is not None and size <= MAX_VALUE_BYTES]
            bodies = DeadLetter.objects.filter(pk__in=small).values_list(
                Coalesce("decoded__json", "body__value"), flat=True
            )
            for value in bodies.iterator(chunk_size=SAMPLE):
                values += 1
                found.update(_paths(bytes(value or b"")))
    except QueryTimedOut:
        pass
    return found, values


def _paths(value: bytes) -> set[str]:
    """Return the paths to the scalars of a JSON value; none if it is not JSON."""
    try:
        document = orjson.loads(value)
    except orjson.JSONDecodeError:
        return set()
    return {path for _, path in zip(range(MAX_PATHS), _scalars(document), strict=False)}


def _scalars(document: Any) -> Iterator[str]:
    waiting: list[tuple[Any, tuple[str, ...]]] = [(document, ())]
    while waiting:
        held, steps = waiting.pop()
        if isinstance(held, dict) and len(steps) < MAX_DEPTH:
            waiting += [(member, (*steps, name)) for name, member in held.items() if len(name) <= MAX_STEP]
        elif isinstance(held, list):
            waiting += [(element, steps) for element in held[:MAX_PATHS]]
        elif steps and not isinstance(held, dict):
            yield write_member(steps)
