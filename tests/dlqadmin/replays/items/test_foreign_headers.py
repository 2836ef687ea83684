"""A replay leaves off what frameworks added, and nothing else."""

from __future__ import annotations

import pytest

from dlqadmin.replays.items.messages import kept, stripped
from engine.dialects import read
from engine.record.record import RawRecord
from tests.engine.dialects import foreign_letters as letters

OWN = (("trace", b"1"), ("error", b"of the business"), ("trace", None), ("", b""))


@pytest.mark.parametrize(
    "name", ["SPRING", "SPRING_RETRY", "CLOUD_STREAM", "STREAMS", "SMALLRYE", "KARAFKA", "CONNECT"]
)
def test_the_records_own_headers_stay_identical_and_in_order(name: str) -> None:
    letter: RawRecord = getattr(letters, name)
    added = tuple(header for header in letter.headers if header[0] not in ("trace", "contentType"))
    headers = (OWN[0], *added, *OWN[1:])
    dialect = read(letter).dialect
    assert kept(headers, dialect) == OWN
    assert stripped(headers, dialect) == {header for header, _ in added}


def test_a_replayed_record_starts_with_a_clean_count_of_retries() -> None:
    sent = kept(letters.SPRING_RETRY.headers, "spring-kafka")
    assert sent == ()
