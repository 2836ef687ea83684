"""What people of a team see: the rows, counts and groups of what their teams own, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import CountDay, DeadLetter, FingerprintSource, OriginSource
from dlqadmin.deadletters.models.reach import has_whole_origins
from dlqadmin.deadletters.search.candidates import count_some, tally
from dlqadmin.deadletters.search.counters import count
from dlqadmin.deadletters.search.documents import MatchTotal
from dlqadmin.deadletters.search.filter_queries import FINGERPRINT, by_topic, in_reach
from dlqadmin.deadletters.search.filters import Filters, within_reach
from dlqadmin.deadletters.search.name_lookup import all_origin_topics
from dlqadmin.deadletters.search.time_limits import TimeBudget
from dlqadmin.teams.patterns import owns
from dlqadmin.teams.reach import NOTHING, of_teams, reaching
from tests.dlqadmin.conftest import member, person, signed_in, team
from tests.dlqadmin.deadletters.letters import ALL, BAD_JSON, NOW, NOW_MS, NST, index, letter

pytestmark = pytest.mark.django_db
API = "/api/v1"


@pytest.fixture(autouse=True)
def letters() -> None:
    """Four dead letters of earthquakes, two of a stations' topic, and one of its connector in a topic of others."""
    index([letter(n) for n in range(4)])
    index([letter(n, topic="stations.dlq", connector="stations-to-sql", message=NST) for n in range(2)])
    index([letter(0, topic="shared.dlq", connector="stations-to-sql", message=BAD_JSON)])
    index([letter(1, topic="shared.dlq", connector="other")])


def of_stations(*roles: str) -> APIClient:
    stations = team("stations", ["stations.*"], ["stations-*"])
    return signed_in(member("sam", {stations: roles or ("viewer",)}))


def ask(client: APIClient, path: str, **params: Any) -> Any:
    answer = client.get(f"{API}/{path}", {**ALL, **params})
    assert answer.status_code == 200, answer.content
    return answer.json()


def counted(client: APIClient, **params: Any) -> int:
    return sum(row["count"] for row in ask(client, "dead-letters/facets", **params)["facets"]["stage"])


def test_a_list_shows_topics_and_connectors_of_the_team() -> None:
    rows = ask(of_stations(), "dead-letters")["results"]
    assert {(row["topic"], row["connector"]) for row in rows} == {
        ("stations.dlq", "stations-to-sql"),
        ("shared.dlq", "stations-to-sql"),
    }
    assert len(rows) == 3


@pytest.mark.parametrize(
    ("filters", "found"),
    [({"topic": "usgs.earthquakes.dlq"}, 0), ({"topic": "shared.dlq"}, 1), ({"q": "stage:TASK_PUT"}, 3)],
)
def test_filters_cannot_widen_it(filters: dict[str, str], found: int) -> None:
    client = of_stations()
    assert len(ask(client, "dead-letters", **filters)["results"]) == found
    assert counted(client, **filters) == found


def test_facets_and_groups_are_exact_for_what_the_team_owns() -> None:
    client = of_stations()
    facets = ask(client, "dead-letters/facets")
    assert (counted(client), facets["exact"]) == (3, True)
    assert {row["value"] for row in facets["facets"]["topic"]} == {"stations.dlq", "shared.dlq"}
    groups = ask(client, "groups")
    assert (len(groups["results"]), groups["total_records"], groups["exact"]) == (2, 3, True)


def test_no_statement_names_the_topics_of_the_team_twice() -> None:
    """PostgreSQL takes a condition that stands there twice for two, and then reads the wrong index."""
    client = signed_in(member("sam", {team("stations", ["stations.*"]): ("viewer",)}))
    for path in ("dead-letters", "dead-letters/facets", "groups", "dead-letters/histogram"):
        with CaptureQueriesContext(connection) as asked:
            ask(client, path, origin_partition="0")
        own = [one["sql"] for one in asked.captured_queries if "deadletters_deadletter" in one["sql"]]
        assert own
        assert [sql for sql in own if '\'stations.dlq\') AND "deadletters_deadletter"."topic"' in sql] == []
        parts = [part for sql in own for part in sql.split(" UNION ALL ")]
        assert [part for part in parts if part.count("stations.dlq") > 1] == []


def test_a_facet_of_topics_needs_no_scan_of_its_own_for_what_the_team_owns() -> None:
    client = signed_in(member("sam", {team("stations", ["stations.*"]): ("viewer",)}))
    with CaptureQueriesContext(connection) as asked:
        found = ask(client, "dead-letters/facets", origin_partition="0")
    assert [(row["value"], row["count"]) for row in found["facets"]["topic"]] == [("stations.dlq", 2)]
    assert len([one for one in asked.captured_queries if "AS newest GROUP BY" in one["sql"]]) == 2


