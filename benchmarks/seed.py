"""Fill a database with an index of many dead letters: `python -m benchmarks.seed ROWS`.

`make seed` runs it. The database is PostgreSQL in .local/seed, or the one that DATABASE_URL names.
Rows and bodies are copied (COPY) into tables whose indexes are created afterwards. Counters,
positions, groups and text are the same as the indexer would write.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.failures import FailureKind, failures, kinds, now
from demo.postgres import LocalPostgres

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".local" / "seed"
CLUSTER = "local"
CHUNK = 50_000
# Plausible settings for such a machine.
SERVER = {"shared_buffers": "2GB", "maintenance_work_mem": "1GB", "max_wal_size": "8GB", "random_page_cost": "1.1"}
KEPT = {**SERVER, "synchronous_commit": "off"}  # the data can be generated again
VALUE = '{"id": %d, "team": "%s", "gap": %s, "amount": %d.%02d, "currency": "EUR", "note": "order %d of %s, %s"}'
WORDS = ("late", "paid", "open", "gift", "return", "urgent", "partial", "retry")


@contextmanager
def server(home: Path = HOME, options: Mapping[str, str] = KEPT) -> Iterator[str]:
    """Start the database that is kept between runs, and yield its URL."""
    postgres = LocalPostgres(home / "postgres", options).start()
    try:
        yield postgres.url
    finally:
        postgres.stop()


@contextmanager
def scratch_database(*, copied: bool) -> Iterator[str]:
    """Start a temporary database, and yield its URL.

    It is empty, or a copy of the kept database.
    """
    HOME.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME) as home:
        Path(home).chmod(0o755)  # the server may run as another user
        if copied:
            subprocess.run(["cp", "-a", "--reflink=auto", str(HOME / "postgres"), home], check=True)
            os.sync()  # commits of the benchmark would wait until the copy is on the disk
        with server(Path(home), SERVER) as url:
            yield url


def connect(url: str) -> None:
    """Configure Django for this database and create all tables. Call it once per process."""
    os.environ |= {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "dlqadmin.settings"}
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def seed(rows: int, *, text: bool = True) -> None:
    """Add dead letters to the database of `connect`. The newest are from the current hour."""
    from django.db import connection

    started = time.monotonic()
    if connection.vendor == "postgresql":
        with _without_indexes():
            _load(rows, text=text)
    else:
        _load(rows, text=text)
    with connection.cursor() as cursor:
        # VACUUM cannot run in a transaction.
        alone = connection.vendor == "postgresql" and not connection.in_atomic_block
        cursor.execute("VACUUM ANALYZE" if alone else "ANALYZE")
    print(f"{rows:,} dead letters in {time.monotonic() - started:,.0f} s", flush=True)


def _load(rows: int, *, text: bool) -> None:
    from django.db.models import Max

    from dlqadmin.deadletters.index import partitions
    from dlqadmin.deadletters.models import DeadLetter

    partitions.make_room(rows)
    last = DeadLetter.objects.aggregate(last=Max("id"))["last"] or 0
    writer = _SeedWriter(last + 1)
    todo = failures(rows, now())
    while chunk := list(islice(todo, CHUNK)):
        writer.write(chunk)
        print(f"{writer.written:,} of {rows:,}", file=sys.stderr, flush=True)
    writer.finish()
    if text:
        _write_text()


def _write_text() -> None:
    """Write the text of all dead letters that have none yet, as the indexer would."""
    from django.db.models import Max

    from dlqadmin.deadletters.index.bulk_insert import bulk
    from dlqadmin.deadletters.index.word_index import TEXTS, text_rows
    from dlqadmin.deadletters.models import DeadLetter, DeadLetterText

    first = (DeadLetterText.objects.aggregate(last=Max("pk"))["last"] or 0) + 1
    last = DeadLetter.objects.aggregate(last=Max("pk"))["last"] or 0
    for start in range(first, last + 1, CHUNK):
        rows = text_rows(DeadLetter.objects.filter(pk__gte=start, pk__lt=start + CHUNK))
        bulk().insert(TEXTS, list(rows))  # a list, because a connection that copies cannot run other queries
        print(f"text of {min(last, start + CHUNK - 1):,} of {last:,}", file=sys.stderr, flush=True)


class _SeedWriter:
    """A writer of chunks of failures, and of their counters at the end."""

    def __init__(self, first_id: int) -> None:
        self._first, self._next = first_id, first_id
        self._kinds = [_SeededFailure(kind) for kind in kinds()]
        self._offsets: Counter[tuple[str, int]] = Counter()
        self._hours: Counter[tuple[int, int, str, str, str]] = Counter()
        self._seen: dict[int, tuple[datetime, datetime]] = {}
        self._seed_offsets()

    @property
    def written(self) -> int:
        return self._next - self._first

    def write(self, chunk: Iterable[Any]) -> None:
        from django.db import transaction

        from dlqadmin.deadletters.index.bulk_insert import bulk
        from dlqadmin.deadletters.index.letter_rows import BODIES, LETTERS

        rows, bodies = [], []
        for failure in chunk:
            kind = self._kinds[failure.kind]
            row, body = kind.row(self._next, failure, self._offset(kind.kind.topic, failure.partition))
            rows.append(row)
            bodies.append(body)
            self._next += 1
            hour = int(failure.at.timestamp()) // 3600
            self._hours[hour, kind.fingerprint, CLUSTER, kind.kind.topic, kind.kind.connector] += 1
            self._seen[kind.group] = (self._seen.get(kind.group, (failure.at,))[0], failure.at)
        with transaction.atomic():
            bulk().insert(LETTERS, rows)
            bulk().insert(BODIES, bodies)

    def finish(self) -> None:
        """Write counters, positions, the groups' times and the sequence of ids."""
        from django.db import connection

        from dlqadmin.deadletters.index.bulk_insert import bulk
        from dlqadmin.deadletters.index.letter_rows import DAYS, HOURS, ORIGINS, SOURCES, counts, days
        from dlqadmin.deadletters.models import Group, IndexPosition

        every = {(CLUSTER, row.kind.topic, row.kind.connector, row.kind.origin_topic) for row in self._kinds}
        bulk().keep(ORIGINS, sorted(every))
        bulk().keep(SOURCES, sorted({cell[1:] for cell in self._hours}))
        bulk().add(HOURS, counts(self._hours))
        bulk().add(DAYS, counts(days(self._hours)))
        for group in Group.objects.filter(pk__in=self._seen):
            group.first_seen, group.last_seen = self._seen[group.pk]
            group.save(update_fields=["first_seen", "last_seen"])
        for (topic, partition), end in self._offsets.items():
            at = {"position": end, "end_offset": end, "updated_at": now(), "last_record_at": now()}
            IndexPosition.objects.update_or_create(cluster=CLUSTER, topic=topic, partition=partition, defaults=at)
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT setval('deadletters_deadletter_id_seq', %s)", [self._next - 1])

    def _offset(self, topic: str, partition: int) -> int:
        offset = self._offsets[topic, partition]
        self._offsets[topic, partition] += 1
        return offset

    def _seed_offsets(self) -> None:
        from dlqadmin.deadletters.models import IndexPosition

        for row in IndexPosition.objects.filter(cluster=CLUSTER):
            self._offsets[row.topic, row.partition] = row.position


