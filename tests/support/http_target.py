"""An HTTP server on this machine that keeps what it is sent, and answers as a test says."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

HOST = "127.0.0.1"


class Seen(NamedTuple):
    """A request."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Reply(NamedTuple):
    """An answer. It is sent after `delay_s`."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}
    delay_s: float = 0.0


Answerer = Callable[[Seen], Reply]


class HttpTarget:
    """A server. `accepted` holds the requests that got a 2xx answer, `seen` all of them."""

    def __init__(self, answer: Answerer = lambda _: Reply(), port: int = 0, tls: Path | None = None) -> None:
        """Answer on a free port, or on `port`; with the key and certificate of the PEM file `tls` over TLS."""
        self.answer = answer
        self.seen: list[Seen] = []
        self.accepted: list[Seen] = []
        self._server = ThreadingHTTPServer((HOST, port), self._handler())
        self._server.daemon_threads = True
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = int(self._server.server_address[1])
        self.url = f"http://{HOST}:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def bodies(self) -> list[bytes]:
        """The bodies of accepted requests, in their order."""
        return [one.body for one in self.accepted]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        target = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                if len(body) < length:  # the client died in the middle of its request
                    self.close_connection = True
                    return
                one = Seen(self.command, self.path, dict(self.headers.items()), body)
                target.seen.append(one)
                reply = target.answer(one)
                time.sleep(reply.delay_s)
                if 200 <= reply.status < 300:
                    target.accepted.append(one)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _any  # noqa: N815, http.server's names

            def log_message(self, *_: object) -> None:
                """Write no log."""

        return Handler


@contextmanager
def http_target(answer: Answerer = lambda _: Reply(), port: int = 0, tls: Path | None = None) -> Iterator[HttpTarget]:
    """Yield a server that ends with the block."""
    target = HttpTarget(answer, port, tls)
    try:
        yield target
    finally:
        target.close()
