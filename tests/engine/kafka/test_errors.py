from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from engine.errors import EngineError, FatalError, Fenced, OffsetsMissing, ProduceFailed, RetriableError
from engine.kafka.errors import BY_NAME, translate, translated

CODES = {name: code for name, code in vars(KafkaError).items() if name.upper() == name and isinstance(code, int)}


@pytest.mark.parametrize("name", sorted(CODES))
def test_every_code_of_the_client_has_one_class(name: str) -> None:
    ours = translate(KafkaError(CODES[name], "reason"))
    assert isinstance(ours, EngineError)
    assert "reason" in str(ours)


def test_names_in_the_table_are_codes_of_the_client() -> None:
    assert set(BY_NAME) <= set(CODES)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._FENCED, Fenced),
        (KafkaError.REQUEST_TIMED_OUT, RetriableError),
        (KafkaError._AUTO_OFFSET_RESET, OffsetsMissing),
        (KafkaError.MSG_SIZE_TOO_LARGE, ProduceFailed),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, FatalError),
    ],
)
def test_the_class_says_who_is_at_fault(code: int, kind: type[EngineError]) -> None:
    with pytest.raises(kind) as raised, translated():
        raise KafkaException(KafkaError(code, "reason"))
    assert isinstance(raised.value.__cause__, KafkaException)


def test_a_foreign_member_of_the_group_is_explained() -> None:
    assert "another consumer" in str(translate(KafkaError(KafkaError.UNKNOWN_MEMBER_ID, "x")))


def test_bugs_pass_untranslated() -> None:
    with pytest.raises(KeyError), translated():
        raise KeyError("bug")
