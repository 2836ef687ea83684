"""Whole numbers in the query string of every operation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rest_framework.test import APIClient

from tests.security.operations import operations

LARGE = {"thousands of digits": "9" * 5000, "one digit behind zeros": "0" * 5000 + "1", "65 bits": str(2**64)}


def _numbers() -> Iterator[tuple[str, str]]:
    """Yield the path of each list, and each of its parameters that is a whole number."""
    for _, method, path, operation in operations():
        if method == "GET" and "{" not in path:
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query" and parameter["schema"].get("type") == "integer":
                    yield path, parameter["name"]


@pytest.mark.parametrize("text", LARGE.values(), ids=LARGE)
@pytest.mark.parametrize(("path", "name"), [pytest.param(*one, id=" ".join(one)) for one in _numbers()])
def test_a_number_that_no_column_holds_is_refused(as_admin: APIClient, path: str, name: str, text: str) -> None:
    found = as_admin.get(path, {name: text})
    assert found.status_code == 400
    assert [one["parameter"] for one in found.json()["errors"]] == [name]


def test_ids_are_among_the_numbers() -> None:
    known = {f"{path.rpartition('/')[2]} {name}" for path, name in _numbers()}
    assert {"alerts rule", "alerts team", "people team", "fixes selection", "deliveries channel"} - known == set()
