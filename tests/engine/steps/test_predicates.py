"""Predicates: every row is what Kafka 4.1's own class does."""

from __future__ import annotations

import pytest

from engine.config.connector import read_connector
from engine.config.worker import StepConfig
from engine.errors import ConfigError
from engine.record.record import Record
from engine.record.schema import STRING
from engine.steps.registry import PREDICATES, build_transform

HEADERS = (("h", None, None), ("h", STRING, "x"))


class Answers:
    """A predicate that answers what is in its options."""

    def configure(self, configs: dict[str, str]) -> None:
        self.answer = {"": "", "0": 0, "1": 1, "none": None, "text": "x"}[configs["answer"]]

    def test(self, record: Record) -> object:
        return self.answer


class Learns:
    """A transform, and a predicate, that does something else from the second record on."""

    def configure(self, configs: dict[str, str]) -> None: ...

    def apply(self, record: Record) -> Record | None:
        self.apply = lambda record: None  # type: ignore[method-assign] # as a plugin may
        return record

    def test(self, record: Record) -> bool:
        self.test = lambda record: False  # type: ignore[method-assign] # as a plugin may
        return True


@pytest.mark.parametrize(("transform", "predicate", "passed"), [
    ("Learns", "RecordIsTombstone", [True, False, False]), ("Filter", "Learns", [False, True, True]),
])  # fmt: skip
def test_parts_that_replace_their_own_methods_are_asked_anew(
    transform: str, predicate: str, passed: list[bool]
) -> None:
    names = {"Learns": f"{__name__}.Learns"}
    step = StepConfig("x", names.get(transform, transform), {}, predicate="p", allow=("tests.*",))
    built = build_transform(step, [StepConfig("p", names.get(predicate, predicate), {}, allow=("tests.*",))])
    record = Record("t", 0, 0, None, None)
    assert [built.apply(record) is not None for _ in passed] == passed


@pytest.mark.parametrize(("answer", "holds"), [("", False), ("0", False), ("none", False), ("1", True), ("text", True)])
@pytest.mark.parametrize("negate", [True, False])
def test_an_answer_counts_as_python_takes_it(answer: str, holds: bool, negate: bool) -> None:
    step = StepConfig("x", "Filter", {}, predicate="p", negate=negate)
    transform = build_transform(step, [StepConfig("p", f"{__name__}.Answers", {"answer": answer}, allow=("tests.*",))])
    record = Record("t", 0, 0, None, 1)
    assert (transform.apply(record) is None) == (holds is not negate)


def holds(name: str, options: dict[str, str], record: Record) -> bool:
    predicate = PREDICATES[name]()
    predicate.configure(options)
    found: bool = predicate.test(record)
    return found


@pytest.mark.parametrize(
    ("pattern", "topic", "found"),
    [
        ("t", "t", True), ("t", "tt", False), ("orders-.*", "orders-1", True), ("(?<a>t)\\k<a>", "tt", True),
        ("[a-z&&[^t]]", "t", False), ("\\QA-1\\E", "A-1", True), (" t ", "t", True),
    ],
)  # fmt: skip
def test_a_topic_matches_as_a_whole(pattern: str, topic: str, found: bool) -> None:
    assert holds("TopicNameMatches", {"pattern": pattern}, Record(topic, 0, 0, None, None)) is found


@pytest.mark.parametrize(("name", "found"), [("h", True), ("H", False), ("x", False)])
def test_a_header_is_found_by_name_null_or_not(name: str, found: bool) -> None:
    assert holds("HasHeaderKey", {"name": name}, Record("t", 0, 0, None, None, headers=HEADERS)) is found


@pytest.mark.parametrize(("value", "found"), [(None, True), ("", False), (0, False), ({}, False)])
def test_only_null_is_a_tombstone(value: object, found: bool) -> None:
    assert holds("RecordIsTombstone", {}, Record("t", 0, 0, b"k", value, value_schema=STRING)) is found


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("TopicNameMatches", {}), ("TopicNameMatches", {"pattern": ""}), ("TopicNameMatches", {"pattern": "("}),
        ("HasHeaderKey", {}), ("HasHeaderKey", {"name": ""}), ("RecordIsTombstone", {"name": "x"}),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_problems(name: str, options: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        build_transform(StepConfig("x", "Filter", {}, predicate="p"), [StepConfig("p", name, options)])


@pytest.mark.parametrize("negate", [True, False])
def test_records_are_filtered_where_the_predicate_holds_or_where_not(negate: bool) -> None:
    step = StepConfig("x", "Filter", {}, predicate="p", negate=negate)
    transform = build_transform(step, [StepConfig("p", "RecordIsTombstone", {})])
    passed = [value for value in (None, 5) if transform.apply(Record("t", 0, 0, None, value)) is not None]
    assert passed == ([None] if negate else [5])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"predicate": "p", "negate": "yes"}, "must be true or false"), ({"predicate": "p", "negate": " TRUE "}, None),
        ({"negate": "true"}, "has no predicate to negate; set transforms.x.predicate"), ({"predicate": "p"}, None),
    ],
)  # fmt: skip
def test_negate_is_true_or_false_and_needs_a_predicate(options: dict[str, str], problem: str | None) -> None:
    props = {
        "name": "c", "connector.class": "FileStreamSink", "topics": "t", "file": "f", "transforms": "x",
        "transforms.x.type": "Filter", "predicates": "p", "predicates.p.type": "RecordIsTombstone",
        **{f"transforms.x.{name}": value for name, value in options.items()},
    }  # fmt: skip
    config, problems = read_connector(props)
    assert [(option, text) for option, _, text in problems] == ([("transforms.x.negate", problem)] if problem else [])
    assert config.transforms[0].negate is (options.get("negate", "").strip().lower() == "true")
