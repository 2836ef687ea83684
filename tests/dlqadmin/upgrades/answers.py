"""Ask the dashboard for everything that it shows: `python -m tests.dlqadmin.upgrades.answers`.

It prints a JSON object with the status of each GET of the API's description. Addresses with ids get those of the lists.
The database is that of DATABASE_URL. No other service needs to answer.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dlqadmin.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402, models need Django's settings
from rest_framework.test import APIClient  # noqa: E402

from tests.security.operations import operations  # noqa: E402

STREAMS = {"live_events"}  # they end after a minute
PARAMETER = re.compile(r"\{(\w+)\}")


def main() -> None:
    """Print the answers."""
    user = User.objects.filter(is_superuser=True).first() or User.objects.create_superuser("upgrade")
    client = APIClient(raise_request_exception=False)
    client.force_login(user)
    sys.stdout.write(json.dumps(dict(answers(client))))


def answers(client: APIClient) -> Iterator[tuple[str, int]]:
    """Yield the address and the status of each GET."""
    paths = [path for name, method, path, _ in operations() if method == "GET" and name not in STREAMS]
    ids: dict[str, str] = {}
    for path in sorted(paths, key=lambda path: path.count("{")):  # lists come before what they list
        address = path
        for found in PARAMETER.finditer(path):
            address = address.replace(found[0], ids.get(path[: found.start()], ""), 1)
        if "//" in address or address.endswith("/"):
            continue  # the list is empty
        answer = client.get(address, HTTP_HOST="127.0.0.1")
        yield address, answer.status_code
        if (first := _first_id(answer)) is not None:
            ids[f"{path}/"] = first


def _first_id(answer: Any) -> str | None:
    """Return the id of the first row of a list."""
    if answer.status_code != 200 or answer.headers.get("content-type") != "application/json":
        return None
    body = answer.json()
    rows = body.get("results", body.get("items")) if isinstance(body, dict) else body
    row = rows[0] if isinstance(rows, list) and rows else None
    return next((str(row[name]) for name in ("id", "name") if name in row), None) if isinstance(row, dict) else None


if __name__ == "__main__":
    main()
