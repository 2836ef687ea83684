"""Coordinates lead to the dead letter that is meant."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.dlqadmin.deadletters.letters import HOUR_MS, NOW_MS, index, index_one, letter

pytestmark = pytest.mark.sql

AT = "/api/v1/dead-letters/at"


def test_a_dead_letter_is_found_by_its_own_coordinates(as_viewer: APIClient) -> None:
    row = index_one(letter(7, partition=2))
    assert as_viewer.get(f"{AT}/usgs.earthquakes.dlq/2/7").json() == {"id": row.pk, "by": "dead_letter"}


def test_the_newest_is_found_by_the_coordinates_of_its_origin(as_viewer: APIClient) -> None:
    index([letter(7, at_ms=NOW_MS), letter(7, topic="again.dlq", at_ms=NOW_MS - HOUR_MS)])
    found = as_viewer.get(f"{AT}/usgs.earthquakes/0/48007").json()
    own = as_viewer.get(f"{AT}/usgs.earthquakes.dlq/0/7").json()
    assert found == {"id": own["id"], "by": "origin"}


def test_coordinates_of_nothing_are_not_found(as_viewer: APIClient) -> None:
    for place in ("usgs.earthquakes.dlq/0/7", f"t/{2**31}/0", f"t/0/{2**63}", "t%00/0/0"):
        answer = as_viewer.get(f"{AT}/{place}")
        assert (answer.status_code, answer["content-type"]) == (404, "application/problem+json")


def test_a_stranger_finds_nothing(anonymous: APIClient) -> None:
    assert anonymous.get(f"{AT}/t/0/0").status_code in (401, 403)
