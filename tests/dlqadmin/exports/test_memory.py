"""An export in a process of its own: what it holds in memory, and what a kill leaves."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from dlqadmin.host.network import wait_until

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
FEW, MANY, DIFFERENT, AT_ONCE = 1_000, 12_000, 1_500, 500
ALL, ALL_DIFFERENT = 192_000, 24_000
MAX_RSS_BYTES = 300 * 1024 * 1024
BEGIN = "import sys; from benchmarks.seed import connect, seed; connect(sys.argv[1]);"
# More differ than Parquet's row groups have; the rest are copies, and without the indexes that no export reads.
SEED = f"""{BEGIN}
from django.db import connection
from dlqadmin.deadletters.models import DeadLetter, DeadLetterBody

rows, different = int(sys.argv[2]), int(sys.argv[3])
seed(different, text=False)
with connection.schema_editor() as editor:
    for index in DeadLetter._meta.indexes:
        editor.remove_index(DeadLetter, index)
for model in (DeadLetter, DeadLetterBody):
    names = [f'"{{field.column}}"' for field in model._meta.local_concrete_fields]
    for there in (different << n for n in range((rows // different).bit_length() - 1)):
        moved = [f"{{name}} + {{there}}" if name in (names[0], '"offset"') else name for name in names]
        table, read = model._meta.db_table, ", ".join(moved)
        connection.cursor().execute(f"INSERT INTO {{table}} ({{', '.join(names)}}) SELECT {{read}} FROM {{table}}")
"""
# What rusage tells counts the memory of whoever started the program, too.
WRITE = f"""{BEGIN}
import json, re
from dataclasses import replace
from pathlib import Path
from datetime import timedelta
import msgspec
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.exports import file_writer, parquet, row_reader
from dlqadmin.exports.models import Export
from dlqadmin.deadletters.index.watermark import complete_up_to

now = timezone.now()
file_writer.EXPORTS = replace(file_writer.EXPORTS, lease=timedelta(0))
if at_once := int(sys.argv[2]):
    row_reader.WINDOW_ROWS = parquet.GROUP_ROWS = at_once
    if connection.vendor == "sqlite":  # whose cache may otherwise grow to 32 MB
        connection.cursor().execute("PRAGMA cache_size=-1000")
print("begun", flush=True)
for form, rows in (one.split(":") for one in sys.argv[3:]):
    if form:
        filters = msgspec.to_builtins(Filters(now - timedelta(days=3650), now + timedelta(days=1)))
        author, _ = User.objects.get_or_create(username="root", is_superuser=True)
        last = min(complete_up_to(), int(rows))
        Export.objects.create(created_by=author, created_at=now, format=form, filters=filters, watermark=last)
    file_writer.write_next()
    export = Export.objects.order_by("pk").last()
    told = {{name: getattr(export, name) for name in ("state", "rows", "sha256", "file", "tries", "size")}}
    status = Path("/proc/self/status").read_text()
    rss = int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1024
    print(json.dumps({{**told, "rss": rss}}), flush=True)
"""
Exported = tuple[str, int]  # a format, and the first so many rows; an empty format takes up what was left


class Seeded:
    """A database with so many dead letters, and a folder for exports."""

    def __init__(self, url: str, home: Path, rows: int, different: int) -> None:
        self.url = url
        self.folder = home / "exports"
        self._env = {**os.environ, "SECRET_KEY": "k" * 50, "EXPORTS_DIR": str(self.folder), "LOCAL_DIR": str(home)}
        with self._start(SEED, rows, different) as process:
            process.communicate()
        assert process.returncode == 0

    def start(self, *exports: Exported, at_once: int = 0) -> subprocess.Popen[str]:
        """Begin exports, one after the other; `at_once` bounds the rows that a query reads and a row group holds."""
        return self._start(WRITE, at_once, *(f"{form}:{rows}" for form, rows in exports))

    def write(self, *exports: Exported, at_once: int = 0) -> list[Any]:
        """Return what the worker's row says after each export, and the most memory that its process had by then."""
        with self.start(*exports, at_once=at_once) as process:
            said = process.communicate()[0].splitlines()
        assert process.returncode == 0
        told = [json.loads(line) for line in said[1:]]
        assert [(one["state"], one["rows"]) for one in told] == [("done", rows) for _, rows in exports]
        return told

    def _start(self, script: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, self.url, *map(str, arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=self._env, stdout=pipe, stderr=subprocess.DEVNULL, text=True)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    home = tmp_path_factory.mktemp("seeded")
    for url in _database(home):
        yield Seeded(url, home, MANY, DIFFERENT)


@pytest.fixture(scope="module")
def written(seeded: Seeded) -> list[Any]:
    """Few and many as NDJSON, then few and many as Parquet, by one process."""
    return seeded.write(("ndjson", FEW), ("ndjson", MANY), ("parquet", FEW), ("parquet", MANY), at_once=AT_ONCE)


@pytest.mark.sql
def test_more_rows_take_no_more_memory(written: list[Any]) -> None:
    few, many, few_as_parquet, many_as_parquet = written
    bound = (many["size"] - few["size"]) // 3
    assert many["rss"] - few["rss"] < bound
    assert many_as_parquet["rss"] - few_as_parquet["rss"] < bound


# Tens of thousands of records.
@pytest.mark.soak
@pytest.mark.sql
def test_all_of_192_000_rows_are_written_in_less_than_300_mb(tmp_path: Path) -> None:
    for url in _database(tmp_path):
        large = Seeded(url, tmp_path, ALL, ALL_DIFFERENT)
        # Rows become Parquet in the same way whatever they are read from.
        for form in ("ndjson", "parquet") if connection.vendor == "sqlite" else ("ndjson",):
            assert large.write((form, ALL))[0]["rss"] < MAX_RSS_BYTES


def test_a_killed_worker_leaves_no_half_file_and_the_next_writes_the_same(seeded: Seeded, written: list[Any]) -> None:
    whole = written[1]
    before = {path.name for path in seeded.folder.iterdir()}
    with seeded.start(("ndjson", MANY)) as process:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        wait_until(lambda: process.poll() is not None or half_written(seeded.folder), "Half a file", 60, 0.01)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    left = {path.name for path in seeded.folder.iterdir()} - before
    assert [Path(name).suffix for name in left] == [".part"]
    (told,) = seeded.write(("", MANY))
    assert told["tries"] == 2
    same = (seeded.folder / whole["file"]).read_bytes()
    assert (seeded.folder / told["file"]).read_bytes() == same
    assert told["sha256"] == hashlib.sha256(same).hexdigest()


def _database(home: Path) -> Iterator[str]:
    """A database of this file's own, of the kind that the tests run on."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{home}/seeded.sqlite3"
        return
    server = os.environ["DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute("CREATE DATABASE exports")
        yield f"{server.rpartition('/')[0]}/exports"
        admin.execute("DROP DATABASE exports")


def half_written(folder: Path) -> bool:
    """Whether some of a file that is not whole is there."""
    return any(path.stat().st_size for path in folder.glob("*.part"))
