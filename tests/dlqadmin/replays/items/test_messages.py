"""What is sent is what was there: key, value and headers, less what dead letter producers added."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dlqadmin.replays.items.messages import Outgoing, kept, stamped, stripped

BYTES = st.none() | st.binary(max_size=20)
NAMES = st.text(max_size=12) | st.sampled_from(["__connect.errors.topic", "kafka_dlt-exception-fqcn", "dlq.replay.id"])
HEADERS = st.lists(st.tuples(NAMES, BYTES), max_size=6).map(tuple)
FOREIGN = ("__connect.errors.", "kafka_dlt-", "dlq.replay.")


@given(HEADERS)
def test_headers_are_kept_in_order_with_duplicates_and_null_or_named_as_left_off(
    headers: tuple[tuple[str, bytes | None], ...],
) -> None:
    sent = kept(headers, "connect-headers")
    assert sent == tuple(row for row in headers if not row[0].startswith(FOREIGN))
    assert {name for name, _ in headers} == {name for name, _ in sent} | stripped(headers, "connect-headers")


@given(HEADERS)
def test_a_replays_own_headers_are_replaced_and_never_appended(headers: tuple[tuple[str, bytes | None], ...]) -> None:
    once = stamped(headers, "r", "r/0", 1, "dlq/0/1")
    twice = stamped(once, "s", "s/7", 2, "dlq/0/9")
    own = [row for row in twice if row[0].startswith("dlq.replay.")]
    assert own == [
        ("dlq.replay.id", b"s"),
        ("dlq.replay.item", b"s/7"),
        ("dlq.replay.attempt", b"2"),
        ("dlq.replay.letter", b"dlq/0/9"),
    ]


@given(BYTES, BYTES)
def test_the_digest_tells_null_from_empty_and_key_from_value(key: bytes | None, value: bytes | None) -> None:
    same = Outgoing(key, value, ()).digest == Outgoing(value, key, ()).digest
    assert same == (key == value)
    assert Outgoing(None, value, ()).digest != Outgoing(b"", value, ()).digest
    assert Outgoing(key, value, (("a", None),)).digest != Outgoing(key, value, (("a", b""),)).digest
