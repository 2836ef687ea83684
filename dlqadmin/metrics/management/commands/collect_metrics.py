"""`manage.py collect_metrics`: read the engine's status topic once."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.metrics import collector


class Command(BaseCommand):
    """Run the periodic task of every two seconds once."""

    help = "Read the engine's status topic to its end and store the metrics of every task."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            count = collector.collect()
        except BrokerUnavailable as error:
            raise CommandError(f"Kafka does not respond: {error}") from error
        self.stdout.write(f"read {count} status records")
