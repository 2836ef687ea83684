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

    help = "Write the text of dead letters that wait for it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--missing", action="store_true", help="queue all that have no text, before")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["missing"]:
            self.stdout.write(f"queued {word_index.queue_missing(timezone.now())} dead letters")
        written = 0
        while part := word_index.fill():
            written += part
        self.stdout.write(f"{written} dead letters can be searched by their words")
