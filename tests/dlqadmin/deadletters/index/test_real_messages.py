"""Titles and groups of real messages."""

from __future__ import annotations

import pytest

from dlqadmin.deadletters.index.fingerprint import ComputedFingerprint, fingerprint
from dlqadmin.deadletters.index.group_titles import title
from tests.dlqadmin.deadletters.index.real_messages import MESSAGES, Pairs, RealMessage

NAMES = [f"{row.exception.rpartition('.')[2]}-{number}" for number, row in enumerate(MESSAGES)]
WITH_DATA = [row for row in MESSAGES if row.data]
WITH_FIELD = [row for row in MESSAGES if row.field]


def test_the_corpus_has_many_messages_of_each_kind() -> None:
    assert len(MESSAGES) > 80
    assert len(WITH_DATA) > 45
    assert len(WITH_FIELD) > 45


@pytest.mark.parametrize("row", MESSAGES, ids=NAMES)
def test_the_title_has_exception_field_and_reason(row: RealMessage) -> None:
    made = computed(row)
    assert title(made.exception_class, made.message, made.reason) == row.title


@pytest.mark.parametrize("row", WITH_DATA)
def test_messages_that_differ_in_data_are_one_group(row: RealMessage) -> None:
    assert computed(row, row.data).message == computed(row).message
    assert computed(row, row.data).digest == computed(row).digest


@pytest.mark.parametrize("row", WITH_FIELD)
def test_messages_that_differ_in_field_or_constraint_are_two_groups(row: RealMessage) -> None:
    assert computed(row, row.field).digest != computed(row).digest


def computed(row: RealMessage, changes: Pairs = ()) -> ComputedFingerprint:
    texts = [row.text, *(text for _, text in row.outer)]
    for old, new in changes:
        assert any(old in text for text in texts), old
        texts = [text.replace(old, new) for text in texts]
    outer = [(name, text) for (name, _), text in zip(row.outer, texts[1:], strict=True)]
    return fingerprint(row.exception, "TASK_PUT", texts[0], "", outer)
