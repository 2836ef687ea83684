"""The permission to run foreign programs where no sandbox works."""

from __future__ import annotations

from django.conf import settings

from dlqadmin.sandbox.trial import ConfinementVerdict

FOREIGN_CLASSES, JQ = "foreign-classes", "jq"
_NAMES = {FOREIGN_CLASSES: "Classes that are not built in", JQ: "jq programs"}


def refusal(what: str, found: ConfinementVerdict) -> str:
    """Return why a program of this kind must not run here, as sentences; empty if it may."""
    if found.confines or what in settings.ALLOWED_WITHOUT_SANDBOX:
        return ""
    return (
        f"{_NAMES[what]} are disabled on this server, because it has no sandbox ({found.reason}). Install "
        f"bubblewrap and allow user namespaces, or set ALLOWED_WITHOUT_SANDBOX={what}."
    )
