"""Nobody guesses a password by any door, and every try stands in the audit trail."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx
import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import aauthenticate, authenticate
from django.contrib.auth.models import Group, User
from django.core.cache import caches
from django.test import Client, RequestFactory
from pytest_django import Settings

from demo.environment import ROOT
from dlqadmin.audit import sign_in_limits
from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.sign_in_limits import TooManyTries
from dlqadmin.host.network import HOST, free_ports, is_answering, wait_until
from dlqadmin.settings import CACHES
from tests.dlqadmin.conftest import PASSWORD, person
from tests.support import schema_template

ADMIN, API = "/admin/login/", "/api/v1/session"
LIMIT = 5
NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def dashboard(db: None, settings: Settings, redis_url: str) -> None:
    """The product's limits, counted in a real Redis, at a time when no window ends."""
    settings.CACHES = {**settings.CACHES, "shared": {**CACHES["shared"], "LOCATION": redis_url}}
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.SIGN_IN_RATE, settings.BEHIND_PROXY = (LIMIT, 24 * 3600), False
    caches["shared"].clear()
    sign_in_limits.forget_own_counts()


@pytest.fixture
def one_try(settings: Settings) -> None:
    """Each address has one try for an account; the limits of an address and of an account are multiples of it."""
    settings.SIGN_IN_RATE = (1, 24 * 3600)


@pytest.fixture
def staff() -> User:
    made = person("staff-1", "operator")
    made.is_staff = True
    made.save()
    AuditEntry.objects.all().delete()
    return made


def guess(
    door: str,
    name: str = "staff-1",
    password: str = "wrong",
    address: str = "192.0.2.1",
    headers: Mapping[str, str] | None = None,
) -> int:
    """Try to sign in; return the status, 429 for the admin's sentence too."""
    client = Client(headers=headers, REMOTE_ADDR=address)
    body, json = {"username": name, "password": password}, "application/json"
    response = client.post(door, body, json) if door == API else client.post(door, body)
    return 429 if b"Too many attempts" in response.content else response.status_code


@pytest.mark.slow
@pytest.mark.parametrize("door", [ADMIN, API])
def test_many_wrong_passwords_are_stopped_and_the_right_one_no_longer_helps(staff: User, door: str) -> None:
    statuses = [guess(door, password=f"wrong-{n}") for n in range(20)]
    assert statuses.count(429) == 20 - LIMIT
    assert guess(door, password=PASSWORD) == 429
    told = [*AuditEntry.objects.order_by("id").values_list("action", "object_id", "address", "detail__door")]
    assert told == [
        *[("sign-in failed", "staff-1", "192.0.2.1", door)] * LIMIT,
        ("sign-in refused", "staff-1", "192.0.2.1", door),
    ]


def test_the_doors_share_their_counts(staff: User) -> None:
    for _ in range(LIMIT):
        guess(ADMIN)
    assert guess(API, password=PASSWORD) == 429


def test_a_refused_sign_in_says_how_long_to_wait(staff: User) -> None:
    for _ in range(LIMIT):
        guess(API)
    api = Client().post(API, {"username": "staff-1", "password": "x"}, "application/json", REMOTE_ADDR="192.0.2.1")
    assert (api.status_code, api["Content-Type"]) == (429, "application/problem+json")
    assert 0 < int(api["Retry-After"]) <= 24 * 3600
    admin = Client().post(ADMIN, {"username": "staff-1", "password": "x"}, REMOTE_ADDR="192.0.2.1")
    assert "Too many attempts to sign in. Try again in" in admin.content.decode()


def test_sign_ins_by_the_admin_are_audited(staff: User) -> None:
    client = Client(REMOTE_ADDR="192.0.2.9")
    client.post(ADMIN, {"username": "staff-1", "password": PASSWORD})
    client.post("/admin/logout/")
    told = AuditEntry.objects.order_by("id").values_list("actor", "action", "address", "detail__door")
    assert [*told] == [
        ("staff-1", "signed in", "192.0.2.9", ADMIN),
        ("staff-1", "signed out", "192.0.2.9", "/admin/logout/"),
    ]


def test_a_right_password_without_the_right_to_the_admin_is_audited_as_a_failure() -> None:
    person("plain", "viewer")
    AuditEntry.objects.all().delete()
    assert guess(ADMIN, name="plain", password=PASSWORD) == 200
    assert [(row.action, row.object_id, row.detail["why"]) for row in AuditEntry.objects.all()] == [
        ("sign-in failed", "plain", "not staff")
    ]


@pytest.mark.parametrize("door", [ADMIN, API])
def test_a_forged_forwarding_header_does_not_walk_around_the_limit(staff: User, door: str) -> None:
    forged = [
        guess(door, headers={"X-Forwarded-For": f"10.0.0.{n}", "X-Real-IP": f"10.0.0.{n}"}) for n in range(LIMIT + 1)
    ]
    assert forged[-1] == 429
    assert {row.address for row in AuditEntry.objects.all()} == {"192.0.2.1"}


