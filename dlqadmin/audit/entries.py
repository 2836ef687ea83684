"""Write audit entries."""

from functools import partial
from typing import Any

import orjson
from django.contrib.auth.models import User
from django.db import transaction

from dlqadmin.audit import chain, digests
from dlqadmin.audit.models import AuditEntry
from dlqadmin.rest.current_request import client_address, current_request
from dlqadmin.rest.text import storable

MAX_OBJECT_ID = 300
MAX_ACTOR = 150


def record(
    actor: Any, action: str, object_type: str, object_id: str, detail: dict[str, Any] | None = None
) -> AuditEntry:
    """Record that `actor` did `action`, and the address of the request.

    `actor` is a user, or the name of a process. Call this function inside the transaction of the action, so
    that neither exists without the other. The entry is sealed after the commit.
    """
    user = actor if isinstance(actor, User) and actor.pk else None
    request = current_request()
    entry = AuditEntry(
        user=user,
        actor=storable(user.get_username() if user else str(actor))[:MAX_ACTOR],
        address=client_address(request) if request else None,
        action=action,
        object_type=object_type,
        object_id=storable(object_id)[:MAX_OBJECT_ID],
        detail=orjson.loads(orjson.dumps(storable(detail or {}), default=str)),
    )
    entry.digest = digests.entry_digest(entry, digests.keys()[-1])
    entry.save(force_insert=True)
    transaction.on_commit(partial(chain.seal_soon, entry.pk), robust=True)
    return entry
