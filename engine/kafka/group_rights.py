"""Ask the brokers whether a client may use its consumer group. Without the right, the client library only times out."""

from __future__ import annotations

from collections.abc import Mapping

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclOperation

from engine.errors import EngineError, RetriableError
from engine.kafka.errors import NeededRights, translate

CONNECTION = ("bootstrap.servers", "security.protocol", "sasl.", "ssl.", "log_level", "socket.keepalive.enable")
TIMEOUT_S = 5.0
OPERATIONS = {"Describe": AclOperation.DESCRIBE, "Read": AclOperation.READ}


def group_refusal(settings: Mapping[str, str], group: str, operation: str) -> EngineError | None:
    """Return the error that names the missing right; None if the client has it, or if no broker tells."""
    client = AdminClient({name: value for name, value in settings.items() if name.startswith(CONNECTION)})
    needs = NeededRights(group=f"{operation} on group {group}")
    try:
        asked = client.describe_consumer_groups([group], include_authorized_operations=True, request_timeout=TIMEOUT_S)
        allowed = asked[group].result(TIMEOUT_S + 1).authorized_operations
    except ck.KafkaException as error:
        return translate(error.args[0], needs=needs) if needs.missing(error.args[0]) else None
    except TimeoutError:
        return None
    if not allowed or OPERATIONS[operation] in allowed:
        return None
    return translate(ck.KafkaError(ck.KafkaError.GROUP_AUTHORIZATION_FAILED), needs=needs)


def refusal_behind(error: RetriableError, settings: Mapping[str, str], group: str) -> EngineError | None:
    """Return why reading a group's offsets timed out, if a right is missing. Other errors tell their own reason."""
    return group_refusal(settings, group, "Describe") if str(error).startswith("_TIMED_OUT") else None
