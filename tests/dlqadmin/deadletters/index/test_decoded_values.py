"""The queue of values that a schema decodes after their rows are written."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from django.utils import timezone
from pytest_django import Settings

from dlqadmin.deadletters.index.decoded_values import decode_due, has_backlog, has_undecoded
from dlqadmin.deadletters.index.removal import remove
from dlqadmin.deadletters.models import DecodedValue, QueuedDecoding
from engine.schemas.framing import SchemaFrame
from engine.schemas.registry import SchemaText
from tests.dlqadmin.deadletters.letters import index_one, letter

pytestmark = [pytest.mark.unit, pytest.mark.django_db]


class FakeRegistry:
    """Answers for schema 2, and does something else meanwhile. Schema 1 fails as nobody foresaw."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._meanwhile = meanwhile

    def schema(self, frame: SchemaFrame) -> SchemaText:
        self._meanwhile()
        if frame.id == 1:
            raise ZeroDivisionError("secret")
        return SchemaText(frame.id, "AVRO", '"int"')


def test_a_value_that_fails_in_an_unforeseen_way_does_not_stop_those_behind_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad, good = (index_one(letter(schema, value=b"\0\0\0\0" + bytes([schema, 0x54]))) for schema in (1, 2))
    with caplog.at_level(logging.ERROR):
        assert decode_due(timezone.now(), "local", FakeRegistry()) == (2, 2)  # type: ignore[arg-type]  # a fake
    assert not has_undecoded()
    assert [(one.dead_letter_id, bytes(one.json)) for one in DecodedValue.objects.all()] == [(good.pk, b"42")]
    assert caplog.messages == [f"the value of dead letter {bad.pk} can't be decoded: ZeroDivisionError"]
    assert "secret" not in caplog.text


def test_without_a_registry_values_wait_unread_and_hold_no_search_up(settings: Settings) -> None:
    settings.SCHEMA_REGISTRIES = {}
    index_one(letter(1, value=b"\0\0\0\0\x02\x54"))
    assert decode_due(timezone.now(), "local", None) == (0, 0)
    assert (has_undecoded(), has_backlog()) == (True, False)
    assert QueuedDecoding.objects.get().tries == 0


def test_a_letter_that_is_removed_while_it_is_decoded_leaves_no_content() -> None:
    first, second = (index_one(letter(offset, value=b"\0\0\0\0\x02\x54")) for offset in (1, 2))
    registry = FakeRegistry(lambda: remove([first.pk]))
    assert decode_due(timezone.now(), "local", registry) == (2, 2)  # type: ignore[arg-type] # a fake
    assert [(one.dead_letter_id, bytes(one.json)) for one in DecodedValue.objects.all()] == [(second.pk, b"42")]
    assert not has_undecoded()
