"""Read the engine's status topic once, by hand."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.metrics import collecting


class Command(BaseCommand):
    """What the beat does every two seconds."""

    help = "Read the engine's status topic to its end and store the figures of every task."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = collecting.collect()
        except BrokerUnavailable as error:
            raise CommandError(f"Kafka does not answer: {error}") from error
        self.stdout.write(f"{count} status records read")
