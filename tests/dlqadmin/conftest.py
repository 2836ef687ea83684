"""People, addresses where nobody answers, and an engine that answers what it is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.core.cache import caches
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.accounts import tokens
from dlqadmin.audit import sign_in_limits
from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.permissions import READ_PAYLOADS, rights_of
from dlqadmin.broker import cluster_settings
from dlqadmin.deadletters.index.active_mappings import forget_active_mappings
from dlqadmin.jobs import runs
from dlqadmin.teams.models import Team, TeamRole
from tests.dlqadmin.fakes import FakeEngine
from tests.support.mail_server import HOST, MailServer, mail_server

NOWHERE = "127.0.0.1:1"
LOCAL_MEMORY = "django.core.cache.backends.locmem.LocMemCache"
PASSWORD = "correct horse battery staple"


@pytest.fixture(autouse=True)
def alone(settings: Settings) -> None:
    """A test never talks to what happens to run on this machine."""
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S = NOWHERE, 0.02  # each question waits so long
    settings.KAFKA_SECURITY, settings.OTHER_CLUSTERS, settings.KAFKA_CLUSTER_SECRETS = {}, {}, {}
    settings.SCHEMA_REGISTRIES, settings.SCHEMA_REGISTRY_SECRETS = {}, {}
    settings.ENGINE_URL, settings.ENGINE_URLS, settings.ENGINE_CA_FILE = f"http://{NOWHERE}", [], ""
    settings.CONNECT_CLUSTERS = {}
    settings.OIDC_PROVIDERS, settings.LOCAL_SIGN_IN = {}, True
    settings.ENGINE_TOKEN = settings.ENGINE_TOKEN_FILE = settings.ENGINE_USER = settings.ENGINE_PASSWORD = ""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick; the product has Django's
    settings.WHITENOISE_AUTOREFRESH = True  # otherwise each client reads all static files for its first request
    settings.REDIS_URL = f"redis://{NOWHERE}/0"
    settings.CACHES = {name: {"BACKEND": LOCAL_MEMORY, "LOCATION": name} for name in ("default", "shared")}
    settings.DLQ_TOPICS = [r".*[.-]dlq$"]
    settings.ENVIRONMENT, settings.CLUSTER, settings.READ_ONLY = "LOCAL", "local", False
    sign_in_limits.forget_own_counts()
    forget_active_mappings()
    cluster_settings.forget()
    runs.cut_off.clear()  # the next test's database gives the same ids again
    for name in settings.CACHES:
        caches[name].clear()


@pytest.fixture
def engine(settings: Settings) -> Iterator[FakeEngine]:
    """An engine on a free port."""
    with FakeEngine() as running:
        settings.ENGINE_URL = running.url
        yield running


@pytest.fixture
def operator(db: None) -> User:
    return person("operator-1", "operator")


@pytest.fixture
def viewer(db: None) -> User:
    return person("viewer-1", "viewer")


@pytest.fixture
def as_reader(db: None) -> APIClient:
    """A viewer who may read payloads."""
    return signed_in(person("reader-1", "viewer", payload_reader=True))


@pytest.fixture
def as_operator(operator: User) -> APIClient:
    return signed_in(operator)


@pytest.fixture
def as_admin(db: None) -> APIClient:
    user = person("admin-1", None)
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    return signed_in(User.objects.get(pk=user.pk))


@pytest.fixture
def as_viewer(viewer: User) -> APIClient:
    return signed_in(viewer)


@pytest.fixture
def anonymous(db: None) -> APIClient:
    return APIClient()


def person(name: str, role: str | None, *, payload_reader: bool | None = None) -> User:
    """A user of this role; operators and approvers may read payloads unless a test says otherwise.

    Bulk statements send no signals, so that the audit trail begins with what the test does.
    """
    reads = role in ("operator", "approver") if payload_reader is None else payload_reader
    names = [*([role] if role else ()), *([READ_PAYLOADS.scope] if reads else ())]
    [user] = User.objects.bulk_create([User(username=name, password=make_password(PASSWORD))])
    groups = [Group.objects.get_or_create(name=group)[0] for group in names]
    membership = User.groups.through
    membership.objects.bulk_create([membership(user=user, group=group) for group in groups])
    return user


def token_of(user: User, *scopes: str) -> str:
    """Return the secret of a new API token, with all the user's rights unless scopes are named."""
    return tokens.create(user, user, "test", scopes or rights_of(user), 1, timezone.now())[1]


def signed_in(user: User) -> APIClient:
    """A client whose sign-in is not in the audit trail: tests look at what is done then."""
    client = APIClient()
    client.force_login(user)
    AuditEntry.objects.filter(object_type="session", object_id=user.get_username()).delete()
    return client


def team(name: str, topics: Sequence[str] = (), connectors: Sequence[str] = ()) -> Team:
    """A team that owns topics and connectors."""
    return Team.objects.create(name=name, topics=list(topics), connectors=list(connectors), created_at=timezone.now())


def member(name: str, roles: Mapping[Team, Sequence[str]]) -> User:
    """A user without global roles who has these roles in teams."""
    user = person(name, None)
    for own, names in roles.items():
        TeamRole.objects.bulk_create([TeamRole(team=own, user=user, role=role) for role in names])
    return user


@pytest.fixture(name="mail_server")
def configured_mail_server(settings: Settings) -> Iterator[MailServer]:
    """A server on a free port, and the settings that lead to it."""
    with mail_server() as running:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = HOST, running.port
        settings.EMAIL_USE_TLS = False
        settings.DEFAULT_FROM_EMAIL = "dlqadmin@example.com"
        yield running
