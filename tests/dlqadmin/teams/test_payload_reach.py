"""A person may see the records of two teams, and read the content of one of them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.index.word_index import write_queued_words
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.payloads import reader_of, release
from dlqadmin.deadletters.records.neighbours import neighbour_reader
from dlqadmin.exports.tasks import write_exports
from dlqadmin.replays.models import BulkFix, FixProgram, Rehearsal
from dlqadmin.teams.models import TeamRole
from tests.dlqadmin.conftest import member, person, signed_in, team
from tests.dlqadmin.deadletters.letters import ALL, NOW, index, letter
from tests.dlqadmin.exports.reading import body as streamed

pytestmark = pytest.mark.django_db
API = "/api/v1"
OPEN, CLOSED = "open42value", "closed42value"
QUAKES, STATIONS = "usgs.earthquakes.dlq", "stations.dlq"


@pytest.fixture(autouse=True)
def letters() -> None:
    """Three dead letters of each of two topics, with the topic's own secret in key, value and a header."""
    for topic, secret in ((QUAKES, OPEN), (STATIONS, CLOSED)):
        value = b'{"id": "%s"}' % secret.encode()
        index([letter(n, topic=topic, key=secret.encode(), value=value) for n in range(3)])
    write_queued_words()


@pytest.fixture
def reader() -> User:
    """A person who sees both topics, operates both, and may read the content of one."""
    quakes, stations = team("quakes", ["usgs.*"]), team("stations", ["stations.*"])
    return member("rita", {quakes: ("viewer", "operator", "payload reader"), stations: ("viewer", "operator")})


@pytest.fixture
def client(reader: User) -> APIClient:
    return signed_in(reader)


def ask(client: APIClient, path: str, **params: Any) -> Any:
    answer = client.get(f"{API}/{path}", {**ALL, **params})
    assert answer.status_code == 200, answer.content
    return answer.json()


def ids(topic: str) -> list[int]:
    return list(DeadLetter.objects.filter(topic=topic).order_by("pk").values_list("pk", flat=True))


def test_a_list_shows_keys_row_by_row(client: APIClient) -> None:
    rows = ask(client, "dead-letters")["results"]
    assert {(row["topic"], row["key_text"], row["withheld"]) for row in rows} == {
        (QUAKES, OPEN, False),
        (STATIONS, None, True),
    }


@pytest.mark.parametrize("path", ["", "/neighbours", "/replays"])
def test_a_record_of_the_other_team_shows_no_content(client: APIClient, path: str) -> None:
    assert OPEN in str(ask(client, f"dead-letters/{ids(QUAKES)[0]}{path}")) or path == "/replays"
    shown = str(ask(client, f"dead-letters/{ids(STATIONS)[0]}{path}"))
    assert CLOSED not in shown
    assert base64.b64encode(CLOSED.encode()).decode()[:12] not in shown


@pytest.mark.parametrize("path", ["bytes", "decoded", "fix", "suggestions", "fix/decoded"])
def test_doors_of_content_alone_are_shut_for_the_other_team(client: APIClient, path: str) -> None:
    assert client.get(f"{API}/dead-letters/{ids(STATIONS)[0]}/{path}").status_code == 404


@pytest.mark.parametrize("path", ["dead-letters/facets", "dead-letters/histogram", "groups"])
@pytest.mark.parametrize("guess", [{"key": CLOSED}, {"q": f"-key:{OPEN}"}, {"q": CLOSED}, {"q": f"value.id:{CLOSED}"}])
def test_no_count_answers_a_guess_about_the_other_team(client: APIClient, path: str, guess: dict[str, str]) -> None:
    shown = ask(client, path, **guess)
    if path == "dead-letters/histogram":
        assert sum(sum(one["counts"]) for one in shown["series"]) == 0
    elif path == "groups":
        assert shown["results"] == []
    else:
        assert not any(shown["facets"].values())


def test_filters_by_content_find_records_of_the_own_team(client: APIClient) -> None:
    for guess in ({"key": OPEN}, {"q": f"-key:{CLOSED}"}, {"q": f"value.id:{OPEN}"}):
        assert {row["topic"] for row in ask(client, "dead-letters", **guess)["results"]} == {QUAKES}


def test_a_selection_by_content_holds_records_of_the_own_team_only(client: APIClient) -> None:
    asked = f"from={ALL['from']}&to={ALL['to']}&not_key="
    assert client.post(f"{API}/selections", {"filter": asked + CLOSED}).json()["count"] == 3
    assert client.post(f"{API}/selections", {"filter": asked + OPEN}).status_code == 400  # it would be empty


def test_completions_name_members_of_readable_values_only(client: APIClient) -> None:
    index([letter(9, topic=STATIONS, value=b'{"hidden_member": 1}'), letter(9, value=b'{"plain_member": 1}')])
    shown = str(ask(client, "dead-letters/complete", q="value.", at=6))
    assert "plain_member" in shown
    assert "hidden_member" not in shown


