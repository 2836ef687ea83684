"""Write docs/reference/rest.md from the API's own schema: `python -m demo.reference [file]`.

Without a file, also write the table of limits in docs/reference/environment.md from the settings.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import django

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "rest.md"
PREFIX = "/api/v1/"
ENVIRONMENT = PAGE.with_name("environment.md")
LIMITS_HEAD = """\
## Limits

This section is generated from the settings by `python -m demo.reference`; do not edit it.

| variable | default | unit | meaning |
| --- | --- | --- | --- |
"""
HEAD = """\
# REST API of the dashboard

Generated from the API's schema by `python -m demo.reference`; do not edit.

`GET /api/schema` returns the whole schema (OpenAPI 3.1) with parameters, bodies and responses. Sign
in with a session, or send an API token as `Authorization: Bearer …`. Every error is a problem
document (RFC 9457).
"""


def render() -> str:
    """Return the page: a table for each first word of the paths, with one line per operation."""
    # The schema imports the views, which need Django's settings.
    from drf_spectacular.generators import SchemaGenerator

    schema: Mapping[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    rows = sorted(_rows(schema["paths"]))
    tables = [_table(name, [row[1:] for row in group]) for name, group in groupby(rows, key=lambda row: row[0])]
    return "\n".join([HEAD, *tables])


def with_limits(page: str) -> str:
    """Return the page of the environment with the limits of the settings as its last section."""
    from dlqadmin.settings.environment import LIMITS  # filled by the settings, which Django has read

    rows = [f"| `{name}` | {one.default} | {one.unit} | {one.meaning} |\n" for name, one in LIMITS.items()]
    return page.partition(LIMITS_HEAD.partition("\n")[0])[0] + LIMITS_HEAD + "".join(rows)


def _rows(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield first word, path, method and first description line of each operation."""
    for path, operations in paths.items():
        for method, operation in operations.items():
            first = operation.get("description", "").strip().partition("\n")[0].replace("|", r"\|")
            yield path.removeprefix(PREFIX).partition("/")[0], path, method.upper(), first


def _table(name: str, rows: list[tuple[str, str, str]]) -> str:
    lines = [f"| `{method} {path}` | {first} |" for path, method, first in rows]
    title = re.sub("-", " ", name).capitalize()
    return "\n".join([f"## {title}", "", "| operation | what it does |", "| --- | --- |", *lines, ""])


def main() -> None:
    """Write the page."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")
    django.setup()
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    page.write_text(render())
    if page == PAGE:
        ENVIRONMENT.write_text(with_limits(ENVIRONMENT.read_text()))


if __name__ == "__main__":
    main()