@pytest.mark.parametrize("is_split", [False, True])
def test_a_group_counts_keys_in_reach_and_names_topics_only_if_others_have_it_too(is_split: bool) -> None:
    if is_split:
        index([letter(9, connector="stations-to-sql", message=NST, key=b"theirs")])
    client = signed_in(member("sam", {team("stations", ["stations.*"]): ("viewer",)}))
    with CaptureQueriesContext(connection) as asked:
        (row,) = ask(client, "groups")["results"]
    assert (row["events"], row["keys"], row["keys_exact"]) == (2, 1, True)
    statements = [one["sql"] for one in asked.captured_queries if "DISTINCT key_hash" in one["sql"]]
    assert ["stations.dlq" in sql for sql in statements] == [is_split, is_split]  # of the range, and of five minutes


@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize("name", ["origin_topic", "exception"])
def test_a_total_is_exact_and_names_topics_only_if_others_have_the_origin_or_fingerprint_too(
    name: str, is_split: bool
) -> None:
    index(
        [
            letter(n, topic="stations.dlq", connector="stations-to-sql", message="hm", exception="a.StationError")
            for n in range(2, 5)
        ]
    )
    if is_split:
        index([letter(9, connector="stations-to-sql", message="hm", exception="a.StationError")])
    DeadLetter.objects.filter(message="hm").update(origin_topic="stations")
    index_of = {"topic": "stations.dlq"} if not is_split else {"topic__in": ("stations.dlq", "usgs.earthquakes.dlq")}
    OriginSource.objects.filter(**index_of).update(origin_topic="stations")
    client = signed_in(member("sam", {team("stations", ["stations.*"]): ("viewer",)}))
    filters = {name: {"origin_topic": "stations", "exception": "StationError"}[name], "origin_partition": "0"}
    with CaptureQueriesContext(connection) as asked:
        found = ask(client, "dead-letters", limit=1, **filters)
    assert found["total"] == {"count": 3, "exact": True}
    statements = [one["sql"] for one in asked.captured_queries if "COUNT(*) FROM (SELECT" in one["sql"]]
    assert ["'stations.dlq'" in sql for sql in statements] == [is_split]


def test_an_origin_topic_that_no_source_names_is_not_taken_for_one_in_reach() -> None:
    with reaching(of_teams(frozenset({team("stations", ["stations.*"]).pk}))):
        assert not has_whole_origins([""])


def test_newest_rows_of_several_topics_are_merged_where_no_other_index_helps() -> None:
    for n, topic in enumerate(("stations.dlq", "shared.dlq", "stations.dlq", "usgs.earthquakes.dlq")):
        index([letter(20 + n, topic=topic, at_ms=NOW_MS + n)])
    filters = Filters(NOW - timedelta(days=1), NOW + timedelta(days=1), {"origin_partition": ("0",)})
    with reaching(of_teams(frozenset({team("stations", ["stations.*", "shared.*"]).pk}))):
        with CaptureQueriesContext(connection) as asked:
            found = tally(within_reach(filters), ("topic",), 3, TimeBudget())
        totals = [count_some(within_reach(filters), most, 0) for most in (6, 7)]
    assert (found.counts[("stations.dlq",)], sum(found.counts.values()), found.complete) == (2, 3, False)
    assert totals == [MatchTotal(6, exact=False), MatchTotal(7, exact=True)]
    assert [one["sql"].count(" UNION ALL ") for one in asked.captured_queries if "AS newest" in one["sql"]] == [
        1 if connection.vendor == "postgresql" else 0
    ]


def test_a_search_of_several_topics_is_in_order_and_stays_in_reach() -> None:
    for n, topic in enumerate(("stations.dlq", "usgs.earthquakes.dlq", "shared.dlq", "stations.dlq")):
        index([letter(20 + n, topic=topic, at_ms=NOW_MS + n, key=b"k7")])
    both = team("stations", ["stations.*", "shared.*"])
    client = signed_in(member("sam", {both: ("viewer", "payload reader")}))
    rows = ask(client, "dead-letters", q="k7")["results"]
    assert [(row["topic"], row["offset"]) for row in rows] == [
        ("stations.dlq", 23),
        ("shared.dlq", 22),
        ("stations.dlq", 20),
    ]
    beside = ask(client, f"dead-letters/{rows[1]['id']}", q="k7")["neighbours"]
    assert beside == {"previous": rows[0]["id"], "next": rows[2]["id"]}


