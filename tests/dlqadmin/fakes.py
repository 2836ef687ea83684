"""An engine's REST API that answers what a test tells it."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self


class FakeEngine:
    """Answers `/connectors?…` with `connectors`, and every write with `answer`; keeps what was written."""

    def __init__(self) -> None:
        self.connectors: Any = {}
        self.answer: tuple[int, Any] = (202, None)
        self.calls: list[tuple[str, str]] = []
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
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(engine: FakeEngine) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(200, engine.connectors)

        def do_PUT(self) -> None:
            engine.calls.append((self.command, self.path))
            self._send(*engine.answer)

        def do_POST(self) -> None:
            self.do_PUT()

        def _send(self, status: int, body: Any) -> None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