def test_behind_a_proxy_only_the_entry_it_added_counts(staff: User, settings: Settings) -> None:
    settings.BEHIND_PROXY = True
    chains = [f"10.0.0.{n}, 198.51.100.7" for n in range(LIMIT + 1)]
    forged = [guess(API, headers={"X-Forwarded-For": chain}) for chain in chains]
    assert forged[-1] == 429
    assert {row.address for row in AuditEntry.objects.all()} == {"198.51.100.7"}


@pytest.mark.slow
def test_known_and_unknown_names_get_the_same_answers(staff: User) -> None:
    answers = {
        name: [
            Client().post(API, {"username": name, "password": "wrong"}, "application/json", REMOTE_ADDR="192.0.2.1")
            for _ in range(LIMIT + 1)
        ]
        for name in ("staff-1", "nobody-1")
    }
    known, unknown = ([(one.status_code, one.json()) for one in answers[name]] for name in answers)
    assert known == unknown


def test_one_address_can_not_try_many_accounts(staff: User, one_try: None) -> None:
    tried = [guess(API, name=f"name-{n}") for n in range(sign_in_limits.ADDRESS_FACTOR + 1)]
    assert (tried[-2], tried[-1]) == (401, 429)


@pytest.mark.slow
def test_a_neighbour_s_guesses_lock_out_nobody_who_signed_in_from_there_before(staff: User, one_try: None) -> None:
    assert guess(API, password=PASSWORD) == 200
    for n in range(sign_in_limits.ADDRESS_FACTOR + 1):
        guess(API, name=f"name-{n}")
    assert guess(API, name="name-new") == 429
    assert guess(API, password=PASSWORD) == 200


@pytest.mark.slow
def test_people_who_share_an_address_sign_in_as_often_as_they_like(one_try: None) -> None:
    names = [f"person-{n}" for n in range(sign_in_limits.ADDRESS_FACTOR + 2)]
    for name in names:
        person(name, "viewer")
    assert {guess(API, name=name, password=PASSWORD) for name in names} == {200}


def test_many_addresses_can_not_try_one_account(staff: User, one_try: None) -> None:
    tried = [guess(API, address=f"198.51.100.{n}") for n in range(sign_in_limits.ACCOUNT_FACTOR + 1)]
    assert (tried[-2], tried[-1]) == (401, 429)


def test_ipv6_addresses_of_one_customer_count_as_one(staff: User) -> None:
    tried = [guess(API, address=f"2001:db8:1:2::{n:x}") for n in range(LIMIT + 1)]
    assert tried[-1] == 429


@pytest.mark.slow
def test_a_stranger_can_not_lock_the_owner_out(staff: User, one_try: None) -> None:
    assert guess(API, password=PASSWORD, address="203.0.113.5") == 200
    for n in range(sign_in_limits.ACCOUNT_FACTOR + 10):
        guess(API, address=f"198.51.100.{n}")
    assert guess(API, password=PASSWORD, address="203.0.113.6") == 429  # an address nobody signed in from
    assert guess(API, password=PASSWORD, address="203.0.113.5") == 200


@pytest.mark.slow
def test_a_limit_ends_with_its_window_although_tries_go_on(staff: User, settings: Settings) -> None:
    settings.SIGN_IN_RATE = (1, 2)
    wait_until(lambda: guess(API) == 429, "The limit", 20, every_s=0)
    wait_until(lambda: guess(API, password=PASSWORD) == 200, "The end of the window", 20, every_s=0.05)


def test_a_success_forgets_the_tries_of_its_own_address_only(staff: User) -> None:
    for _ in range(LIMIT - 1):
        guess(API)
    assert guess(API, password=PASSWORD) == 200
    assert [guess(API) for _ in range(LIMIT + 1)] == [401] * LIMIT + [429]


def test_spellings_of_one_name_share_a_count(staff: User) -> None:
    tried = [guess(API, name=name) for name in ("staff-1", "STAFF-1", "Staff-1", "staff-\uff11", "sTaff-1", "staff-1")]
    assert tried[-1] == 429


def test_a_name_that_is_no_account_is_not_shown_whole() -> None:
    guess(API, name="my secret password")
    assert [row.object_id for row in AuditEntry.objects.all()] == ["unknown account my…"]


def test_while_redis_is_away_people_sign_in_and_guessing_is_still_slowed_down(staff: User, settings: Settings) -> None:
    settings.CACHES = {**settings.CACHES, "shared": {**CACHES["shared"], "LOCATION": NOWHERE}}
    assert guess(API, password=PASSWORD) == 200
    assert [guess(API) for _ in range(LIMIT + 1)] == [401] * LIMIT + [429]


def test_tries_at_the_same_time_do_not_get_past_the_limit(settings: Settings, redis_url: str) -> None:
    def take(number: int) -> bool:
        try:
            sign_in_limits.take("staff-1", "192.0.2.1")
        except TooManyTries:
            return False
        return True

    with ThreadPoolExecutor(20) as threads:
        assert sum(threads.map(take, range(60))) == LIMIT


def test_whatever_calls_authenticate_is_limited(staff: User) -> None:
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1")
    for _ in range(LIMIT):
        assert authenticate(request, username="staff-1", password="wrong") is None
    with pytest.raises(TooManyTries):
        authenticate(request, username="staff-1", password=PASSWORD)
    with pytest.raises(TooManyTries):
        async_to_sync(aauthenticate)(request, username="staff-1", password=PASSWORD)


