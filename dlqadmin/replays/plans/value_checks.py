"""The search for values that their reader's converter can't read, up to a limit."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from dlqadmin.replays.plans.item_choice import Decided
from dlqadmin.replays.plans.selection_reader import values
from dlqadmin.replays.plans.targets import Targets

MOST = 20_000  # values that are checked for one plan
MOST_BYTES = 64_000_000
LARGE_BYTES = 1_000_000  # larger values are not checked
JSON = "JsonConverter"


class Looked:
    """The number of checked values, and the connectors that read them."""

    def __init__(self) -> None:
        self.count = 0
        self.wanted = 0
        self.readers: set[str] = set()
        self._bytes = 0

    def not_json(self, found: Sequence[Decided], targets: Targets) -> set[int]:
        """Return the dead letters with a value that their watched connector can't read as JSON."""
        read_as_json = [row for row in found if not row.reason and self._json_reader(row, targets)]
        self.wanted += len(read_as_json)
        bad = {
            row.candidate.dead_letter
            for row in read_as_json
            if row.candidate.edited is not None and not _is_json(row.candidate.edited.value)
        }
        self.count += sum(1 for row in read_as_json if row.candidate.edited is not None)
        sizes = {
            row.candidate.dead_letter: size
            for row in read_as_json
            if row.candidate.edited is None and self._takes(size := row.candidate.value_size or 0)
        }
        return bad | {pk for pk, value in values(sizes) if not _is_json(value)}

    def _json_reader(self, row: Decided, targets: Targets) -> bool:
        one = row.candidate
        name = targets.watched(one.target, one.connector)
        reader = next((reader for reader in targets.by_name[one.target].readers if reader.name == name), None)
        if reader is None or not reader.value_converter.endswith(JSON):
            return False
        self.readers.add(name)
        return True

    def _takes(self, size: int) -> bool:
        if self.count >= MOST or self._bytes + size > MOST_BYTES or size > LARGE_BYTES:
            return False
        self.count += 1
        self._bytes += size
        return True


def _is_json(value: bytes | None) -> bool:
    if value is None:
        return True  # a null value is valid for the converter
    try:
        orjson.loads(value)
    except orjson.JSONDecodeError:
        return False
    return True
