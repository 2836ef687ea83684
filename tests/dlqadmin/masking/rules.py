"""A masking rule for tests that need no more than that one is in force."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from dlqadmin.masking.models import MaskingRule


def mask(*except_roles: dict[str, Any]) -> MaskingRule:
    """A rule for a field of all topics, for everybody without one of these roles."""
    now = timezone.now()
    return MaskingRule.objects.create(
        topics=["*"], kind="json path", field="$.ssn", show="nothing", except_roles=list(except_roles),
        reason="private", created_at=now, changed_at=now,
    )  # fmt: skip
