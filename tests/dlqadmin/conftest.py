"""People, addresses where nobody answers, and an engine that answers what it is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group, User
from django.core.cache import caches
from pytest_django import Settings
from rest_framework.test import APIClient

from tests.dlqadmin.fakes import FakeEngine

NOWHERE = "127.0.0.1:1"
LOCAL_MEMORY = "django.core.cache.backends.locmem.LocMemCache"
PASSWORD = "correct horse battery staple"


@pytest.fixture(autouse=True)
def alone(settings: Settings) -> None:
    """A test never talks to what happens to run on this machine."""
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S = NOWHERE, 0.2
    settings.KAFKA_SECURITY, settings.OTHER_CLUSTERS = {}, {}
    settings.ENGINE_URL = f"http://{NOWHERE}"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # quick; the product has Django's
    settings.REDIS_URL = f"redis://{NOWHERE}/0"
    settings.CACHES = {name: {"BACKEND": LOCAL_MEMORY, "LOCATION": name} for name in ("default", "shared")}
    settings.DLQ_TOPICS = [r".*[.-]dlq$"]
    settings.ENVIRONMENT, settings.CLUSTER, settings.READ_ONLY = "LOCAL", "local", False
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
def as_operator(operator: User) -> APIClient:
    return signed_in(operator)


@pytest.fixture
def as_viewer(viewer: User) -> APIClient:
    return signed_in(viewer)


@pytest.fixture
def anonymous(db: None) -> APIClient:
    return APIClient()


def person(name: str, role: str | None) -> User:
    user = User.objects.create_user(name, password=PASSWORD)
    if role:
        user.groups.add(Group.objects.get_or_create(name=role)[0])
    return user


def signed_in(user: User) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client
