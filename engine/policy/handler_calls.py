"""Handler calls by role and signature (KIP-1033, including old signatures)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from engine.config.exception_handlers import HandlerRole
from engine.policy.handlers import ErrorHandlerContext, Response, SerializationExceptionOrigin
from engine.record.record import RawRecord, Record

NEW, OLD = 3, 2  # argument counts of handle
NEW_SERIALIZATION, OLD_SERIALIZATION = 4, 2
OLD_CONTEXTS = {"processor_context", "ProcessorContext"}  # the name or annotation of the first argument

Ask = Callable[[ErrorHandlerContext, RawRecord | Record | None, Exception], object]


class NamedHandler(msgspec.Struct, frozen=True):
    """A handler at one stage, with the configured name that error contexts show."""

    name: str
    role: HandlerRole
    ask: Ask

    def reply(self, answer: object, *, may_retry: bool) -> HandlerReply:
        """Convert the handler's answer to a HandlerReply."""
        allowed = {Response.CONTINUE, Response.FAIL} | (
            {Response.RETRY} if self.role is HandlerRole.PRODUCTION else set()
        )
        if not isinstance(answer, Response) or answer not in allowed:
            shown = answer if answer is None or isinstance(answer, Response) else f"a {type(answer).__name__}"
            return self.fail_reply(f"it returned {shown} instead of {' or '.join(sorted(allowed))}")
        if answer is Response.RETRY and not may_retry:
            return HandlerReply(
                Response.FAIL, f"{self.role.option} {self.name} returned RETRY, but the error is not retriable"
            )
        return HandlerReply(answer, f"{self.role.option} {self.name} returned {answer}")

    def fail_reply(self, why: str) -> HandlerReply:
        """Return FAIL for a handler that raised or gave no valid answer."""
        return HandlerReply(Response.FAIL, f"Fatal user code error in {self.role} error callback, {self.name}: {why}")


class HandlerReply(msgspec.Struct, frozen=True):
    """A handler's decision on an error, and a sentence that describes it."""

    response: Response
    reason: str


def named_handler(
    name: str, role: HandlerRole, handler: Any, origin: SerializationExceptionOrigin | None = None
) -> NamedHandler:
    """Return the handler for a stage. `origin` is set at a stage that serializes."""
    if origin is None:
        handle = handler.handle
        if role is HandlerRole.PRODUCTION and not _takes(handle, NEW):
            return NamedHandler(name, role, lambda _, record, error: handle(record, error))
        return NamedHandler(name, role, handle)
    serializing = getattr(handler, "handle_serialization_exception", None)
    if serializing is None:
        return NamedHandler(name, role, lambda _context, _record, _error: Response.FAIL)
    if not _takes(serializing, NEW_SERIALIZATION):
        return NamedHandler(name, role, lambda _, record, error: serializing(record, error))
    return NamedHandler(name, role, lambda context, record, error: serializing(context, record, error, origin))


def shape_problem(role: HandlerRole, handler: Any) -> str | None:
    """Return why an object can't be a handler of that role, or None."""
    handle = getattr(handler, "handle", None)
    if not callable(handle):
        return "must be a class with a handle method"
    allowed = (NEW, OLD) if role is HandlerRole.PRODUCTION else (NEW,)
    if not any(_takes(handle, count) for count in allowed):
        return "must have a handle method with the parameters context, record and exception"
    serializing = getattr(handler, "handle_serialization_exception", None)
    if role is HandlerRole.PRODUCTION and serializing is not None:
        allowed = (NEW_SERIALIZATION, OLD_SERIALIZATION)
        if not callable(serializing) or not any(_takes(serializing, count) for count in allowed):
            return "must have a handle_serialization_exception method with context, record, exception and origin"
    return None


def old_signature(role: HandlerRole, handler: Any) -> str | None:
    """Return a description of the handler's deprecated signature for a warning, or None."""
    if role is HandlerRole.PRODUCTION:
        if not _takes(handler.handle, NEW):
            return "handle(record, exception) is deprecated; use the parameters context, record, exception"
        serializing = getattr(handler, "handle_serialization_exception", None)
        if serializing is not None and not _takes(serializing, NEW_SERIALIZATION):
            return (
                "handle_serialization_exception(record, exception) is deprecated; use the parameters context, record, "
                "exception, origin"
            )
    elif role is HandlerRole.DESERIALIZATION:
        first = next(iter(inspect.signature(handler.handle).parameters.values()), None)
        if first is not None and OLD_CONTEXTS & {first.name, _annotation(first)}:
            return "handle(processor_context, record, exception) is deprecated; use an ErrorHandlerContext"
    return None


def _takes(method: Callable[..., Any], count: int) -> bool:
    try:
        # The numbers only stand for arguments. Nothing is called.
        inspect.signature(method).bind(*range(count))
    except TypeError:
        return False
    return True


def _annotation(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    return (annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")).rpartition(".")[2]
