from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.index.active_mappings import load_active_mappings
from dlqadmin.deadletters.models import MappingVersion
from dlqadmin.dialects import try_outs
from dlqadmin.dialects.requests import as_yaml, from_yaml
from engine.dialects.mapping import FactSource, MappedFact, Mapping, problems_of
from engine.record.record import RawRecord

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/dialects/mappings/payments"


def body(**changes: Any) -> dict[str, Any]:
    facts = [
        {"fact": "message", "sources": [{"json": "$.reason"}]},
        {"fact": "exception", "required": True, "sources": [{"header": "error_class"}, {"json": "$.error"}]},
        {"fact": "value", "sources": [{"json": "$.payload", "as": "base64"}]},
    ]
    mapping = {"name": "payments", "topics": ["payments-*"], "facts": facts, **changes}
    return {"mapping": mapping, "opened": None, "reason": "our envelope"}


def test_a_saved_mapping_reads_the_letters_of_its_topics(as_admin: APIClient) -> None:
    answer = as_admin.put(ADDRESS, body(), format="json")
    assert answer.status_code == 200, answer.content
    (summary,) = answer.json()["mappings"]
    assert (summary["name"], summary["version"], summary["is_active"]) == ("payments", 1, True)
    letter = RawRecord("payments-dlq", 0, 1, 1, "CREATE_TIME", None, b'{"error":"E","payload":"aGk="}', ())
    facts = load_active_mappings().read(letter)
    assert (facts.dialect, facts.version, facts.root_class, facts.value) == ("payments", "1", "E", b"hi")
    elsewhere = load_active_mappings().read(RawRecord("orders", 0, 1, 1, "CREATE_TIME", None, letter.value, ()))
    assert elsewhere.dialect == "unreadable"


def test_a_letter_that_the_mapping_does_not_read_tells_why(as_admin: APIClient) -> None:
    assert as_admin.put(ADDRESS, body(), format="json").status_code == 200
    facts = load_active_mappings().read(RawRecord("payments-dlq", 0, 1, 1, "CREATE_TIME", None, b"{}", ()))
    assert facts.dialect == "unreadable"
    told = "the mapping payments does not read it: header error_class is missing; exception is required"
    assert facts.problems[0] == told


def test_each_change_is_a_version_with_its_reason(as_admin: APIClient) -> None:
    as_admin.put(ADDRESS, body(), format="json")
    second = body(topics=["payments-*", "refunds"]) | {"opened": 1, "reason": "refunds too"}
    assert as_admin.put(ADDRESS, second, format="json").status_code == 200
    newest, oldest = as_admin.get(ADDRESS).json()["versions"]
    assert (newest["version"], newest["reason"], newest["is_active"]) == (2, "refunds too", True)
    assert (oldest["version"], oldest["mapping"]["topics"], oldest["is_active"]) == (1, ["payments-*"], False)
    assert list(AuditEntry.objects.filter(action="save mapping").values_list("detail__version", flat=True)) == [1, 2]


def test_the_second_of_two_people_is_told(as_admin: APIClient) -> None:
    as_admin.put(ADDRESS, body(), format="json")
    answer = as_admin.put(ADDRESS, body(), format="json")
    assert answer.status_code == 409
    assert answer.json()["detail"].startswith("Somebody saved another version of the mapping payments meanwhile.")
    assert MappingVersion.objects.count() == 1


def test_a_retired_mapping_reads_nothing_and_keeps_its_versions(as_admin: APIClient) -> None:
    as_admin.put(ADDRESS, body(), format="json")
    assert as_admin.delete(ADDRESS, {"reason": "gone"}, format="json").status_code == 200
    assert load_active_mappings().mappings == ()
    assert as_admin.delete(ADDRESS, {"reason": "gone"}, format="json").status_code == 409
    again = as_admin.put(ADDRESS, body() | {"opened": 1}, format="json").json()["mappings"][0]
    assert (again["version"], again["is_active"]) == (2, True)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": "Payments"}, "name: write 1 to 29 small letters, digits, '.', '_' and '-'"),
        ({"name": "kip298"}, "name: kip298 is a built-in dialect; choose another name"),
        ({"topics": []}, "topics: name at least one topic, or a pattern such as *-errors"),
        ({"facts": [{"fact": "value", "sources": [{"letter": "value"}]}]}, "facts: map at least one of exception"),
        ({"facts": [{"fact": "message", "sources": [{"json": "reason"}]}]}, "facts.message: 'reason' must start with"),
        ({"facts": [{"fact": "colour", "sources": [{"json": "$.a"}]}]}, "Invalid enum value 'colour'"),
        ({"facts": [{"fact": "message", "sources": []}]}, "Expected `array` of length >= 1"),
        ({"facts": [{"fact": "message", "sources": [{"json": "$.a", "as": "yaml"}]}]}, "Invalid enum value 'yaml'"),
    ],
)
def test_a_mistake_is_refused_with_its_place(as_admin: APIClient, changes: dict[str, Any], problem: str) -> None:
    name = changes.get("name", "payments")
    answer = as_admin.put(f"/api/v1/dialects/mappings/{name}", body(**changes), format="json")
    assert answer.status_code == 400
    assert any(one["message"].startswith(problem) for one in answer.json()["errors"]), answer.json()