def test_the_admin_has_no_form_of_its_own_that_checks_a_password(staff: User) -> None:
    client = Client(REMOTE_ADDR="192.0.2.1")
    client.force_login(staff)
    body = {"old_password": PASSWORD, "new_password1": "quite another one", "new_password2": "quite another one"}
    for answer in (client.get("/admin/password_change/"), client.post("/admin/password_change/", body)):
        assert (answer.status_code, answer["Location"]) == (302, "/profile")
    staff.refresh_from_db()
    assert staff.check_password(PASSWORD)


def test_guesses_of_the_current_password_are_limited_and_audited(staff: User) -> None:
    client = Client(REMOTE_ADDR="192.0.2.1")
    client.force_login(staff)
    AuditEntry.objects.all().delete()
    path, body = "/api/v1/account/password", {"current": "wrong", "new": "quite another one"}
    answers = [client.post(path, body, "application/json").status_code for _ in range(LIMIT + 2)]
    assert answers == [400] * LIMIT + [429] * 2
    assert AuditEntry.objects.filter(action="sign-in failed", detail__door=path).count() == LIMIT


def test_changes_of_users_and_rights_are_audited_without_a_hash(staff: User) -> None:
    other = User.objects.create_user("other", password="first password")
    other.is_superuser = True
    other.set_password("second password")
    other.save()
    group = Group.objects.get_or_create(name="approver")[0]
    group.user_set.add(other)
    other.groups.clear()
    other.user_permissions.set([])
    other.delete()
    rows = [
        (row.action, row.object_id, row.detail) for row in AuditEntry.objects.filter(object_type="user").order_by("id")
    ]
    assert rows == [
        ("created", "other", {"username": "other", "is_active": True}),
        ("changed", "other", {"is_superuser": {"before": False, "after": True}, "password": "changed"}),
        ("changed", "other", {"groups": {"before": [], "after": ["approver"]}}),
        ("changed", "other", {"groups": {"before": ["approver"], "after": []}}),
        ("deleted", "other", {"groups": []}),
    ]
    assert "md5$" not in str([row.detail for row in AuditEntry.objects.all()])


def test_a_right_given_in_the_admin_names_who_gave_it(staff: User) -> None:
    staff.is_superuser = True
    staff.save()
    other = person("other", "viewer")
    AuditEntry.objects.all().delete()
    client = Client(REMOTE_ADDR="192.0.2.3")
    client.force_login(staff)
    group = Group.objects.get_or_create(name="operator")[0]
    body = {
        "username": "other",
        "is_active": "on",
        "is_superuser": "on",
        "groups": [str(group.pk)],
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }
    response = client.post(f"/admin/auth/user/{other.pk}/change/", body)
    assert response.status_code == 302, response.content.decode()
    rows = AuditEntry.objects.filter(object_id="other").order_by("id")
    assert {(row.actor, row.address) for row in rows} == {("staff-1", "192.0.2.3")}
    changed = {name: change for row in rows for name, change in row.detail.items()}
    assert changed["is_superuser"] == {"before": False, "after": True}
    assert changed["groups"]["after"] == ["operator"]


@pytest.fixture
def two_processes(redis_url: str, tmp_path: Path, django_db_setup: None) -> Iterator[list[str]]:
    """Two web servers on one database and one Redis, as `make run` starts one; yield their addresses."""
    port = free_ports(2)[0]
    env = {
        **os.environ,
        "LOCAL_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path}/dlqadmin.sqlite3",
        "REDIS_URL": redis_url,
        "SIGN_IN_RATE": f"{LIMIT}/day",
    }
    schema_template.migrate(env)
    line = next(row for row in Path(ROOT, "Procfile").read_text().splitlines() if row.startswith("web: "))
    started = []
    for number in (port, port + 1):
        words = line.removeprefix("web: ").replace("$WEB_HOST", HOST).replace("$WEB_PORT", str(number)).split()
        started.append(subprocess.Popen([sys.executable, "-m", *words], cwd=ROOT, env=env))
    try:
        for number in (port, port + 1):
            wait_until(partial(is_answering, HOST, number), "The dashboard", 60)
        yield [f"http://{HOST}:{number}" for number in (port, port + 1)]
    finally:
        for server in started:
            server.terminate()
            server.wait()


@pytest.mark.slow
@pytest.mark.django_db  # so that there is a migrated schema to copy
def test_processes_share_the_count_and_no_server_takes_the_forged_header(two_processes: list[str]) -> None:
    statuses = []
    for number in range(LIMIT + 1):
        with httpx.Client(base_url=two_processes[number % 2], timeout=30) as client:
            client.get(API)
            headers = {"X-CSRFToken": client.cookies["csrftoken"], "X-Forwarded-For": f"10.0.0.{number}"}
            body = {"username": "demo", "password": "wrong"}
            statuses.append(client.post(API, json=body, headers=headers).status_code)
    assert statuses == [401] * LIMIT + [429]
