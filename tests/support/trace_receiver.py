"""A receiver of OpenTelemetry traces: OTLP over HTTP, in protobuf."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class ReceivedSpan(NamedTuple):
    """A span with its service and its attributes as text."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, str]


@contextmanager
def trace_receiver() -> Iterator[tuple[str, list[ReceivedSpan]]]:
    """Yield the URL of a receiver, and the spans that arrive there."""
    spans: list[ReceivedSpan] = []

    class TraceHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path == "/v1/traces":
                spans.extend(_decoded(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), TraceHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", spans
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _decoded(body: bytes) -> Iterator[ReceivedSpan]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        service = _texts(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                ids = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
                yield ReceivedSpan(service, span.name, *ids, _texts(span.attributes))


def _texts(attributes: Any) -> dict[str, str]:
    return {one.key: str(getattr(one.value, one.value.WhichOneof("value"))) for one in attributes}
