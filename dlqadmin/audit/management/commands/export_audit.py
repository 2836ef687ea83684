"""`manage.py export_audit`: write the audit trail as NDJSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from dlqadmin.audit.entry_filters import EntryFilter
from dlqadmin.audit.entry_lines import iterate_pages
from dlqadmin.rest.problems import ParameterError
from dlqadmin.rest.times import parse_time


class Command(BaseCommand):
    """Write to standard output. Changes nothing."""

    help = "Write the audit trail as NDJSON, one entry per line, in the order of its chain."

    def add_arguments(self, parser: CommandParser) -> None:
        for option in ("from", "to"):
            parser.add_argument(f"--{option}", help="a time, such as 2026-11-01 or now-30d (default: no limit)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            start, end = (self._time(option, options[option]) for option in ("from", "to"))
        except ParameterError as error:
            raise CommandError(f"--from and --to: {error.detail}") from error
        for page in iterate_pages(EntryFilter(start=start, end=end)):
            self.stdout.write(page.decode(), ending="")

    def _time(self, option: str, text: str | None) -> datetime | None:
        return parse_time(option, text, timezone.now()) if text else None
