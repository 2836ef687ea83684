"""Rights on Kafka's resources, and the commands that grant them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

Resource = Literal["cluster", "topic", "group", "transactional-id"]


@dataclass(frozen=True, slots=True)
class AclRequirement:
    """Operations on a resource, and their purpose.

    `prefixed` means all resources whose names begin with `name`. The name "*" means any resource.
    """

    operations: tuple[str, ...]
    kind: Resource
    name: str
    why: str
    prefixed: bool = False


def grant_command(need: AclRequirement, principal: str, servers: str) -> str:
    """Return the `kafka-acls.sh` command that grants the operations."""
    resource = ["--cluster"] if need.kind == "cluster" else [f"--{need.kind}", need.name]
    operations = [word for operation in need.operations for word in ("--operation", operation)]
    pattern = ["--resource-pattern-type", "prefixed"] if need.prefixed else []
    words = ["kafka-acls.sh", "--bootstrap-server", servers, "--add", "--allow-principal", principal]
    return shlex.join([*words, *operations, *resource, *pattern])
