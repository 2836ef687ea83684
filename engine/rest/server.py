"""The REST API on a thread of its own."""

from __future__ import annotations

import socket
import threading
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette

from engine.errors import ConfigError


class RestServer:
    """Listens from the moment it is made, so that a port in use is known at once; answers once started."""

    def __init__(self, listener: str) -> None:
        self._socket = _listen(listener)
        self.address = "http://{}:{}".format(*self._socket.getsockname()[:2])
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def start(self, app: Starlette) -> None:
        """Answer from now on."""
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", server_header=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],), name="rest", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish the requests at hand, then go."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(timeout=5)
        self._socket.close()


def _listen(listener: str) -> socket.socket:
    address = urlsplit(listener if "//" in listener else f"//{listener}")
    host, port = address.hostname or "127.0.0.1", 8083 if address.port is None else address.port
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise ConfigError((("listeners", listener, f"can't listen there: {error.strerror}"),)) from error
