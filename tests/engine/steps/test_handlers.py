from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.config.connector import ConnectorConfig, parse_connector
from engine.config.exception_handlers import HandlerRole
from engine.policy import handlers
from engine.record.stage import Stage, StageType
from engine.steps.handlers import BUILT_IN, GROUP, handler_problems, stage_handlers
from engine.steps.secrets import step_secrets
from engine.worker_messages import ConnectorKind
from tests.support.permissions import open_worker

HERE = "tests.engine.steps.handlers_of_tests"
BASE = {"name": "c", "connector.class": "X", "topics": "t"}
STAGES = (
    Stage(StageType.KEY_CONVERTER, "in"),
    Stage(StageType.VALUE_CONVERTER, "in"),
    Stage(StageType.TRANSFORMATION, "T"),
    Stage(StageType.PROCESSOR, "P", name="node"),
    Stage(StageType.KEY_CONVERTER, "out", name="sink"),
    Stage(StageType.VALUE_CONVERTER, "out", name="sink"),
    Stage(StageType.KAFKA_PRODUCE, "KafkaProducer", name="sink"),
)


def config(**more: str) -> ConnectorConfig:
    return parse_connector({**BASE, **{name.replace("__", "."): value for name, value in more.items()}}, open_worker())


def names(made: Any) -> dict[int, str]:
    return {index: one.name for index, one in made.items()}


@pytest.mark.parametrize(
    ("role", "name", "kind"),
    [
        (HandlerRole.PROCESSING, "LogAndFailProcessingExceptionHandler", handlers.LogAndFailProcessingExceptionHandler),
        (HandlerRole.PROCESSING, "ProcessingLogAndFailExceptionHandler", handlers.LogAndFailProcessingExceptionHandler),
        (
            HandlerRole.PROCESSING,
            "org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler",
            handlers.LogAndContinueProcessingExceptionHandler,
        ),
        (
            HandlerRole.PROCESSING,
            "ProcessingLogAndContinueExceptionHandler",
            handlers.LogAndContinueProcessingExceptionHandler,
        ),
        (HandlerRole.DESERIALIZATION, "LogAndContinueExceptionHandler", handlers.LogAndContinueExceptionHandler),
        (
            HandlerRole.DESERIALIZATION,
            "org.apache.kafka.streams.errors.LogAndFailExceptionHandler",
            handlers.LogAndFailExceptionHandler,
        ),
        (HandlerRole.PRODUCTION, "DefaultProductionExceptionHandler", handlers.DefaultProductionExceptionHandler),
    ],
)
def test_built_in_handlers_have_their_names_in_both_orders(role: HandlerRole, name: str, kind: Any) -> None:
    assert BUILT_IN[role][name] is kind


def test_a_sink_without_handlers_leaves_everything_to_the_tolerance_policy() -> None:
    assert stage_handlers(config(), ConnectorKind.SINK, STAGES) == {}


def test_a_stream_has_a_default_handler_at_each_stage() -> None:
    processing = "LogAndFailProcessingExceptionHandler"
    assert names(stage_handlers(config(), ConnectorKind.STREAM, STAGES)) == {
        0: "LogAndFailExceptionHandler",
        1: "LogAndFailExceptionHandler",
        2: processing,
        3: processing,
        4: "DefaultProductionExceptionHandler",
        5: "DefaultProductionExceptionHandler",
        6: "DefaultProductionExceptionHandler",
    }


def test_tolerance_options_take_the_place_of_a_streams_defaults_where_no_handler_is_named() -> None:
    named = config(errors__tolerance="all", production__exception__handler="DefaultProductionExceptionHandler")
    assert sorted(stage_handlers(named, ConnectorKind.STREAM, STAGES)) == [4, 5, 6]


def test_a_sources_converters_write() -> None:
    named = config(
        production__exception__handler="DefaultProductionExceptionHandler",
        deserialization__exception__handler="LogAndContinueExceptionHandler",
    )
    assert set(names(stage_handlers(named, ConnectorKind.SOURCE, STAGES[:2])).values()) == {
        "DefaultProductionExceptionHandler"
    }
    assert set(names(stage_handlers(named, ConnectorKind.SINK, STAGES[:2])).values()) == {
        "LogAndContinueExceptionHandler"
    }


def test_a_handler_is_made_once_and_configured_with_the_connector_and_its_own_options() -> None:
    named = config(processing__exception__handler=f"{HERE}.Mine", processing__exception__handler__limit="3")
    made = stage_handlers(named, ConnectorKind.SINK, STAGES)
    (mine,) = {id(one.ask.__self__): one.ask.__self__ for one in made.values()}.values()  # type: ignore[attr-defined]  # a bound method
    assert (mine.configs["topics"], mine.configs["limit"]) == ("t", "3")


