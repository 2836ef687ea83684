"""Addresses of the screens that show what an audit entry is about."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.reach import TASK

# The types of objects whose names are a letter and their id, such as R-12.
NUMBERED = {"replay": "/replays/{}", "bulk fix": "/bulk-fixes/{}", "export": "/exports", "erasure": "/settings/erase"}
_NUMBERED_NAME = re.compile(r"[A-Z]-(\d{1,19})", re.ASCII)
_ID = re.compile(r"\d{1,19}", re.ASCII)
# Before roles had a type of their own, these actions on a "group" were about a group of users.
OF_ROLES = frozenset(("created", "changed", "deleted"))


def href_of(entry: AuditEntry) -> str | None:
    """Return the path of the screen of the entry's object, or None if it has none.

    The object may have been deleted since.
    """
    kind, name = entry.object_type, entry.object_id
    if kind in NUMBERED:
        number = _NUMBERED_NAME.fullmatch(name)
        return NUMBERED[kind].format(number[1]) if number else None
    if kind == "group":
        return f"/groups/{name}" if _ID.fullmatch(name) and entry.action not in OF_ROLES else None
    if kind == "connector":
        connector = TASK.sub("", name) if entry.action == "restart task" else name
        cluster = entry.detail.get("cluster")  # older entries name none; their links lead to the name alone
        parts = (cluster, connector) if isinstance(cluster, str) else (connector,)
        return "/".join(("/connectors", *(quote(part, safe="") for part in parts)))
    if kind == "topic":
        return f"/topics/{quote(name, safe='')}"
    if kind == "mapping":
        return f"/settings/dialects/{quote(name, safe='')}"
    if kind in ("dead letter", "fix"):
        return _record_path(entry.detail.get("id" if kind == "dead letter" else "dead_letter"))
    return "/settings/clusters" if kind == "cluster" else None


def _record_path(key: Any) -> str | None:
    """Return the path of a record. The detail of an entry may have another shape than this version writes."""
    return f"/records/{key}" if isinstance(key, int) and not isinstance(key, bool) else None
