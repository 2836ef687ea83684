"""The queue of values that a schema decodes after their rows are written."""

from __future__ import annotations

import logging

import pytest
from django.utils import timezone

from dlqadmin.deadletters.index.decoded_values import decode_due, has_backlog
from dlqadmin.deadletters.models import DecodedValue
from engine.schemas.framing import SchemaFrame
from engine.schemas.registry import SchemaText
from tests.dlqadmin.deadletters.letters import index_one, letter

pytestmark = [pytest.mark.unit, pytest.mark.django_db]


class FakeRegistry:
    """Answers for schema 2. Schema 1 fails as nobody foresaw."""

    def schema(self, frame: SchemaFrame) -> SchemaText:
        if frame.id == 1:
            raise ZeroDivisionError("secret")
        return SchemaText(frame.id, "AVRO", '"int"')


def test_a_value_that_fails_in_an_unforeseen_way_does_not_stop_those_behind_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad, good = (index_one(letter(schema, value=b"\0\0\0\0" + bytes([schema, 0x54]))) for schema in (1, 2))
    with caplog.at_level(logging.ERROR):
        assert decode_due(timezone.now(), FakeRegistry()) == (2, 2)  # type: ignore[arg-type]
    assert not has_backlog()
    assert [(one.dead_letter_id, bytes(one.json)) for one in DecodedValue.objects.all()] == [(good.pk, b"42")]
    assert caplog.messages == [f"the value of dead letter {bad.pk} can't be decoded: ZeroDivisionError"]
    assert "secret" not in caplog.text
