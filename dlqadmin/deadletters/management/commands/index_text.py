"""`manage.py index_text`: write the search text of indexed dead letters.

Run it beside the indexer or after an upgrade.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from dlqadmin.deadletters.index import word_index


class Command(BaseCommand):
    """Write queued text until the queue is empty. Any number of these may run at once."""

    help = "Index the text of dead letters that are queued for the word search."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--missing", action="store_true", help="first queue all dead letters without text")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["missing"]:
            self.stdout.write(f"queued {word_index.queue_missing(timezone.now())} dead letters")
        written = 0
        while part := word_index.write_queued_words():
            written += part
        self.stdout.write(f"indexed the text of {written} dead letters")
