"""An export of 200 000 dead letters, in a process of its own: what it holds in memory, and what a kill leaves."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from demo.network import wait_until

ROOT = Path(__file__).parents[3]
ROWS, SOME, DIFFERENT = 200_000, 20_000, 25_000
MAX_RSS_BYTES = 300 * 1024 * 1024
BEGIN = "import sys; from benchmarks.seed import connect, seed; connect(sys.argv[1]);"
# More differ than Parquet's row groups have; the rest are copies, and without the indexes that no export reads.
SEED = f"""{BEGIN}
from django.db import connection
from dlqadmin.deadletters.models import DeadLetter, DeadLetterBody

seed({DIFFERENT}, text=False)
with connection.schema_editor() as editor:
    for index in DeadLetter._meta.indexes:
        editor.remove_index(DeadLetter, index)
for model in (DeadLetter, DeadLetterBody):
    names = [f'"{{field.column}}"' for field in model._meta.local_concrete_fields]
    for there in ({DIFFERENT} << n for n in range(({ROWS} // {DIFFERENT}).bit_length() - 1)):
        moved = [f"{{name}} + {{there}}" if name in (names[0], '"offset"') else name for name in names]
        table, read = model._meta.db_table, ", ".join(moved)
        connection.cursor().execute(f"INSERT INTO {{table}} ({{', '.join(names)}}) SELECT {{read}} FROM {{table}}")
"""
# What rusage tells counts the memory of whoever started the program, too.
WRITE = f"""{BEGIN}
import json, re
from pathlib import Path
from datetime import timedelta
import msgspec
from django.utils import timezone
from dlqadmin.deadletters.filters import Filters
from dlqadmin.exports import writing
from dlqadmin.exports.models import Export
from dlqadmin.deadletters.watermark import complete_up_to

now = timezone.now()
writing.LOST_AFTER = timedelta(seconds=2)
if sys.argv[2]:
    filters = msgspec.to_builtins(Filters(now - timedelta(days=3650), now + timedelta(days=1)))
    last = min(complete_up_to(), int(sys.argv[3]))
    Export.objects.create(created_at=now, format=sys.argv[2], filters=filters, watermark=last)
print("begun", flush=True)
writing.write_next()
export = Export.objects.order_by("pk").last()
told = {{name: getattr(export, name) for name in ("state", "rows", "sha256", "file", "attempts", "size")}}
status = Path("/proc/self/status").read_text()
rss = int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) * 1024
print(json.dumps({{**told, "rss": rss}}))
"""


class Seeded:
    """A database with so many dead letters, and a folder for exports."""

    def __init__(self, url: str, home: Path) -> None:
        self.url = url
        self.folder = home / "exports"
        self._env = {**os.environ, "SECRET_KEY": "k" * 50, "EXPORTS_DIR": str(self.folder), "LOCAL_DIR": str(home)}

    def start(self, script: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, self.url, *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=self._env, stdout=pipe, stderr=subprocess.DEVNULL, text=True)

    def write(self, form: str, rows: int = ROWS) -> Any:
        """What the worker's row says after one export; an empty format takes up what was left."""
        with self.start(WRITE, form, str(rows)) as process:
            said = process.communicate()[0].splitlines()
        assert process.returncode == 0
        return json.loads(said[-1])


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    home = tmp_path_factory.mktemp("seeded")
    for url in _database(home):
        made = Seeded(url, home)
        with made.start(SEED) as process:
            process.communicate()
        assert process.returncode == 0
        yield made


@pytest.fixture(scope="module")
def whole(seeded: Seeded) -> Any:
    """What the worker's row says after all were written as NDJSON."""
    return seeded.write("ndjson")


def test_all_of_200_000_rows_are_written_in_less_than_300_mb(whole: Any) -> None:
    assert (whole["state"], whole["rows"]) == ("done", ROWS)
    assert whole["rss"] < MAX_RSS_BYTES


@pytest.mark.skipif(
    connection.vendor != "sqlite", reason="rows become Parquet in the same way whatever they are read from"
)
def test_so_are_they_as_parquet(seeded: Seeded) -> None:
    told = seeded.write("parquet")
    assert (told["state"], told["rows"]) == ("done", ROWS)
    assert told["rss"] < MAX_RSS_BYTES


def test_a_killed_worker_leaves_no_half_file_and_the_next_writes_the_same(seeded: Seeded, whole: Any) -> None:
    before = {path.name for path in seeded.folder.iterdir()}
    with seeded.start(WRITE, "ndjson", str(SOME)) as process:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        wait_until(lambda: process.poll() is not None or half_written(seeded.folder), "Half a file", 60, 0.01)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    left = {path.name for path in seeded.folder.iterdir()} - before
    assert [Path(name).suffix for name in left] == [".part"]
    time.sleep(2.1)  # until its heartbeat is old
    told = seeded.write("", SOME)
    assert (told["state"], told["attempts"]) == ("done", 2)
    with (seeded.folder / whole["file"]).open("rb") as lines:
        same = b"".join(islice(lines, SOME))
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
