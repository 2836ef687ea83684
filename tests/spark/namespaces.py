"""Network namespaces: hosts of their own on this machine, connected by a bridge, and by nothing else."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.spark.bare_cluster import BareCluster


def can_be_made() -> bool:
    """Return whether this process may make network namespaces."""
    return os.geteuid() == 0 and shutil.which("ip") is not None


class Namespaces:
    """A bridge of this machine with one namespace for each host. No other network is reachable from them."""

    def __init__(self, hosts: int) -> None:
        self._name = f"dlq{os.getpid()}"
        self._net = f"10.{random.randrange(64, 128)}.{random.randrange(256)}"
        self.hosts = hosts
        self.here = f"{self._net}.1"  # the address of this machine

    def address(self, number: int) -> str:
        """Return the address of a host."""
        return f"{self._net}.{10 + number}"

    def namespace(self, number: int) -> str:
        """Return the name of a host's namespace."""
        return f"{self._name}-{number}"

    def open(self) -> None:
        """Make the bridge and the hosts."""
        _ip("link", "add", self._name, "type", "bridge")
        _ip("address", "add", f"{self.here}/24", "dev", self._name)
        _ip("link", "set", self._name, "up")
        for number in range(self.hosts):
            inside, outside = f"{self._name}i{number}", f"{self._name}o{number}"
            space = self.namespace(number)
            _ip("netns", "add", space)
            _ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", space)
            _ip("link", "set", outside, "master", self._name, "up")
            _ip("-n", space, "link", "set", "lo", "up")
            _ip("-n", space, "address", "add", f"{self.address(number)}/24", "dev", inside)
            _ip("-n", space, "link", "set", inside, "up")

    def close(self) -> None:
        """Delete them. The links go with their namespaces."""
        for number in range(self.hosts):
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", self.namespace(number))
        with suppress(subprocess.CalledProcessError):
            _ip("link", "delete", self._name)


class NamespacedCluster(BareCluster):
    """Its workers are bare, and each runs in a network namespace."""

    def __init__(self, home: Path, network: Namespaces) -> None:
        super().__init__(home, workers=network.hosts, cores=2)
        self.network = network
        self.host = network.here

    def host_of(self, number: int) -> str:
        return self.network.address(number)

    def surroundings(self, number: int) -> dict[str, Any]:
        prefix = ("ip", "netns", "exec", self.network.namespace(number))
        return {**super().surroundings(number), "prefix": prefix}


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
