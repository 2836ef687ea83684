"""The queue of values that name a schema, with a registry that a test stands for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from dlqadmin.deadletters.index import decoded_values
from dlqadmin.deadletters.index.removal import remove
from dlqadmin.deadletters.models import DecodedValue, QueuedDecoding
from engine.schemas.framing import SchemaFrame
from engine.schemas.registry import SchemaText
from tests.dlqadmin.deadletters.letters import index_one, letter

pytestmark = pytest.mark.django_db

VALUE = b"\0\0\0\0\x2a\x06Ada"


class Registry:
    """Has one schema, and does something else while it is asked."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._meanwhile = meanwhile

    def schema(self, frame: SchemaFrame) -> SchemaText:
        self._meanwhile()
        return SchemaText(42, "AVRO", '"string"')


def test_without_a_registry_values_wait_unread_and_hold_no_search_up(settings: Settings) -> None:
    settings.SCHEMA_REGISTRIES = {}
    index_one(letter(1, value=VALUE))
    assert decoded_values.decode_due(timezone.now() + timedelta(days=1)) == (0, 0)
    assert not decoded_values.has_backlog()
    assert QueuedDecoding.objects.get().tries == 0


def test_a_letter_that_is_removed_while_it_is_decoded_leaves_no_content(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (index_one(letter(offset, value=VALUE)) for offset in (1, 2))
    registry = Registry(lambda: remove([first.pk]))
    monkeypatch.setattr(decoded_values, "registry_of", lambda _cluster: registry)
    assert decoded_values.decode_due(timezone.now() + timedelta(days=1)) == (2, 2)
    assert [(one.dead_letter_id, one.json) for one in DecodedValue.objects.all()] == [(second.pk, b'"Ada"')]
    assert not QueuedDecoding.objects.exists()