def test_the_new_name_wins_over_the_old_one_and_the_old_alone_counts() -> None:
    both = config(
        deserialization__exception__handler="LogAndFailExceptionHandler",
        default__deserialization__exception__handler="LogAndContinueExceptionHandler",
    )
    assert [one.class_name for one in both.handlers] == ["LogAndFailExceptionHandler"]
    old = config(default__production__exception__handler=f"{HERE}.OldProduction")
    assert [(one.role, one.class_name) for one in old.handlers] == [(HandlerRole.PRODUCTION, f"{HERE}.OldProduction")]
    assert [row[2] for row in (*both.warnings, *old.warnings) if "handler" in row[2]] == [
        "is ignored because deserialization.exception.handler is set",
        "is deprecated; use production.exception.handler",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("LogAndContinueProcesingExceptionHandler", "did you mean LogAndContinueProcessingExceptionHandler?"),
        (f"{HERE}.NotAHandler", "must be a class with a handle method"),
        (f"{HERE}.Absent", "can't be loaded"),
        (f"{HERE}.WithOption", "has no class WithOption; did you mean WithOptions?"),
        (
            "org.apche.kafka.streams.errors.LogAndContinueProcessingExceptionHandler",
            "did you mean org.apache.kafka.streams.errors.LogAndContinueProcessingExceptionHandler?",
        ),
        ("no.such.module.Handler", "plugin.classes.allow"),
        ("org.apache.kafka.streams.errors.Other", "is not a known class"),
        (f"{HERE}.Response", "can't be created"),
        (f"{HERE}.annotations", "is not a class"),
    ],
)
def test_a_handler_that_can_not_be_is_a_problem_of_its_option(name: str, text: str) -> None:
    problems, _ = handler_problems(config(processing__exception__handler=name), ConnectorKind.STREAM)
    assert [(option, value) for option, value, _ in problems] == [("processing.exception.handler", name)]
    assert text in problems[0][2]


def test_a_deprecated_signature_is_warned_about() -> None:
    problems, warnings = handler_problems(
        config(production__exception__handler=f"{HERE}.OldProduction"), ConnectorKind.STREAM
    )
    assert problems == []
    assert "deprecated" in warnings[0][2]


def test_options_of_a_handler_are_checked_by_its_table() -> None:
    named = config(
        processing__exception__handler=f"{HERE}.WithOptions",
        processing__exception__handler__limit="many",
        processing__exception__handler__pn="1234",
    )
    problems, _ = handler_problems(named, ConnectorKind.SINK)
    assert sorted((option, text.partition(":")[0].partition(";")[0]) for option, _, text in problems) == [
        ("processing.exception.handler.limit", "must be a whole number"),
        ("processing.exception.handler.pn", "unknown option"),
    ]


@pytest.mark.parametrize("name", ["LogAndContinueExceptionHandler", f"{HERE}.Bare"])
def test_a_handler_without_options_takes_none(name: str) -> None:
    named = config(deserialization__exception__handler=name, deserialization__exception__handler__limit="1")
    problems, _ = handler_problems(named, ConnectorKind.SINK)
    assert [option for option, *_ in problems] == ["deserialization.exception.handler.limit"]


def test_secret_options_of_a_handler_are_never_shown() -> None:
    named = config(
        default__production__exception__handler=f"{HERE}.WithOptions", production__exception__handler__pin="1234"
    )
    assert step_secrets(named, None) == ("production.exception.handler.pin",)


@pytest.mark.parametrize(
    ("kind", "idle"),
    [(ConnectorKind.SINK, ["production"]), (ConnectorKind.SOURCE, ["deserialization"]), (ConnectorKind.STREAM, [])],
)
def test_a_handler_that_is_never_asked_is_warned_about(kind: ConnectorKind, idle: list[str]) -> None:
    named = config(
        processing__exception__handler="LogAndFailProcessingExceptionHandler",
        deserialization__exception__handler="LogAndFailExceptionHandler",
        production__exception__handler="DefaultProductionExceptionHandler",
    )
    problems, warnings = handler_problems(named, kind)
    assert problems == []
    assert [(option, text) for option, _, text in warnings] == [
        (f"{role}.exception.handler", f"has no effect in a {kind}; remove it") for role in idle
    ]


def test_an_installed_package_offers_a_handler_by_an_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "decider-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: decider\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nDecider = {HERE}:Mine\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert handler_problems(config(processing__exception__handler="Decider"), ConnectorKind.STREAM) == ([], [])
    made = stage_handlers(config(processing__exception__handler="Decider"), ConnectorKind.SINK, STAGES)
    assert names(made) == {2: "Decider", 3: "Decider"}
