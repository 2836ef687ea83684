"""Members and headers of a query that no searched record has, each with a similar member that records have."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.search.documents import AbsentMember
from dlqadmin.deadletters.search.filters import reading_content
from dlqadmin.deadletters.search.member_paths import VALUE
from dlqadmin.deadletters.search.value_paths import recent_value_paths


def absent_members(names: Iterable[str], reader: PayloadReader) -> list[AbsentMember]:
    """Return a document for each of these members. Names of similar members are content, so this is audited."""
    absent = list(names)
    if not any(name.startswith(VALUE) for name in absent):
        return [AbsentMember(name=name, similar=None) for name in absent]
    with reading_content(reader):
        found, values = recent_value_paths()
    reader.note("dead letters", "names of members", {"for": "a member that no record has"}, records=values)
    return [AbsentMember(name=name, similar=_similar(name, list(found))) for name in absent]


def _similar(name: str, known: list[str]) -> str | None:
    """Return the known member most like this one: with the same last step, or a similar path."""
    if not name.startswith(VALUE):
        return None
    last = name.rpartition(".")[2]
    same = [path for path in known if path.rpartition(".")[2].casefold() == last.casefold()]
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return min(same, key=len) if same else close[0] if close else None
