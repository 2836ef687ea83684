"""The screens' requests to the index, with varying values."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from benchmarks.failures import FailureKind
from benchmarks.seed import WORDS


def questions(
    get: Callable[[str], Mapping[str, Any]], rng: random.Random, every: Sequence[FailureKind]
) -> dict[str, Callable[[], str]]:
    """Return, by name, functions that make the path of the next request about these kinds. `get` sends one."""
    groups = [row["id"] for row in get("groups?from=now-30d&limit=50")["results"]]
    ids = [row["id"] for row in get("dead-letters?from=now-30d&limit=200")["results"]]
    keys = [row["key_text"] for row in get("dead-letters?from=now-30d&limit=200")["results"] if row["key_text"]]

    def listed(**more: Any) -> str:
        return "dead-letters?" + urlencode({"from": rng.choice(("now-24h", "now-7d", "now-30d")), **more})

    def since(path: str, **more: Any) -> str:
        return f"{path}?" + urlencode({"from": rng.choice(("now-24h", "now-7d", "now-30d")), **more})

    return {
        "overview-summary": lambda: since("metrics/summary"),
        "overview-errors": lambda: since("metrics/errors", by=rng.choice(("exception", "group", "stage", "topic"))),
        "overview-attention": lambda: "metrics/attention",
        "groups": lambda: since("groups", sort=rng.choice(("last_seen", "events"))),
        "group": lambda: since(f"groups/{rng.choice(groups)}"),
        "facets-exact": lambda: since("dead-letters/facets", topic=rng.choice(every).topic),
        "facets-newest": lambda: since("dead-letters/facets", origin_partition=rng.randrange(6)),
        "histogram": lambda: since("dead-letters/histogram", connector=rng.choice(every).connector),
        "records": listed,
        "records-topic": lambda: listed(topic=rng.choice(every).topic),
        "records-connector": lambda: listed(connector=rng.choice(every).connector),
        "records-group": lambda: listed(group=rng.choice(groups)),
        "records-exception": lambda: listed(exception=rng.choice(every).exception_class),
        "records-key": lambda: listed(key=rng.choice(keys)),
        "records-origin": lambda: listed(
            origin_topic=rng.choice(every).origin_topic, origin_partition=rng.randrange(6)
        ),
        "records-rare": lambda: listed(topic=every[0].topic, partition=3, offset=rng.randrange(10**9)),
        "record": lambda: f"dead-letters/{rng.choice(ids)}",
        "text": lambda: listed(q=rng.choice(WORDS)),
        "text-rare": lambda: listed(q=f"{rng.randrange(1, 10**6)} {rng.choice(WORDS)}"),
    }
