"""The judgement of the engine's answers, by Kafka Connect's and by `docs/differences.md`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.documented import PAGE, documented, gone, undocumented
from tests.conformance.rest.compare import PREFIX, RestDifference, differences

RECORDED = Path(__file__).with_name("connect_answers.json")
Answers = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The differences by request, those that no row of the page covers, and the patterns that cover none."""

    by_request: Mapping[str, Sequence[RestDifference]]
    unknown: tuple[RestDifference, ...]
    stale: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield what is wrong, and the figures."""
        for one in self.unknown:
            yield f"{one.where}\n    theirs: {_short(one.theirs)}\n    ours:   {_short(one.ours)}"
        yield from (f"docs/differences.md: `{pattern}` differs no longer" for pattern in self.stale)
        count, identical = len(self.by_request), sum(not rows for rows in self.by_request.values())
        other = sum(any(row.where.endswith(" status") for row in rows) for rows in self.by_request.values())
        yield (
            f"\n{count} requests: {identical} identical, {count - identical - other} with the same status, "
            f"{other} with another status; {len(self.unknown)} undocumented differences"
        )


def judge(theirs: Answers, ours: Answers) -> Judgement:
    """Compare the answers to the requests of `ours`."""
    rows = [row for row in documented(PAGE.read_text()) if row.patterns[0].startswith(PREFIX)]
    found = {name: differences(name, theirs[name], ours[name]) for name in ours}
    different = [one for of_request in found.values() for one in of_request]
    unknown = set(undocumented([one.where for one in different], rows))
    return Judgement(
        found,
        tuple(one for one in different if one.where in unknown),
        tuple(gone([one.where for one in different], rows)),
    )


def recorded() -> dict[str, Any]:
    """Return Kafka Connect's recorded answers by the names of the requests."""
    return dict(json.loads(RECORDED.read_text()))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}…"