class _SeededFailure:
    """A kind of failure with its database rows: fingerprint, group and trace."""

    def __init__(self, kind: FailureKind) -> None:
        from dlqadmin.deadletters.index.column_values import pack_headers
        from dlqadmin.deadletters.index.fingerprint import fingerprint
        from dlqadmin.deadletters.index.group_titles import title
        from dlqadmin.deadletters.models import Fingerprint, Group, Trace

        self.kind = kind
        why = fingerprint(kind.exception_class, kind.stage, kind.message, kind.frame)
        known = Fingerprint.objects.filter(digest=why.digest).first()
        if known is None:
            times = {"first_seen": now(), "last_seen": now()}
            known = Fingerprint.objects.create(
                digest=why.digest,
                group=Group.objects.create(title=title(why.exception_class, why.message)[:200], **times),
                exception_class=why.exception_class,
                stage=why.stage,
                message=why.message,
                frame=why.frame,
                holes=[{"name": hole.name, "example": hole.example} for hole in why.holes],
            )
        self.fingerprint, self.group = known.pk, known.group_id
        text = f"{kind.exception_class}: {kind.message}\n\tat com.example.{kind.frame.replace(':', '(')}:42)\n"
        self._trace = Trace.objects.get_or_create(digest=why.digest[-40:].rjust(64, "0"), defaults={"text": text})[0].pk
        self._headers = pack_headers(
            (
                ("__connect.errors.topic", kind.origin_topic.encode()),
                ("__connect.errors.connector.name", kind.connector.encode()),
                ("__connect.errors.stage", kind.stage.encode()),
                ("__connect.errors.exception.class.name", kind.exception_class.encode()),
                ("__connect.errors.exception.message", kind.message.encode()),
                ("version", b"2.%d" % (self.fingerprint % 4)),
            )
        )

    def row(self, pk: int, failure: Any, offset: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the failure's row and its body."""
        from dlqadmin.deadletters.index.column_values import key_hash
        from dlqadmin.deadletters.index.letter_rows import LETTERS

        kind, number = self.kind, failure.key
        key = None if number is None else b"%s-%d" % (kind.connector.encode(), number)
        gap = "null" if failure.kind % 10 == 0 else str(pk % 360)
        word = WORDS[pk % len(WORDS)]
        value = (VALUE % (pk, kind.connector, gap, pk % 900, pk % 100, pk, kind.origin_topic, word)).encode()
        row = {
            "id": pk,
            "fingerprint_id": self.fingerprint,
            "cluster": CLUSTER,
            "indexed_at": failure.at,
            "topic": kind.topic,
            "partition": failure.partition,
            "offset": offset,
            "failed_at": failure.at,
            "first_failure_at": failure.at,
            "elapsed_ms": 3,
            "attempt": 1,
            "connector": kind.connector,
            "task_id": f"{kind.connector}-{failure.task}",
            "origin_topic": kind.origin_topic,
            "origin_partition": failure.partition,
            "origin_offset": offset * 3,
            "origin_timestamp": failure.at,
            "key_text": None if key is None else key.decode(),
            "key_hash": key_hash(key),
            "key_size": None if key is None else len(key),
            "value_size": len(value),
            "message": kind.message,
            "dialect": "connect-headers",
            "readable": True,
            "original": "embedded",
            "trace_id": self._trace,
        }
        columns = tuple(row.get(column) for column in LETTERS.columns)  # the others are null
        return columns, (pk, key, value, None, self._headers, None, None, None)


@contextmanager
def _without_indexes() -> Iterator[None]:
    """Drop all indexes and constraints except primary keys, and restore them at the end."""
    from django.db import connection

    tables = ["deadletters_deadletter", "deadletters_deadletterbody", "deadletters_deadlettertext"]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE conrelid::regclass::text = ANY(%s) AND contype IN ('u', 'f')",
            [tables],
        )
        constraints = cursor.fetchall()
        for table, name, _ in constraints:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        cursor.execute(
            "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY(%s) AND indexname NOT LIKE '%%_pkey'",
            [tables],
        )
        # Of a partitioned table, an index is made with those of its partitions.
        indexes = [(name, definition.replace(" ON ONLY ", " ON ")) for name, definition in cursor.fetchall()]
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {name}")
    yield
    with connection.cursor() as cursor:
        for number, (_, definition) in enumerate(indexes, 1):
            print(f"index {number} of {len(indexes)}", file=sys.stderr, flush=True)
            cursor.execute(definition)
        for table, name, definition in constraints:
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")


def main(arguments: Sequence[str]) -> int:
    """Seed the given number of dead letters. Returns 2 for an invalid number."""
    if len(arguments) != 1 or not arguments[0].isdigit():
        print("usage: python -m benchmarks.seed ROWS", file=sys.stderr)
        return 2
    if url := os.environ.get("DATABASE_URL"):
        connect(url)
        seed(int(arguments[0]))
        return 0
    with server() as url:
        connect(url)
        seed(int(arguments[0]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
