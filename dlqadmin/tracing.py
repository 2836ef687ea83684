"""OpenTelemetry traces from a request over its Celery tasks to Kafka's transactions.

They are off unless OTEL_EXPORTER_OTLP_ENDPOINT is set and the extra `tracing` is installed. Spans have the ids of log
lines and numbers, but no content of records, no names of people, and no messages of errors, which may quote content.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from dlqadmin.logs import context

HEADERS = ("traceparent", "tracestate")  # W3C Trace Context
INTERNAL, SERVER, CONSUMER, PRODUCER = "INTERNAL", "SERVER", "CONSUMER", "PRODUCER"  # OpenTelemetry's kinds of spans

log = logging.getLogger(__name__)


class TracedSpan:
    """A span, or nothing while traces are off."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def rename(self, name: str) -> None:
        """Change the name, when it is known only now."""
        if self._span is not None:
            self._span.update_name(name)

    def note(self, **attributes: str | int) -> None:
        """Add attributes. A double underscore is written as a dot."""
        if self._span is not None:
            self._span.set_attributes({name.replace("__", "."): value for name, value in attributes.items()})


def start() -> None:
    """Start to export spans from this process, if the environment asks for it."""
    global _tracer  # noqa: PLW0603, a process has one tracer, and creates it only when it starts
    if not settings.OTEL_EXPORTER_OTLP_ENDPOINT or _tracer is not None:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("OTEL_EXPORTER_OTLP_ENDPOINT has no effect. Run: pip install 'dlqadmin[tracing]'")
        return
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: f"dlqadmin-{context.process()}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _tracer = provider.get_tracer("dlqadmin")


@contextmanager
def span(name: str, kind: str = INTERNAL, parent: Mapping[str, str] | None = None) -> Iterator[TracedSpan]:
    """Trace this block as a span with the ids that log lines have here.

    `parent` has the W3C headers of a span in another process. By default the parent is the span around this block.
    """
    if _tracer is None:
        yield TracedSpan()
        return
    from opentelemetry.trace import SpanKind, StatusCode
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    around = TraceContextTextMapPropagator().extract(parent) if parent else None
    with _tracer.start_as_current_span(
        name, around, SpanKind[kind], record_exception=False, set_status_on_exception=False
    ) as made:
        try:
            yield TracedSpan(made)
        except BaseException as error:
            made.set_status(StatusCode.ERROR, type(error).__name__)
            raise
        finally:
            made.set_attributes({f"dlqadmin.{name}": value for name, value in context.ids().items()})


def headers() -> dict[str, str]:
    """Return the W3C headers of the span around this code; none while traces are off."""
    found: dict[str, str] = {}
    if _tracer is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(found)
    return found


_tracer: Any = None
