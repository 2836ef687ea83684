"""A port that forwards to another one, and can be closed and opened again."""

from __future__ import annotations

import contextlib
import socket
import threading

from dlqadmin.host.network import HOST, free_ports


class Gate:
    """An open gate to a port of this machine. While it is closed, connections are refused."""

    def __init__(self, target: int, host: str = HOST) -> None:
        self.target, self.host = target, host
        self.port = free_ports(1)[0]
        self.open()

    def open(self) -> None:
        """Listen."""
        self._listener = socket.create_server((self.host, self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Refuse connections from now on."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=self._forward, args=(near,), daemon=True).start()

    def _forward(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError), socket.create_connection((HOST, self.target)) as far:
            back = threading.Thread(target=_copy, args=(far, near), daemon=True)
            back.start()
            _copy(near, far)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
