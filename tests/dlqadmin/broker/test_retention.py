from __future__ import annotations

from collections.abc import Sequence

from dlqadmin.broker.retention import KEPT_S, RetentionCache


def test_an_answer_is_as_young_as_whoever_asks_wants_it() -> None:
    now, asked = 100.0, list[Sequence[str]]()

    def ask(names: Sequence[str]) -> dict[str, float]:
        asked.append(names)
        return dict.fromkeys(names, now)

    kept = RetentionCache(ask, lambda: now)
    assert kept.get(["a", "b"]) == {"a": 100.0, "b": 100.0}
    now += 4
    assert kept.get(["a"], 15.0) == {"a": 100.0}
    assert kept.get(["a"], 3.0) == {"a": 104.0}
    assert kept.get(["a", "b"], 15.0) == {"a": 104.0, "b": 100.0}
    now += KEPT_S + 1
    assert kept.get(["b"]) == {"b": now}
    assert asked == [["a", "b"], ["a"], ["b"]]
