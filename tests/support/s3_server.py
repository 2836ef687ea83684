"""A real S3 server on this machine: moto's, in a process of its own. It keeps objects in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import obstore
from obstore.store import S3Store

from dlqadmin.host.network import HOST, free_ports, wait_until

KEYS = {"aws.access.key.id": "key", "aws.secret.access.key": "secret"}
START_S = 60


class S3Server:
    """A server with one bucket."""

    bucket = "letters"

    def __init__(self) -> None:
        self.port = free_ports(1)[0]
        self.url = f"http://{HOST}:{self.port}"
        command = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(self._is_ready, "moto", START_S)
            httpx.put(f"{self.url}/{self.bucket}", timeout=10).raise_for_status()
        except BaseException:  # also when the test is interrupted: the process must not stay
            self.stop()
            raise
        self.store = S3Store(
            self.bucket,
            config={
                "endpoint": self.url, "access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1",
                "virtual_hosted_style_request": False,
            },
            client_options={"allow_http": True},
        )  # fmt: skip

    def options(self) -> dict[str, str]:
        """The options of a sink that writes to the bucket."""
        return {"s3.bucket.name": self.bucket, "store.url": self.url, **KEYS}

    def objects(self, folder: str) -> dict[str, bytes]:
        """All objects below a folder, by path, in the order of their names."""
        names = sorted(one["path"] for page in obstore.list(self.store, prefix=folder) for one in page)
        return {name: bytes(obstore.get(self.store, name).bytes()) for name in names}

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/moto-api/", timeout=2).status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Yield a server that ends with the block."""
    server = S3Server()
    try:
        yield server
    finally:
        server.stop()
