"""`manage.py reindex_deadletters TOPIC`: read a dead letter topic again from its beginning."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index.reindex import reindex


class Command(BaseCommand):
    """Replace the rows of all records that the topic still contains. The indexer may run meanwhile."""

    help = "Read a dead letter topic again, after a change of dialects or fingerprints."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("topic")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            written = reindex(options["topic"])
        except BrokerUnavailable as error:
            raise CommandError(
                f"Kafka does not respond: {error}. No data was lost. Start the command again."
            ) from error
        except OperationalError as error:
            raise CommandError(f"The database failed: {error}. No data was lost. Start the command again.") from error
        self.stdout.write(f"reindexed {written} dead letters")