def test_the_page_of_a_group_does_not_look_up_its_fingerprints_for_each_count() -> None:
    group = DeadLetter.objects.get(topic="stations.dlq", offset=0).fingerprint.group_id
    client = of_stations()
    with CaptureQueriesContext(connection) as asked:
        assert ask(client, f"groups/{group}")["events"] == 2
    lookups = [one for one in asked.captured_queries if '"merged_into_id" IS NOT NULL' in one["sql"]]
    assert len(lookups) == 2  # of the address, and of the counts


def test_a_total_looks_up_fingerprints_once() -> None:
    filters = Filters(NOW - timedelta(days=9), NOW + timedelta(minutes=1), {"stage": ("TASK_PUT",)})
    with CaptureQueriesContext(connection) as asked:
        assert count(filters) == 8
    assert len([one for one in asked.captured_queries if 'FROM "deadletters_fingerprint"' in one["sql"]]) == 1


def test_frozen_fingerprints_out_of_reach_find_nothing() -> None:
    theirs = DeadLetter.objects.get(topic="usgs.earthquakes.dlq", offset=0).fingerprint_id
    filters = Filters(NOW - timedelta(days=1), NOW + timedelta(days=1), {FINGERPRINT: (str(theirs),)})
    with reaching(of_teams(frozenset({team("stations", ["stations.*"]).pk}))):
        assert (in_reach(filters).count(), count(filters)) == (0, 0)
    assert (in_reach(filters).count(), count(filters)) == (4, 4)


@pytest.mark.parametrize("name", ["connector", "key", "origin_topic", "exception", "replay_state"])
def test_filters_with_an_index_of_their_own_are_not_asked_topic_by_topic(name: str) -> None:
    filters = Filters(NOW, NOW, {"topic": ("stations.dlq", "shared.dlq"), name: ("any",)})
    assert by_topic(filters) == [filters]


def test_origin_topics_are_named_to_who_reaches_a_dead_letter_of_theirs() -> None:
    index([letter(9, topic="payments.dlq", connector="payments")])
    OriginSource.objects.filter(topic="payments.dlq").update(origin_topic="payments")
    with reaching(of_teams(frozenset({team("stations", ["stations.*"]).pk}))):
        assert all_origin_topics() == ["usgs.earthquakes"]
    assert all_origin_topics() == ["payments", "usgs.earthquakes"]


def test_what_others_own_is_not_found() -> None:
    client, theirs = of_stations(), DeadLetter.objects.get(topic="usgs.earthquakes.dlq", offset=0)
    group = theirs.fingerprint.group_id
    assert client.get(f"{API}/dead-letters/{theirs.pk}").status_code == 404
    assert client.get(f"{API}/groups/{group}").status_code == 404


def test_a_role_holds_for_its_team_alone() -> None:
    stations, quakes = team("stations", ["stations.*"]), team("quakes", ["usgs.*"])
    client = signed_in(member("sam", {stations: ("viewer",), quakes: ("operator",)}))
    of = {row.topic: row.fingerprint.group_id for row in DeadLetter.objects.all()}
    assert client.post(f"{API}/groups/{of['stations.dlq']}/notes", {"text": "mine?"}).status_code == 404
    assert client.post(f"{API}/groups/{of['usgs.earthquakes.dlq']}/notes", {"text": "mine"}).status_code == 200
    assert len(ask(client, "dead-letters")["results"]) == 6


def test_a_global_role_still_reaches_everything() -> None:
    assert counted(signed_in(person("vera", "viewer"))) == 8


def test_who_has_no_role_in_any_team_is_refused() -> None:
    team("stations", ["stations.*"])
    assert signed_in(person("nobody", None)).get(f"{API}/dead-letters").status_code == 403


def test_a_reach_of_nothing_finds_nothing() -> None:
    with reaching(NOTHING):
        assert (DeadLetter.objects.count(), CountDay.objects.count(), FingerprintSource.objects.count()) == (0, 0, 0)


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("orders", "orders", True),
        ("orders", "orders.dlq", False),
        ("orders.*", "orders.dlq", True),
        ("orders.*", "ordersXdlq", False),
        ("*", "orders", True),
        ("*", "", False),
        ("local/orders", "orders", True),
        ("eu/orders", "orders", False),
        ("*/orders", "orders", True),
    ],
)
def test_patterns(pattern: str, name: str, found: bool) -> None:
    assert owns([pattern], "local", name) is found
