"""`manage.py verify_audit`: check the audit trail's chain."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dlqadmin.audit.verification import verify


class Command(BaseCommand):
    """Verify the chain. Changes nothing; exits with 1 if the chain is broken."""

    help = (
        "Verify the audit trail from its first entry. Report entries that were changed, removed, inserted "
        "or moved. Print the head as number:seal. Keep the head outside the database, and pass it to the "
        "next check with --head."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--head", help="a head from an earlier check; the chain must still contain it")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            checked = verify(options["head"])
        except ValueError as error:
            raise CommandError(f"--head: {error}", returncode=2) from error
        if checked.breaks:
            raise CommandError("\n".join([*checked.breaks, f"Intact up to {checked.head}"]))
        self.stdout.write(f"{checked.entries} entries are intact. Head: {checked.head}")
