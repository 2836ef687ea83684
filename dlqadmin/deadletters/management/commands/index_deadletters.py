"""`manage.py index_deadletters`: keep the index up to date with the dead letter topics."""

from __future__ import annotations

import signal
import sys
import threading
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from dlqadmin.deadletters.index.cluster_indexers import follow_clusters
from dlqadmin.host.readiness import INDEXER_READS
from dlqadmin.logs.context import set_process
from dlqadmin.rest.migrations_state import require_migrations

# One thread parses while another one writes. With the default interval of 5 ms, a thread that returns from
# the database would wait that long for the interpreter.
SWITCH_S = 0.0005


class Command(BaseCommand):
    """Run a member of a consumer group until a signal stops it. Start more for more throughput."""

    help = "Index the dead letter topics of all Kafka clusters continuously."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="stop at the end of every topic")
        parser.add_argument(
            "--cluster", action="append", help="index this Kafka cluster only; can be repeated (default: all)"
        )
        parser.add_argument("--group", default=settings.INDEX_GROUP, help="the consumer group to join")

    def handle(self, *args: Any, **options: Any) -> None:
        set_process("indexer")
        require_migrations()
        stop = threading.Event()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: stop.set())
        sys.setswitchinterval(SWITCH_S)
        indexed = follow_clusters(
            stop,
            options["group"],
            only=options["cluster"],
            once=options["once"],
            on_reading=lambda: self.stdout.write(INDEXER_READS),
        )
        self.stdout.write(f"indexed {indexed} dead letters")
