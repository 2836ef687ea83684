"""Steps of somebody else, which may raise anything: that is a problem of the configuration, with the option's name."""

from __future__ import annotations

from typing import Any

import pytest

from engine.config.connector import parse_connector, read_connector
from engine.config.options import Option
from engine.config.worker import StepConfig
from engine.errors import ConfigError
from engine.record.stage import Stage, StageType
from engine.steps import plugins
from engine.steps.handlers import stage_handlers
from engine.steps.processors import build_processor, processor_problems
from engine.steps.registry import build_converter, build_transform, step_problems
from engine.steps.secrets import secret_options
from engine.worker_messages import ConnectorKind
from tests.support.permissions import open_worker

HERE = __name__
MINIMAL = {"name": "c", "connector.class": "FileStreamSink", "topics": "t"}


class Step:
    """Has every method that a step may need."""

    def configure(self, configs: Any, is_key: bool = False) -> None: ...
    def apply(self, record: Any) -> Any: ...
    def test(self, record: Any) -> Any: ...
    def process(self, record: Any) -> Any: ...
    def to_connect(self, topic: str, data: Any, headers: Any = ()) -> Any: ...
    def from_connect(self, topic: str, schema: Any, value: Any, headers: Any = ()) -> Any: ...
    def handle(self, context: Any, record: Any, exception: Any) -> Any: ...


class RaisesInProblems(Step):
    """Its check of options is broken."""

    def problems(self, configs: Any) -> Any:
        return dict[str, Any]()["x"]


class ExitsInProblems(Step):
    """Its check of options ends the process."""

    def problems(self, configs: Any) -> Any:
        raise SystemExit(3)


class OddProblems(Step):
    """Its check of options answers what is no row."""

    def problems(self, configs: Any) -> Any:
        return ["wrong"]


class OddOptions(Step):
    """Its table is none."""

    OPTIONS = ("field",)


class OddTable(Step):
    """Its table can't be gone through."""

    OPTIONS = 7


class BrokenTable(Step):
    """Its table raises."""

    @property
    def OPTIONS(self) -> Any:  # noqa: N802 (Kafka Connect's name)
        raise SystemExit("table")


class BrokenCheck(Step):
    """A row of its table raises."""

    OPTIONS = (Option("field", "string", "", "A field.", lambda value: {}[value]),)


class Exits(Step):
    """Ends the process when it is made."""

    def __init__(self) -> None:
        raise SystemExit("bye")


class Unconfigurable(Step):
    """Can't be configured, and does not say so as it should."""

    def configure(self, configs: Any, is_key: bool = False) -> None:
        raise KeyError("field")


class Leaves(Step):
    """Ends the process when it is configured."""

    def configure(self, configs: Any, is_key: bool = False) -> None:
        raise SystemExit("bye")


class OnlyConfigured:
    """Can do nothing else."""

    def configure(self, configs: Any, is_key: bool = False) -> None: ...


class OneWay(OnlyConfigured):
    """Converts, but not back."""

    def to_connect(self, topic: str, data: Any, headers: Any = ()) -> Any: ...


BROKEN = [RaisesInProblems, ExitsInProblems, OddProblems, OddOptions, OddTable, BrokenTable, BrokenCheck, Exits]


def problems_of(option: str, name: str, **more: str) -> list[tuple[str, str | None, str]]:
    steps = {"transforms": "x", "predicates": "p", "transforms.x.type": "Filter", "transforms.x.predicate": "p"}
    props = {**MINIMAL, **steps, "predicates.p.type": "RecordIsTombstone", option: f"{HERE}.{name}", **more}
    return step_problems(read_connector(props, open_worker())[0])


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("option", ["transforms.x.type", "predicates.p.type", "key.converter", "header.converter"])
def test_whatever_a_step_raises_while_it_is_checked_is_one_problem_of_its_option(kind: type, option: str) -> None:
    prefix = f"{option.removesuffix('type')}." if option.endswith("converter") else option.removesuffix("type")
    [(found, value, _)] = problems_of(option, kind.__name__, **{f"{prefix}field": "a"})
    assert (found, value) == (option, f"{HERE}.{kind.__name__}")


@pytest.mark.parametrize("kind", [OddOptions, OddTable, BrokenTable, BrokenCheck, Exits])
def test_whatever_a_processor_raises_while_it_is_checked_is_one_problem_of_its_option(kind: type) -> None:
    step = StepConfig("p", f"{HERE}.{kind.__name__}", {"field": "a"}, "processors.p.", allow=("tests.*",))
    [(found, _, _)] = processor_problems([step])
    assert found == "processors.p.type"


@pytest.mark.parametrize("name", ["Unconfigurable", "Leaves"])
def test_whatever_a_step_raises_while_it_is_configured_is_a_configuration_error(name: str) -> None:
    def step(prefix: str) -> StepConfig:
        return StepConfig("p", f"{HERE}.{name}", {}, prefix, predicate="p", allow=("tests.*",))

    def built(what: str) -> Any:
        match what:
            case "transforms.x.type":
                return build_transform(step("transforms.x."))
            case "predicates.p.type":
                good = StepConfig("x", "Filter", {}, "transforms.x.", predicate="p")
                return build_transform(good, [step("predicates.p.")])
            case "processors.p.type":
                return build_processor(step("processors.p."))
            case "value.converter":
                return build_converter(step("value.converter."), is_key=False)
        props = {**MINIMAL, "processing.exception.handler": f"{HERE}.{name}"}
        return stage_handlers(
            parse_connector(props, open_worker()), ConnectorKind.SINK, [Stage(StageType.TRANSFORMATION, "T")]
        )

    options = ["transforms.x.type", "predicates.p.type", "processors.p.type", "value.converter"]
    for option in [*options, "processing.exception.handler"]:
        with pytest.raises(ConfigError) as caught:
            built(option)
        assert [row[0] for row in caught.value.problems] == [option]


@pytest.mark.parametrize(
    ("option", "name", "method"),
    [
        ("transforms.x.type", "OnlyConfigured", "an apply"),
        ("predicates.p.type", "OnlyConfigured", "a test"),
        ("value.converter", "OnlyConfigured", "a to_connect"),
        ("value.converter", "OneWay", "a from_connect"),
    ],
)
def test_a_class_that_lacks_what_its_group_needs_is_refused(option: str, name: str, method: str) -> None:
    assert problems_of(option, name) == [(option, f"{HERE}.{name}", f"must be a class with {method} method")]


@pytest.mark.parametrize("kind", [OddOptions, OddTable, BrokenTable, Exits])
def test_a_step_with_an_odd_table_has_no_known_secrets(kind: type) -> None:
    step = StepConfig("x", f"{HERE}.{kind.__name__}", {}, "transforms.x.", allow=("tests.*",))
    assert secret_options(plugins.TRANSFORMS, step) == frozenset()
