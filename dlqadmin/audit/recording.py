"""Writing the audit trail."""

import hashlib
from typing import Any

import orjson
from django.contrib.auth.models import User

from dlqadmin.audit.models import AuditEntry
from dlqadmin.rest.text import storable

MAX_OBJECT_ID = 300


def record(
    actor: Any, action: str, object_type: str, object_id: str, detail: dict[str, Any] | None = None
) -> AuditEntry:
    """Note that `actor` (a user, or the name of a process) did `action`; the digest covers the whole entry.

    Call it inside the transaction of the act, so that neither exists without the other.
    """
    user = actor if isinstance(actor, User) and actor.pk else None
    name = user.get_username() if user else str(actor)
    object_id, detail = storable(object_id)[:MAX_OBJECT_ID], storable(detail or {})
    facts = {"actor": name, "action": action, "type": object_type, "id": object_id, "detail": detail}
    digest = hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()
    return AuditEntry.objects.create(
        user=user,
        actor=name,
        action=action,
        object_type=object_type,
        object_id=object_id,
        detail=orjson.loads(orjson.dumps(detail, default=str)),
        digest=digest,
    )
