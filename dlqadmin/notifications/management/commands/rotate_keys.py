"""`manage.py rotate_keys`: encrypt all stored secrets with the present keys, so that former keys can be removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import models, transaction

from dlqadmin.accounts import two_factor
from dlqadmin.accounts.models import TotpDevice
from dlqadmin.audit.entries import record
from dlqadmin.notifications import sealed_text
from dlqadmin.notifications.models import Channel

ACTOR = "manage.py rotate_keys"
CHANNEL_FIELDS = ("target", "signing_secret", "former_secret")


class Command(BaseCommand):
    """Rewrite each row in a transaction of its own. A second run changes nothing."""

    help = (
        "Encrypt the targets and secrets of channels with ALERT_KEY, and the secrets of two-factor sign-in with "
        "SECRET_KEY. Afterwards ALERT_OLD_KEYS and SECRET_KEY_FALLBACKS are no longer needed to read them. "
        "Exits with 1 if no key reads a row; all other rows are rewritten."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        unreadable: list[str] = []
        for what, model, fields, reseal in (
            ("channels", Channel, CHANNEL_FIELDS, _resealed_text),
            ("two-factor secrets", TotpDevice, ("sealed_secret",), two_factor.reseal),
        ):
            unread = self._rotate(what, model, fields, reseal)
            if unread:
                unreadable.append(f"{what} {', '.join(map(str, unread))}")
        if unreadable:
            raise CommandError(
                f"No key reads {' and '.join(unreadable)} (ids): add the former key to ALERT_OLD_KEYS or "
                "SECRET_KEY_FALLBACKS, or enter the target again or reset the two-factor sign-in."
            )

    def _rotate(
        self, what: str, model: type[models.Model], fields: tuple[str, ...], reseal: Callable[[str], str | None]
    ) -> list[int]:
        """Rewrite the rows of one table and print the counts. Return the ids of rows that no key reads."""
        rows = model._base_manager.order_by("pk")
        changed, unread, ids = 0, [], list(rows.values_list("pk", flat=True))
        for pk in ids:
            with transaction.atomic():
                # The lock keeps a target that a person saves at the same time.
                row = rows.select_for_update().filter(pk=pk).values(*fields).first()
                if row is None:
                    continue
                sealed = {name: reseal(value) for name, value in row.items() if value}
                if None in sealed.values():
                    unread.append(pk)
                elif new := {name: value for name, value in sealed.items() if value != row[name]}:
                    rows.filter(pk=pk).update(**new)
                    changed += 1
        if changed:
            record(ACTOR, "rotated keys", what, "", {"rows": changed})
        self.stdout.write(f"{what}: {changed} encrypted again, {len(ids) - changed - len(unread)} unchanged.")
        return unread


def _resealed_text(sealed: str) -> str | None:
    try:
        return sealed_text.reseal(sealed)
    except sealed_text.UnreadableText:
        return None
