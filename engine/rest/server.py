"""The REST API on a thread of its own."""

from __future__ import annotations

import socket
import threading
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette

from engine.errors import ConfigError


class RestServer:
    """Listens as soon as it is made; answers once started."""

    def __init__(self, app: Starlette, listener: str) -> None:
        self.host, self.port, self._socket = _listen(listener)
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", server_header=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), name="rest", daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the requests at hand, then go."""
        self._server.should_exit = True
        self._thread.join(timeout=5)
        self._socket.close()


def _listen(listener: str) -> tuple[str, int, socket.socket]:
    address = urlsplit(listener if "//" in listener else f"//{listener}")
    host, port = address.hostname or "127.0.0.1", 8083 if address.port is None else address.port
    try:
        opened = socket.create_server((host, port))
    except OSError as error:
        raise ConfigError((("listeners", listener, f"can't listen there: {error.strerror}"),)) from error
    return host, opened.getsockname()[1], opened
