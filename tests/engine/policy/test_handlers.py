from __future__ import annotations

import logging
from typing import Any

import pytest

from engine.config.exception_handlers import HandlerRole
from engine.errors import FailureType, ProduceFailed, RetriableError
from engine.policy import handlers
from engine.policy.handler_calls import NamedHandler, named_handler, old_signature, shape_problem
from engine.policy.handlers import (
    DefaultProductionExceptionHandler,
    ErrorHandlerContext,
    Response,
    SerializationExceptionOrigin,
)

CONTEXT = ErrorHandlerContext("t", 2, 5, (), "node", "c-0", 1000)


@pytest.mark.parametrize(
    ("name", "response", "level"),
    [
        ("LogAndFailProcessingExceptionHandler", Response.FAIL, logging.ERROR),
        ("LogAndContinueProcessingExceptionHandler", Response.CONTINUE, logging.WARNING),
        ("LogAndFailExceptionHandler", Response.FAIL, logging.ERROR),
        ("LogAndContinueExceptionHandler", Response.CONTINUE, logging.WARNING),
    ],
)
@pytest.mark.parametrize(("messages", "why"), [("true", "why"), ("false", "message withheld")])
def test_a_logging_handler_says_where_and_why_but_never_what(
    name: str, response: Response, level: int, messages: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    handler = getattr(handlers, name)()
    handler.configure({"errors.log.include.messages": messages})
    assert handler.handle(CONTEXT, "the record", ValueError("why")) is response
    (row,) = caplog.records
    assert row.levelno == level
    assert "node node of task c-0, topic t, partition 2, offset 5" in row.message
    assert f"ValueError: {why}" in caplog.text
    assert "the record" not in caplog.text


@pytest.mark.parametrize(
    ("error", "response"),
    [
        (RetriableError("away"), Response.RETRY),
        (ProduceFailed((("t", "away"),), (), FailureType.DELIVERY_FAILED), Response.RETRY),
        (ProduceFailed((("t", "too large"),)), Response.FAIL),
        (ValueError("no"), Response.FAIL),
    ],
)
def test_the_default_production_handler_retries_what_may_pass(error: Exception, response: Response) -> None:
    assert DefaultProductionExceptionHandler().handle(CONTEXT, None, error) is response  # type: ignore[arg-type]  # the record and the error are only passed on


class Calls:
    """Keeps what the methods made from it were given."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def keep(self, *given: Any) -> Response:
        self.seen.append(given)
        return Response.CONTINUE


def handler_of(calls: Calls, kind: str) -> Any:
    class New:
        def handle(self, context: Any, record: Any, exception: Any) -> Response:
            return calls.keep(context, record, exception)

        def handle_serialization_exception(self, context: Any, record: Any, exception: Any, origin: Any) -> Response:
            return calls.keep(context, record, exception, origin)

    class Old:
        def handle(self, record: Any, exception: Any) -> Response:
            return calls.keep(record, exception)

        def handle_serialization_exception(self, record: Any, exception: Any) -> Response:
            return calls.keep(record, exception)

    return {"new": New, "old": Old}[kind]()


KEY = SerializationExceptionOrigin.KEY


@pytest.mark.parametrize(
    ("kind", "origin", "given"),
    [
        ("new", None, (CONTEXT, "record", "error")),
        ("new", KEY, (CONTEXT, "record", "error", KEY)),
        ("old", None, ("record", "error")),
        ("old", KEY, ("record", "error")),
    ],
)
def test_a_production_handler_is_called_by_the_signature_it_has(kind: str, origin: Any, given: Any) -> None:
    calls = Calls()
    handler = handler_of(calls, kind)
    asked = named_handler("mine", HandlerRole.PRODUCTION, handler, origin)
    assert asked.ask(CONTEXT, "record", "error") is Response.CONTINUE  # type: ignore[arg-type]  # the record and the error are only passed on
    assert calls.seen == [given]
    assert shape_problem(HandlerRole.PRODUCTION, handler) is None
    assert (old_signature(HandlerRole.PRODUCTION, handler) is not None) is (kind == "old")


def test_without_a_method_for_it_a_serialization_error_fails() -> None:
    asked = named_handler("Default", HandlerRole.PRODUCTION, DefaultProductionExceptionHandler(), KEY)
    assert asked.ask(CONTEXT, None, ValueError()) is Response.FAIL


class OldByName:
    def handle(self, processor_context: Any, record: Any, exception: Any) -> Response:
        return Response.CONTINUE


class OldByType:
    def handle(self, context: ProcessorContext, record: Any, exception: Any) -> Response:  # type: ignore[name-defined] # noqa: F821
        return Response.CONTINUE


class New:
    def handle(self, context: ErrorHandlerContext, record: Any, exception: Any) -> Response:
        return Response.CONTINUE


@pytest.mark.parametrize(("kind", "old"), [(OldByName, True), (OldByType, True), (New, False)])
def test_an_old_deserialization_handler_is_told_by_its_first_argument(kind: Any, old: bool) -> None:
    assert shape_problem(HandlerRole.DESERIALIZATION, kind()) is None
    assert (old_signature(HandlerRole.DESERIALIZATION, kind()) is not None) is old


@pytest.mark.parametrize(("role", "takes_two"), [(HandlerRole.PROCESSING, False), (HandlerRole.PRODUCTION, True)])
def test_a_shape_that_no_role_has_is_a_problem(role: HandlerRole, takes_two: bool) -> None:
    class Two:
        def handle(self, record: Any, exception: Any) -> Response:
            return Response.FAIL

    class One:
        def handle(self, record: Any) -> Response:
            return Response.FAIL

    assert (shape_problem(role, Two()) is None) is takes_two
    assert shape_problem(role, One()) is not None
    assert shape_problem(role, object()) == "must be a class with a handle method"


@pytest.mark.parametrize("answer", [None, "CONTINUE", 1, True, Response.RETRY])
def test_anything_but_an_answer_is_fail_and_says_so(answer: Any) -> None:
    reply = NamedHandler("mine", HandlerRole.PROCESSING, lambda *_: answer).reply(answer, may_retry=True)
    assert reply.response is Response.FAIL
    assert reply.reason.startswith("Fatal user code error in processing error callback, mine: it returned ")


def test_only_what_may_pass_is_retried() -> None:
    asked = named_handler("mine", HandlerRole.PRODUCTION, DefaultProductionExceptionHandler())
    assert asked.reply(Response.RETRY, may_retry=True).response is Response.RETRY
    assert asked.reply(Response.RETRY, may_retry=False).response is Response.FAIL


def test_the_names_of_the_kip_are_there_for_those_who_write_handlers() -> None:
    for name in ("ProcessingHandlerResponse", "DeserializationHandlerResponse", "ProductionExceptionHandlerResponse"):
        assert getattr(handlers, name).CONTINUE is Response.CONTINUE
