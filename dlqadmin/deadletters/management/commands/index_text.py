"""`manage.py index_text`: makes listed dead letters searchable, beside the indexer or after an upgrade."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from dlqadmin.deadletters import text_indexing


class Command(BaseCommand):
    """Writes the words of what is queued, until nothing is; any number may run at once."""

    help = "Write the text of dead letters that wait for it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--missing", action="store_true", help="queue all that have no text, before")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["missing"]:
            self.stdout.write(f"queued {text_indexing.queue_missing(timezone.now())} dead letters")
        written = 0
        while part := text_indexing.fill():
            written += part
        self.stdout.write(f"{written} dead letters can be searched by their words")
