"""An HTTP server that accepts everything: `python -m benchmarks.http_target port [delay in ms]`."""

from __future__ import annotations

import asyncio
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
HEAD_END, LENGTH = b"\r\n\r\n", b"content-length:"


class AcceptingProtocol(asyncio.Protocol):
    """Reads requests whose length is given, and answers each with 200, at once or after `delay_s`."""

    def __init__(self, delay_s: float) -> None:
        self._data = bytearray()
        self._delay_s = delay_s

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(HEAD_END)) >= 0:
            head = bytes(self._data[:end]).lower()
            _, _, rest = head.partition(LENGTH)
            whole = end + len(HEAD_END) + int(rest.partition(b"\r\n")[0] or 0)
            if len(self._data) < whole:
                return
            del self._data[:whole]
            if self._delay_s:
                asyncio.get_running_loop().call_later(self._delay_s, self._transport.write, ANSWER)
            else:
                self._transport.write(ANSWER)


async def serve(port: int, delay_ms: float) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: AcceptingProtocol(delay_ms / 1000), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0))
