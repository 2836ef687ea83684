"""Real Spark reads real exports by the code of docs/how-to/read-from-spark.md, section Exports."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.exports.models import Export
from dlqadmin.exports.tasks import write_exports
from engine.spark.java import driver_options
from tests.dlqadmin.deadletters.letters import ALL, index, letter

PAGE = Path(__file__).parents[2] / "docs/how-to/read-from-spark.md"
VALUES = [b'{"mag": 1.6}', b"\x00\xff", b"", None, b'say "hi",\r\nagain', "naïve ✓".encode()]
SAY = """
import json

def shown(cell):
    return bytes(cell).hex() if isinstance(cell, bytes | bytearray) else cell

def told(table, *names):
    rows = sorted(table.collect(), key=lambda row: int(row["id"]))
    return [[shown(row[name]) for name in names] for row in rows]

print(json.dumps({
    "by_error": [[row["stage"], row["exception_class"], row["count"]] for row in by_error.collect()],
    "letters": told(letters, "id", "value"),
    "mags": [row["value"] and row["value"]["mag"] for row in sorted(values.collect(), key=lambda row: row["id"])],
    "traced": told(traced, "trace_id"),
    "exact": told(exact, "id", "text", "value"),
    "cells": told(from_cells, "value"),
    "times": [str(row["failed_at"]) for row in letters.select("failed_at").distinct().collect()],
    "times_of_lines": [str(row["failed_at"]) for row in lines.select("failed_at").distinct().collect()],
}))
"""
# A JVM that lives for seconds compiles little: neither its own code nor what Spark SQL would make of six rows.
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
SUBMIT = [
    *("--master", "local[1]", "--driver-java-options", driver_options()),
    *(word for name, value in SETTINGS.items() for word in ("--conf", f"{name}={value}")),
    "pyspark-shell",
]


@pytest.fixture
def files(db: None, settings: Settings, tmp_path: Path) -> dict[str, Path]:
    """An export in each format, by the name that the page gives it."""
    settings.EXPORTS_DIR = tmp_path
    index([letter(n, value=value, headers=(("trace-id", b"t%d" % n),)) for n, value in enumerate(VALUES)])
    operator = User.objects.create_user("operator-1")
    for group in ("operator", "payload reader"):
        operator.groups.add(Group.objects.get_or_create(name=group)[0])
    client = APIClient()
    client.force_authenticate(operator)
    week = f"from={ALL['from']}&to={ALL['to']}"
    for form in ("parquet", "ndjson", "csv"):
        assert client.post("/api/v1/exports", {"format": form, "filter": week}).status_code == 201
    write_exports()
    return {f"dead-letters.{one.format}": tmp_path / one.file for one in Export.objects.all()}


def read_by_page(files: dict[str, Path]) -> Any:
    """What Spark says after the page's code, in a process of its own."""
    exports = PAGE.read_text().partition("\n## Exports\n")[2]
    code = "".join(re.findall(r"```python\n(.*?)```", exports, re.DOTALL))
    for name, path in files.items():
        assert name in code
        code = code.replace(f'"{name}"', f'"{path}"')
    env = {**os.environ, "PYSPARK_SUBMIT_ARGS": shlex.join(SUBMIT), "TZ": "UTC", "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run([sys.executable, "-c", code + SAY], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_page_reads_every_byte_of_every_format(files: dict[str, Path]) -> None:
    said = read_by_page(files)
    ids = list(DeadLetter.objects.order_by("id").values_list("id", flat=True))
    exact = [None if value is None else value.hex() for value in VALUES]
    texts = ['{"mag": 1.6}', None, "", None, 'say "hi",\r\nagain', "naïve ✓"]
    assert said["by_error"] == [["TASK_PUT", "sqlalchemy.exc.IntegrityError", len(VALUES)]]
    assert said["letters"] == [list(row) for row in zip(ids, exact, strict=True)]
    assert said["mags"] == [1.6, None, None, None, None, None]
    assert said["traced"] == [[(b"t%d" % n).hex()] for n in range(len(VALUES))]
    assert said["exact"] == [list(row) for row in zip(ids, texts, exact, strict=True)]
    assert said["cells"] == [[value or None] for value in exact]
    assert said["times"] == said["times_of_lines"] == ["2026-11-21 03:12:30"]
