"""Whether a second person must agree to a plan, and has: by its digest, so that another plan needs to be asked anew."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from dlqadmin.replays.models import Replay
from dlqadmin.rest.times import iso_or_none


def needs_approval(replay: Replay) -> bool:
    """Must a second person agree before it is run?"""
    return bool(0 < settings.APPROVAL_ABOVE < replay.plan.get("to_send", 0))


def approved(replay: Replay) -> bool:
    """Did somebody approve this very plan?"""
    return bool(replay.approved_digest) and replay.approved_digest == replay.plan.get("digest")


def approval_document(replay: Replay) -> dict[str, Any]:
    """Who asked for approval, who gave it, and whether both are of the plan as it is now."""
    return {
        "needed": needs_approval(replay),
        "above": settings.APPROVAL_ABOVE,
        "asked_by": replay.asked_by.get_username() if replay.asked_by else None,
        "asked_at": iso_or_none(replay.asked_at),
        "approved_by": replay.approved_by.get_username() if replay.approved_by else None,
        "approved_at": iso_or_none(replay.approved_at),
        "void": bool(replay.asked_digest) and replay.asked_digest != replay.plan.get("digest", ""),
        "approved": approved(replay),
    }