def test_a_topic_belongs_to_one_mapping(as_admin: APIClient) -> None:
    as_admin.put(ADDRESS, body(), format="json")
    answer = as_admin.put("/api/v1/dialects/mappings/other", body(name="other"), format="json")
    assert answer.json()["errors"][0]["message"] == "topics: payments-* belongs to the mapping payments"


def test_only_administrators_change_mappings(as_operator: APIClient, as_viewer: APIClient) -> None:
    for client in (as_operator, as_viewer):
        assert client.put(ADDRESS, body(), format="json").status_code == 403
        assert client.delete(ADDRESS, {"reason": "x"}, format="json").status_code == 403
        assert client.post("/api/v1/dialects/rereads", {"topic": "a", "reason": "x"}).status_code == 403
    assert as_viewer.get("/api/v1/dialects").status_code == 200
    assert as_viewer.post("/api/v1/dialects/try", {"topic": "a", **body()}, format="json").status_code == 403


def test_a_topic_that_the_index_does_not_read_is_not_read_again(as_admin: APIClient) -> None:
    answer = as_admin.post("/api/v1/dialects/rereads", {"topic": "orders", "reason": "x"}, format="json")
    assert answer.json()["errors"][0]["message"].startswith("The index does not read orders.")


def test_a_mapping_is_exported_and_imported_as_yaml(as_admin: APIClient) -> None:
    as_admin.put(ADDRESS, body(), format="json")
    exported = as_admin.get(f"{ADDRESS}/yaml")
    assert exported["Content-Disposition"] == 'attachment; filename="payments-1.yaml"'
    found = as_admin.post("/api/v1/dialects/yaml", {"yaml": exported.content.decode()}, format="json").json()
    assert found["problems"] == []
    assert found["mapping"] == as_admin.get(ADDRESS).json()["versions"][0]["mapping"]


def test_a_source_is_written_briefly_in_yaml() -> None:
    mapping = from_yaml(
        "name: a\ntopics: [x]\nfacts:\n"
        "  message: {json: $.m}\n  key:\n    - {letter: key}\n    - {header: k, as: hex}\n"
    )
    assert mapping == Mapping(
        "a",
        ("x",),
        {
            "message": MappedFact((FactSource(json="$.m"),)),
            "key": MappedFact((FactSource(letter="key"), FactSource(header="k", read_as="hex"))),
        },
    )
    assert from_yaml(as_yaml(mapping)) == mapping


def test_the_documented_mapping_is_one() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/how-to/map-dead-letters.md").read_text()
    example = page.partition("```yaml\n")[2].partition("```")[0]
    assert problems_of(from_yaml(example)) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "5",
        "name: a",
        "name: a\ntopics: []\nfacts: {message: 5}",
        "a: &a [*a]",
        "[" * 5000,
        "a: !!python/object:os.system x",
    ],
)
def test_yaml_that_is_no_mapping_is_one_sentence(as_admin: APIClient, text: str) -> None:
    answer = as_admin.post("/api/v1/dialects/yaml", json.dumps({"yaml": text}), content_type="application/json")
    if text == "":
        assert answer.status_code == 400
        return
    found = answer.json()
    assert found["mapping"] is None
    assert len(found["problems"]) == 1
    assert "\n" not in found["problems"][0]


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "1970-01-01T00:00:00.000Z"), (2**62, str(2**62)), (-(2**62), str(-(2**62)))]
)
def test_a_time_beyond_the_calendar_is_shown_as_its_number(value: int, shown: str) -> None:
    assert try_outs._shown("failed_at", value) == shown
