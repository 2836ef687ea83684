"""A broker with an authorizer that allows nothing, users with passwords, and a log of every decision."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from demo.broker import LocalBroker
from dlqadmin.host.network import HOST, free_ports
from engine.assembly.acls import PrincipalAcl
from tests.support.broker import OVERRIDES
from tests.support.stores import PASSWORD as STORE_PASSWORD
from tests.support.stores import Stores

USERS = 1500
PASSWORD = "no-secret"
DECISION = re.compile(
    r"Principal = (?P<principal>User:\S+) is (?P<verdict>Allowed|Denied) operation = (?P<operation>\w+) .*?"
    r" on resource = (?P<kind>\w+):LITERAL:(?P<name>\S+) for request = (?P<request>\w+)"
)
KINDS = {
    "cluster": ResourceType.BROKER,  # the client's name of it
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
}
LOGGED_KINDS = {"Cluster": "cluster", "Topic": "topic", "Group": "group", "TransactionalId": "transactional-id"}


class Decision(NamedTuple):
    """An answer of the authorizer; `operation` is written as kafka-acls writes it."""

    principal: str
    operation: str
    kind: str
    name: str
    is_allowed: bool
    request: str


class AuthorizingBroker(LocalBroker):
    """A broker whose users may do nothing that no ACL allows. Clients without SASL are its administrators.

    With `stores`, users connect over TLS.
    """

    def __init__(self, home: Path, stores: Stores | None = None) -> None:
        port, controller, self.sasl_port = free_ports(3)
        listeners = f"PLAINTEXT://{HOST}:{port},USERS://{HOST}:{self.sasl_port}"
        protocol = "SASL_PLAINTEXT" if stores is None else "SASL_SSL"
        users = " ".join(f'user_u{number}="{PASSWORD}"' for number in range(USERS))
        super().__init__(
            home,
            overrides={
                **OVERRIDES,
                "listeners": f"{listeners},CONTROLLER://{HOST}:{controller}",
                "advertised.listeners": listeners,
                "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,USERS:{protocol}",
                "sasl.enabled.mechanisms": "PLAIN",
                **({} if stores is None else _server_stores(stores)),
                "listener.name.users.plain.sasl.jaas.config": (
                    f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
                ),
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS",
            },
        )
        self.port, self.controller_port = port, controller
        self.sasl_servers = f"{HOST}:{self.sasl_port}"
        self._users = iter(range(USERS))

    def command(self) -> list[str]:
        java, *rest = super().command()
        return [java, "-Dorg.slf4j.simpleLogger.log.kafka.authorizer.logger=trace", *rest]

    def user(self) -> str:
        """Return a user whom nobody has had before."""
        return f"u{next(self._users)}"

    def grant(self, rows: Iterable[PrincipalAcl]) -> None:
        """Allow each principal what its row says, as kafka-acls would."""
        bindings = [
            AclBinding(
                KINDS[row.need.kind],
                row.need.name or "kafka-cluster",
                ResourcePatternType.PREFIXED if row.need.prefixed else ResourcePatternType.LITERAL,
                row.principal,
                "*",
                getattr(AclOperation, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).upper()),
                AclPermissionType.ALLOW,
            )
            for row in rows
            for operation in row.need.operations
        ]
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        for done in admin.create_acls(bindings).values():
            done.result(20)

    def decisions(self) -> Iterator[Decision]:
        """Yield what the authorizer has decided about users so far."""
        for line in (self.home / "broker.log").read_text(errors="replace").splitlines():
            found = DECISION.search(line)
            if found is not None and found["principal"] != "User:ANONYMOUS":
                operation = "".join(word.capitalize() for word in found["operation"].split("_"))
                yield Decision(
                    found["principal"],
                    operation,
                    LOGGED_KINDS[found["kind"]],
                    "" if found["kind"] == "Cluster" else found["name"],
                    found["verdict"] == "Allowed",
                    found["request"],
                )


def _server_stores(stores: Stores) -> dict[str, str]:
    return {
        "ssl.keystore.location": str(stores.server),
        "ssl.keystore.type": stores.kind,
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.key.password": STORE_PASSWORD,
    }


def credentials(user: str) -> dict[str, str]:
    """Return the client options of a user."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": PASSWORD,
    }


@contextmanager
def authorizing_broker(home: Path, stores: Stores | None = None) -> Iterator[AuthorizingBroker]:
    """Run a broker."""
    broker = AuthorizingBroker(home, stores)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()
