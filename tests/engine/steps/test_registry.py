from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest

from engine.config.connector import read_connector
from engine.config.options import REQUIRED, Option, parse
from engine.config.worker import StepConfig
from engine.errors import ConfigError
from engine.record.record import Record
from engine.steps.processors import build_processor
from engine.steps.registry import CONVERTERS, PREDICATES, TRANSFORMS, build_converter, build_transform, step_problems
from tests.support.permissions import open_worker

MINIMAL = {"name": "c", "connector.class": "FileStreamSink", "topics": "t"}


class NeedsMore:
    def __init__(self, more: str) -> None:
        self.more = more

    def configure(self, configs: dict[str, str], is_key: bool) -> None:
        self.is_key = is_key

    def to_connect(self, topic: str, data: bytes | None, headers: object = ()) -> tuple[None, bytes | None]:
        return None, data

    def from_connect(self, topic: str, schema: object, value: bytes, headers: object = ()) -> bytes:
        return value


def problems_of(**props: str) -> dict[str, str]:
    given = {**MINIMAL, **{name.replace("_", "."): value for name, value in props.items()}}
    config = read_connector(given, open_worker())[0]
    return {option: message for option, _, message in step_problems(config)}


@pytest.mark.parametrize("known", [CONVERTERS, TRANSFORMS, PREDICATES])
def test_every_step_has_its_java_name_and_a_short_one(known: dict[str, object]) -> None:
    short = {name for name in known if "." not in name}
    assert {name.rpartition(".")[2] for name in known if "." in name} == short


@pytest.mark.parametrize("name", ["sys.exit", "sys:exit", "os.abort", "builtins.print", "os.path", "json.JSONDecoder"])
def test_only_classes_that_can_be_configured_are_run(name: str) -> None:
    with pytest.raises(ConfigError, match="must be a class with a configure method"):
        build_converter(StepConfig("value.converter", name, {}, allow=("*",)), is_key=False)


@pytest.mark.parametrize("name", ["", ".", "..", "..a", "a..b", "no.such.Class", "json.No", "org.apache.kafka.Gone"])
def test_a_name_that_leads_nowhere_is_a_problem(name: str) -> None:
    with pytest.raises(ConfigError):
        build_converter(StepConfig("value.converter", name, {}, allow=("*",)), is_key=False)


def test_a_class_that_can_not_be_made_is_a_problem() -> None:
    found = problems_of(value_converter=f"{__name__}.NeedsMore")
    assert "more" in found["value.converter"]


def test_a_predicate_without_its_options_is_a_problem() -> None:
    found = problems_of(predicates="p", predicates_p_type="TopicNameMatches")
    assert found == {"predicates.p.pattern": "is required"}


def test_a_character_set_that_does_not_exist_is_a_problem() -> None:
    found = problems_of(key_converter="StringConverter", key_converter_converter_encoding="utf-99")
    assert found == {"key.converter.converter.encoding": "is not a known character set"}


def test_what_another_converter_would_understand_is_passed_over_and_a_misspelling_is_not() -> None:
    """A worker's or a template's `schemas.enable` stays in many a configuration when only the class is changed."""
    props = {"value_converter": "StringConverter", "value_converter_schemas_enable": "false"}
    assert problems_of(**props) == {}
    step = StepConfig("value.converter", "LongConverter", {"schemas.enable": "false", "converter.encoding": "x"})
    assert build_converter(step, is_key=False).to_connect("t", None)[1] is None
    [(option, message)] = problems_of(**props, value_converter_schema_enable="false").items()
    assert (option, message[:14]) == ("value.converter.schema.enable", "unknown option")


class Strict:
    """Checks its options itself, and names them as it knows them."""

    def configure(self, configs: Mapping[str, str]) -> None:
        parse((Option("spec", "string", REQUIRED, "What to do."),), configs)

    def apply(self, record: Record) -> Record:
        return record

    def process(self, record: Record) -> None: ...


STRICT = f"{__name__}.{Strict.__name__}"


@pytest.mark.parametrize(
    ("make", "option"),
    [
        (lambda: build_transform(step("cast", "transforms.cast.")), "transforms.cast.spec"),
        (lambda: build_processor(step("count", "processors.count.")), "processors.count.spec"),
    ],
    ids=["transform", "processor"],
)
def test_a_task_names_the_option_of_a_step_with_its_whole_prefix(make: Callable[[], object], option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make()
    assert caught.value.problems == ((option, None, "is required"),)


def step(name: str, prefix: str) -> StepConfig:
    return StepConfig(name, STRICT, {}, prefix, allow=("tests.*",))


def test_clients_of_schema_registries_are_imported_at_first_use() -> None:
    shown = "print([name for name in ('httpx2', 'fastavro', 'jsonschema') if name in sys.modules])"
    code = f"import sys, engine.steps.registry; {shown}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
