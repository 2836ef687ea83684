"""The filters of rules match what the lists of dead letters match."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from dlqadmin.alerts.rule_filters import KnownFingerprint, SourceCell, compile_filter, matches
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.search.filter_queries import apply
from dlqadmin.deadletters.search.filters import parse_filters
from dlqadmin.rest.problems import ParameterError
from tests.dlqadmin.deadletters.letters import ALL, BAD_JSON, NST, index, letter

QUERIES = [
    "",
    "topic:usgs.earthquakes.dlq",
    "topic:usgs.*",
    "-topic:usgs.*",
    "connector:stations-to-sql stage:TASK_PUT",
    "exception:IntegrityError",
    "exception:Integrity*",
    "exception:sqlalchemy.exc.IntegrityError",
    "-exception:IntegrityError",
    "(connector:other OR exception:JSONDecodeError)",
    "-(connector:other OR exception:JSONDecodeError)",
    "(topic:shared.dlq connector:other) OR stage:VALUE_CONVERTER",
]


@pytest.mark.django_db
@pytest.mark.parametrize("query", QUERIES)
def test_a_rule_matches_what_a_list_shows(query: str) -> None:
    index([letter(n) for n in range(2)])
    index([letter(0, topic="stations.dlq", connector="stations-to-sql", message=NST)])
    index([letter(0, topic="shared.dlq", connector="other", message=BAD_JSON, exception="json.JSONDecodeError")])
    index([letter(1, topic="shared.dlq", connector="x", stage="VALUE_CONVERTER")])
    params = QueryDict(mutable=True)
    params.update({**ALL, "q": query})
    shown = set(apply(parse_filters(params, reader_of(None)), DeadLetter.objects.all()))
    found = set()
    for row in DeadLetter.objects.select_related("fingerprint"):
        known = KnownFingerprint(row.fingerprint.group_id, row.fingerprint.stage, row.fingerprint.exception_class)
        if matches(compile_filter(query), SourceCell(row.cluster, row.topic, row.connector, row.fingerprint_id), known):
            found.add(row)
    assert found == shown


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("null", "Alerts cannot filter by content"),
        ("value.id:3", "Alerts cannot filter by content"),
        ("key:17", "Alerts cannot filter by content"),
        ("message:gap", "Alerts cannot filter by content"),
        ("(stage:TASK_PUT OR key:17)", "Alerts cannot filter by content"),
        ("after:-6h", "Alerts cannot filter by time"),
        ("work:open", "Alerts cannot filter by work"),
        ("nonsense:1", "Unknown field"),
    ],
)
def test_other_filters_are_refused(query: str, why: str) -> None:
    with pytest.raises(ParameterError) as refused:
        compile_filter(query)
    assert str(refused.value.detail["query"][0]).startswith(why)  # type: ignore[call-overload,index]  # the detail is a dict
