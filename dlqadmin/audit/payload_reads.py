"""Audit entries for reads of payloads, written before the content is shown."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
from django.core.cache import cache
from django.db import DatabaseError, transaction
from rest_framework.exceptions import APIException

from dlqadmin.audit.entries import record
from dlqadmin.audit.models import READ
from dlqadmin.rest.current_request import client_address, current_request

ONE_ENTRY_S = 300  # a repeated read within this time adds no entry; each web process counts separately


class AuditUnavailable(APIException):
    """The audit trail cannot be written, so the content stays hidden."""

    status_code = 503
    default_detail = "The audit trail can't be written, so the content is hidden. Try again later."
    default_code = "not_audited"


def note_read(
    actor: Any, object_type: str, object_id: str, detail: dict[str, Any], *, records: int | None = None
) -> None:
    """Record that `actor` reads content. The same read adds one entry in five minutes.

    Two reads are the same if person, address, API token or session, object and detail are equal. So reads
    with a stolen token are recorded beside those of its owner. `records` is the number of records shown; it
    does not distinguish reads. Raises AuditUnavailable.
    """
    request = current_request()
    sender = [request and client_address(request), getattr(getattr(request, "auth", None), "pk", "session")]
    identity = orjson.dumps(
        [actor.pk, *sender, object_type, object_id, detail], option=orjson.OPT_SORT_KEYS, default=str
    )
    name = f"payload-read-{hashlib.sha256(identity).hexdigest()}"
    if cache.get(name):
        return
    more = {} if records is None else {"records": records}
    try:
        with transaction.atomic():
            record(actor, READ, object_type, object_id, {**detail, **more})
    except DatabaseError as error:
        raise AuditUnavailable from error
    cache.set(name, 1, ONE_ENTRY_S)  # after the entry, because readers of the mark rely on the entry