def test_values_in_common_are_those_of_readable_records(client: APIClient) -> None:
    for topic, secret in ((QUAKES, OPEN), (STATIONS, CLOSED)):
        index([letter(20 + n, topic=topic, key=secret.encode(), value=b"{}") for n in range(20)])
    for group in DeadLetter.objects.values_list("fingerprint__group", flat=True).distinct():
        for path in ("common", "report"):
            answer = client.get(
                f"{API}/groups/{group}/{path}", {**ALL, **({"format": "json"} if path == "report" else {})}
            )
            assert answer.status_code == 200
            assert CLOSED.encode() not in answer.content


def test_an_export_has_no_content_that_its_author_may_not_read_any_more(
    client: APIClient, reader: User, settings: Settings, tmp_path: Any
) -> None:
    settings.EXPORTS_DIR = tmp_path
    TeamRole.objects.create(team=team("late", ["stations.*"]), user=reader, role="payload reader")
    TeamRole.objects.create(team=TeamRole.objects.latest("pk").team, user=reader, role="operator")
    TeamRole.objects.create(team=TeamRole.objects.latest("pk").team, user=reader, role="viewer")
    made = client.post(f"{API}/exports", {"format": "ndjson", "filter": f"from={ALL['from']}&to={ALL['to']}"}).json()
    TeamRole.objects.filter(team__name="late").delete()
    write_exports()
    answer: Any = signed_in(person("auditor", "operator")).get(f"{API}/exports/{made['id']}/file")
    written = streamed(answer)
    assert OPEN.encode() in written
    assert CLOSED.encode() not in written


def test_programs_of_others_are_withheld_and_own_ones_are_not(client: APIClient, reader: User) -> None:
    other = person("otto", "operator")
    selection = signed_in(other).post(f"{API}/selections", {"ids": ids(QUAKES)[:1]}).json()["id"]
    own = client.post(f"{API}/selections", {"ids": ids(QUAKES)[:1]}).json()["id"]
    for author, chosen in ((other, selection), (reader, own)):
        BulkFix.objects.create(
            selection_id=chosen, author=author, kind="jq", program=f"{author} {CLOSED}", status="done",
            created_at=NOW, heartbeat=NOW, done_at=NOW,
        )  # fmt: skip
        FixProgram.objects.create(
            author=author, kind="jq", program=f"{author} {CLOSED}", created_at=NOW, name=f"of {author}", is_shared=True
        )
        record(author, "made drafts", "bulk fix", "B-1", {"program": f"{author} {CLOSED}"})
    for path in ("bulk-fixes", "fix-templates", "audit"):
        shown = str(client.get(f"{API}/{path}").json())
        assert f"rita {CLOSED}" in shown, path
        assert f"otto {CLOSED}" not in shown, path


def test_results_of_a_rehearsal_are_shown_while_their_record_may_be_read(client: APIClient, reader: User) -> None:
    results = [
        {"dead_letter": {"id": ids(topic)[0]}, "message": secret}
        for topic, secret in ((QUAKES, OPEN), (STATIONS, CLOSED))
    ]
    wanted = {"dead_letters": ids(QUAKES)[:1]}
    made = Rehearsal.objects.create(author=reader, wanted=wanted, result=results, created_at=NOW, done_at=NOW)
    shown = client.get(f"{API}/rehearsals/{made.pk}").content
    assert OPEN.encode() in shown
    assert CLOSED.encode() not in shown


def test_two_permissions_must_hold_in_one_team() -> None:
    quakes, stations = team("quakes", ["usgs.*"]), team("stations", ["stations.*"])
    client = signed_in(member("rita", {quakes: ("viewer", "payload reader"), stations: ("operator",)}))
    answer = client.put(f"{API}/dead-letters/{ids(QUAKES)[0]}/fix", {})
    assert answer.status_code == 403


def test_content_is_not_released_to_a_reader_of_no_record(reader: User) -> None:
    with pytest.raises(AttributeError):
        release("content", reader_of(reader))  # type: ignore[arg-type]  # a wrong type, on purpose


def test_the_records_beside_a_dead_letter_belong_to_the_owners_of_the_origin_topic() -> None:
    row = DeadLetter.objects.filter(topic=QUAKES).latest("pk")
    other = DeadLetter.objects.filter(topic=STATIONS).latest("pk")
    reads = {}
    for name, topics in (("dlq", [QUAKES]), ("both", [QUAKES, row.origin_topic])):
        reader = reader_of(member(name, {team(f"{name} team", topics): ("viewer", "payload reader")}))
        asked = (neighbour_reader(letter, row, reader).may_read for letter in (row, other, None))
        reads[name] = tuple(asked)
    assert reads == {"dlq": (True, False, False), "both": (True, False, True)}
