"""Records of a dead letter topic obey the rules for their origin topic."""

from __future__ import annotations

import base64

import pytest
from django.utils import timezone
from msgspec import json

from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.masking.models import MaskingRule
from dlqadmin.topics.record_documents import part_bytes, record_document
from tests.dlqadmin.conftest import person
from tests.dlqadmin.deadletters.letters import letter

SECRET = b"Zx9secret4711"


@pytest.mark.django_db
@pytest.mark.parametrize("pattern", ["usgs.earthquakes", "all.dlq"])
def test_a_rule_for_the_origin_topic_holds_in_the_dead_letter_topic(pattern: str) -> None:
    MaskingRule.objects.create(
        topics=[pattern], kind="json path", field="$.ssn", show="nothing", created_at=timezone.now(),
        changed_at=timezone.now(),
    )  # fmt: skip
    record = letter(1, topic="all.dlq", value=b'{"ssn": "%s"}' % SECRET, key=b"k", headers=(("h", SECRET),))
    reader = reader_of(person("masked", "operator"))
    shown = json.encode(record_document(record, reader))
    assert SECRET not in shown
    assert base64.b64encode(SECRET) not in shown
    assert part_bytes(record, "value", reader) == b'{"ssn": "***"}'
