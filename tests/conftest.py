"""Real services for the tests, each started when the first test asks for it.

Marks come from what a test uses: whoever asks for a real broker is `broker`, whatever lives in tests/spark is `spark`
and in tests/images `images`, what disturbs a running engine (tests/chaos) is `chaos`; whoever asks for the whole
running product, or lives in tests/browser, is `browser`; the rest is `unit`.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models.signals import post_migrate
from hypothesis import settings
from pytest_django import DjangoDbBlocker

from demo.broker import LocalBroker
from demo.postgres import LocalPostgres, PostgresMissing
from dlqadmin.host.redis_server import LocalRedis
from tests.dlqadmin.upgrades import record
from tests.suites import is_collected, is_collected_on_postgres
from tests.support import schema_template
from tests.support.broker import BROKER_VARIABLE, lasting_broker
from tests.support.mail_server import MailServer, mail_server
from tests.support.openid_provider import OpenIdProvider
from tests.support.product import Product
from tests.support.schema_registry import REGISTRY_VARIABLE, LocalSchemaRegistry

# No deadline, because the machine is shared with brokers and browsers. `make test` tries the same examples each time:
# a change must not fail for an example that has nothing to do with it. `make soak` tries random ones.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None, derandomize=False)
settings.load_profile("fixed")

HERE = Path(__file__).parent
PROVIDER_GROUPS = ("quakes-on-call", "stations")
BROKER_FIXTURES = {"broker", "own_broker", "foreign_broker", "guarded_broker", "schema_registry"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by what it needs."""
    for item in items:
        kind = _kind(item)
        if item.path.is_relative_to(HERE) and not is_collected(kind, item.path):
            raise pytest.UsageError(f"{item.nodeid} is a {kind} test, and no suite in tests/suites.py collects it")
        if item.get_closest_marker("sql") and not is_collected_on_postgres(item.path):
            raise pytest.UsageError(f"{item.nodeid} is marked sql, and the suite on PostgreSQL does not collect it")
        item.add_marker(kind)


def pytest_collection_finish() -> None:
    """Take the tests themselves out of the garbage collector's sight: the engine collects with each lease."""
    gc.collect()
    gc.freeze()


def _kind(item: pytest.Item) -> str:
    if not item.path.is_relative_to(HERE):
        return "unit"
    room = item.path.relative_to(HERE).parts[0]
    if room in {"spark", "browser", "broker", "images"}:
        return room
    used = set(getattr(item, "fixturenames", ()))
    if used & {"product", "killable_product"}:
        return "browser"
    if "world" in used and room == "chaos":
        return room
    if room == "interop" and used & (BROKER_FIXTURES | {"keycloak"}):
        return room
    return "broker" if used & BROKER_FIXTURES else "unit"


@pytest.fixture(scope="session")
def schema_from_template(django_db_modify_db_settings_parallel_suffix: None) -> bool:
    """Return whether the test database gets its schema from a copy, instead of from the migrations."""
    return schema_template.use_template(schema_template.template())


@pytest.fixture(scope="session")
def django_db_modify_db_settings(schema_from_template: bool) -> None:
    """Pytest-django's fixture: it runs before the test database is created."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker, schema_from_template: bool) -> None:
    """The test database, with the migrated schema."""
    post_migrate.connect(_forget_work)  # a flush sends it too
    with django_db_blocker.unblock():
        if schema_from_template:
            schema_template.load(schema_template.template())
        else:
            schema_template.save(schema_template.template())


def _forget_work(**_: object) -> None:
    """Delete what the triggers of SQLite note while Django flushes the tables, in any order."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "sqlite" and "deadletters_workchange" in connection.introspection.table_names():
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM deadletters_workchange")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap servers of a real Kafka broker that other tests use too; make topic names of your own."""
    if BROKER_VARIABLE in os.environ:
        yield os.environ[BROKER_VARIABLE]
        return
    started = lasting_broker(tmp_path_factory.mktemp("broker")).start()
    yield started.bootstrap_servers
    started.stop()


@pytest.fixture(scope="session")
def schema_registry() -> Iterator[str]:
    """URL of a real schema registry that other tests use too; make subject names of your own."""
    if REGISTRY_VARIABLE in os.environ:
        yield os.environ[REGISTRY_VARIABLE]
        return
    started = LocalSchemaRegistry().start()
    yield started.url
    started.stop()


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[LocalBroker]:
    """A real Kafka broker of this test alone, to be stopped, killed and restarted."""
    started = lasting_broker(tmp_path / "broker").start()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """URL of a real Redis server shared by the session."""
    started = LocalRedis().start()
    yield started.url
    started.stop()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """URL of a real PostgreSQL server shared by the session."""
    try:
        started = LocalPostgres().start()
    except PostgresMissing as missing:
        pytest.skip(str(missing))
    yield started.url
    started.stop()


@pytest.fixture(scope="session")
def openid_provider() -> Iterator[OpenIdProvider]:
    """The OpenID provider of the running product. It knows nobody until a test adds people."""
    running = OpenIdProvider()
    yield running
    running.close()


@pytest.fixture(scope="session")
def product_mail() -> Iterator[MailServer]:
    """The mail server of the running product."""
    with mail_server() as running:
        yield running


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """The whole product on real input, as `make run` starts it, at the mark: the first batch is through."""
    started = Product(tmp_path_factory.mktemp("product")).start()
    yield started
    record.stop(started)


@pytest.fixture(scope="session")
def product_of_teams(
    tmp_path_factory: pytest.TempPathFactory, openid_provider: OpenIdProvider, product_mail: MailServer
) -> Iterator[Product]:
    """A product at the mark, with an OpenID provider and a mail server.

    The provider's groups give people the groups of the same names.
    """
    groups = {name: [name] for name in PROVIDER_GROUPS}
    settings = {
        "OIDC_PROVIDERS": json.dumps({"corp": openid_provider.settings(title="Corporate", groups=groups)}),
        "EMAIL_HOST": "127.0.0.1",
        "EMAIL_PORT": str(product_mail.port),
        "EMAIL_USE_TLS": "false",
    }
    started = Product(tmp_path_factory.mktemp("product"), **settings).start()
    yield started
    started.stop()
