"""An engine's REST API that answers what a test tells it."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

POLL_S = 0.002  # each test waits half of it for the end of its server


class FakeEngine:
    """Answers reads with `connectors` and `plugins`, and every write with `answer`; keeps what was written."""

    def __init__(self) -> None:
        self.connectors: Any = {}
        self.plugins: Any = []
        self.root: Any = {"version": "0.1.0", "commit": "", "kafka_cluster_id": "k"}
        self.answer: tuple[int, Any] = (202, None)
        self.calls: list[tuple[str, str]] = []
        self.bodies: list[Any] = []  # of the writes that have one
        self.respond: Callable[[Any], Any] | None = None  # makes the answer to a write of its body
        self.authorization: str | None = None  # what every request must carry; else it gets 401
        self.given: list[str | None] = []  # the credentials that came with each request
        self.redirect = ""  # where a standby worker sends its clients
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def add(self, name: str, config: dict[str, str], tasks: int = 1, state: str = "RUNNING") -> None:
        status = {
            "name": name,
            "connector": {"state": state, "worker_id": "worker-1"},
            "tasks": [{"id": task, "state": state, "worker_id": "worker-1"} for task in range(tasks)],
            "type": "sink",
        }
        self.connectors[name] = {
            "status": status,
            "info": {"name": name, "config": {"name": name, **config}, "tasks": [], "type": "sink"},
        }

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(POLL_S,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    asked: FakeEngine

    def _is_answered(self) -> bool:
        given = self.headers["Authorization"]
        self.asked.given.append(given)
        if self.asked.authorization is not None and given != self.asked.authorization:
            self._send(401, b"User cannot access the resource.")
            return False
        if self.asked.redirect:
            self._send(307, None, {"Location": self.asked.redirect + self.path})
            return False
        return True

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def _read(engine: FakeEngine, path: str) -> tuple[int, Any]:
    if path == "/":
        return 200, engine.root
    if path == "/connector-plugins":
        return 200, engine.plugins
    if path.endswith("/config") and isinstance(engine.connectors, dict):
        name = path.split("/")[2]
        found = engine.connectors.get(name)
        return (200, found["info"]["config"]) if found else (404, {"message": f"Connector {name} not found"})
    return 200, engine.connectors


def _handler(engine: FakeEngine) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        asked = engine

        def do_GET(self) -> None:
            if self._is_answered():
                self._send(*_read(engine, self.path))

        def do_PUT(self) -> None:
            if self._is_answered():
                engine.calls.append((self.command, self.path))
                if size := int(self.headers["Content-Length"] or 0):
                    engine.bodies.append(json.loads(self.rfile.read(size)))
                if engine.respond is not None:
                    self._send(200, engine.respond(engine.bodies[-1]))
                else:
                    self._send(*engine.answer)

        def do_POST(self) -> None:
            self.do_PUT()

        def do_DELETE(self) -> None:
            self.do_PUT()

    return Handler
