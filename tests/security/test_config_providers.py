"""Secrets that config providers hold reach the clients and steps of a task, and nobody's eyes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from engine.assembly.driver import task_settings
from engine.assembly.lease import hide_values, log_failure
from engine.assembly.validation import plan_of_task, secrets_of, validate
from engine.config.masking import mask
from engine.config.providers import REFERENCE
from engine.config.worker import WorkerConfig, parse_worker
from engine.errors import ConfigError, FatalError
from engine.kafka.clock import WorkerClock
from engine.pipeline.outcome import FailedAttempts, StageFailure
from engine.pipeline.task_state import TaskState
from engine.record.record import RawRecord, Record, TopicPartition
from engine.startup.wiring import examine_connector
from engine.tasks.clients import TaskOpening, build_guard
from engine.tasks.sink import build_transforms
from engine.worker_messages import LeaseEnd, TaskConfig, TaskReport
from tests.broker.connector import read_all
from tests.broker.driver import Driver, running
from tests.broker.test_leader import Cluster
from tests.support.topics import send

SECRET = "s3cr3t-hunter2"
SINK = {"name": "c", "connector.class": "FileStreamSink", "topics": "t"}
INSERT = {
    "transforms": "x", "transforms.x.type": "InsertField$Value", "transforms.x.static.field": "by",
}  # fmt: skip
KAFKA = "org.apache.kafka.common.config.provider."


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Secrets: a properties file, a directory with a file for each, and a variable."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "all.properties").write_text(f"password={SECRET}\nurl=sqlite:////tmp/{SECRET}.db\n")
    (tmp_path / "secrets" / "password").write_text(f"{SECRET}\n")
    (tmp_path / "other").write_text(f"password={SECRET}\n")
    (tmp_path / "secrets" / "link").symlink_to(tmp_path / "other")
    monkeypatch.setenv("APP_SECRET", SECRET)
    monkeypatch.setenv("HIDDEN_SECRET", SECRET)
    return tmp_path


def properties_of(home: Path, **more: str) -> dict[str, str]:
    return {
        "config.providers": "file,directory,env",
        "config.providers.file.class": f"{KAFKA}FileConfigProvider",
        "config.providers.directory.class": "DirectoryConfigProvider",
        "config.providers.env.class": f"{KAFKA}EnvVarConfigProvider",
        "config.providers.file.param.allowed.paths": f"{home}/secrets",
        "config.providers.directory.param.allowed.paths": f"{home}/secrets",
        "config.providers.env.param.allowlist.pattern": "APP_.*",
        **more,
    }


def worker_of(home: Path, **more: str) -> WorkerConfig:
    return parse_worker(properties_of(home, **more))


def references(home: Path) -> list[str]:
    return [
        f"${{file:{home}/secrets/all.properties:password}}",
        f"${{directory:{home}/secrets:password}}",
        "${env:APP_SECRET}",
    ]


def problems(properties: Mapping[str, str], worker: WorkerConfig) -> dict[str, str]:
    """The problems that the driver finds, or else the task."""

    def examine_and_open() -> None:
        examine_connector(properties, worker)
        plan_of_task(properties, worker)

    with pytest.raises(ConfigError) as caught:
        examine_and_open()
    assert SECRET not in str(caught.value)
    return {option: message for option, _, message in caught.value.problems}


def test_each_provider_gives_its_value_to_the_task_alone(home: Path) -> None:
    worker = worker_of(home)
    for reference in references(home):
        properties = {**SINK, **INSERT, "transforms.x.static.value": reference}
        shown = examine_connector(properties, worker)
        assert SECRET not in str(shown)
        plan, _ = plan_of_task(properties, worker)
        [transform] = build_transforms(plan.config)
        after = transform.apply(Record("t", 0, 0, None, {}))
        assert after is not None
        assert after.value == {"by": SECRET}
        assert SECRET not in str([stage.config for stage in plan.stages])
        assert plan.guarded_stages == shown.stages
        assert reference in str(plan.stages)


def test_a_value_may_hold_text_around_several_references(home: Path) -> None:
    text = f"a-${{env:APP_SECRET}}-{references(home)[0]}-b"
    plan, _ = plan_of_task({**SINK, **INSERT, "transforms.x.static.value": text}, worker_of(home))
    assert plan.config.transforms[0].options["static.value"] == f"a-{SECRET}-{SECRET}-b"


def test_what_is_stored_and_shown_are_the_properties_as_they_were_written(home: Path) -> None:
    properties = {**SINK, "connector.class": "SqlSink", "table.name": "q",
                  "connection.url": f"${{file:{home}/secrets/all.properties:url}}"}  # fmt: skip
    worker = worker_of(home, **{"file.connectors.root": "/tmp"} if home.parts[1] != "tmp" else {})
    assert SECRET not in str(examine_connector(properties, worker))
    assert SECRET not in str(mask(properties, secrets_of(properties, worker)))
    lease = msgspec.json.encode(TaskConfig("c", 0, 1, properties, ()))
    assert SECRET.encode() not in lease


def test_the_workers_own_properties_are_resolved_at_the_start_and_travel_unresolved(home: Path) -> None:
    given = {"sasl.password": references(home)[0], "value.converter": "StringConverter",
             "value.converter.converter.encoding": "${env:APP_ENCODING}"}  # fmt: skip
    with pytest.raises(ConfigError, match="the environment variable APP_ENCODING, which is not set"):
        worker_of(home, **given)
    worker = worker_of(home, **{**given, "value.converter.converter.encoding": "utf-8"})
    assert worker.client["sasl.password"] == SECRET
    assert SECRET not in str(worker.properties)
    assert parse_worker(worker.properties).client["sasl.password"] == SECRET


def test_an_option_of_the_workers_converter_is_in_no_stage(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_ENCODING", "latin-1")
    given = {"value.converter": "StringConverter", "value.converter.converter.encoding": "${env:APP_ENCODING}"}
    worker = worker_of(home, **given)
    plan, _ = plan_of_task(SINK, parse_worker(worker.properties))
    assert plan.config.value_converter.options == {"converter.encoding": "latin-1"}
    assert plan.stages == validate(SINK, worker).stages
    assert plan.stages[1].config == {"converter.encoding": "${env:APP_ENCODING}"}


def test_the_driver_looks_values_up_for_the_clients_that_it_opens_itself(home: Path) -> None:
    worker = worker_of(home, **{"connector.client.config.override.policy": "All"})
    properties = {**SINK, "producer.override.sasl.password": references(home)[0]}
    assert SECRET not in str(examine_connector(properties, worker))
    assert task_settings(properties, 0, worker)["sasl.password"] == SECRET


@pytest.mark.parametrize(
    "value",
    [
        "${vault:secret/path:key}", "${envv:APP_SECRET}", "x${File:/a:b}y",
        "${file:{home}/secrets/all.properties:nope}",
        "${file:{home}/secrets/missing:key}", "${env:APP_MISSING}", "${env:HIDDEN_SECRET}", "${env:PATH}",
        "${env:/etc/passwd:root}", "${file:{home}/other:password}", "${file:{home}/secrets/../other:password}",
        "${file:{home}/secrets/link:password}", "${directory:{home}/secrets:link}",
        "${directory:{home}/secrets:../other}",
        "${directory:{home}:other}", "${file:/etc/passwd:root}", "${file:password}", "${directory:{home}/secrets:}",
        "${file:{home}/secrets:password}",
    ],
)  # fmt: skip
def test_what_can_not_be_looked_up_is_a_problem_of_its_option(home: Path, value: str) -> None:
    value = value.replace("{home}", str(home))
    found = problems({**SINK, **INSERT, "transforms.x.static.value": value}, worker_of(home))
    assert found.keys() == {"transforms.x.static.value"}


@pytest.mark.parametrize("value", ["${file:/a:b}", "${env:HOME}", "${any:x}"])
def test_without_providers_every_reference_is_refused_also_where_it_would_be_a_file(value: str) -> None:
    worker = parse_worker({"file.connectors.root": "/srv/engine"})
    found = problems({**SINK, "file": f"/srv/engine/{value}"}, worker)
    assert "which is not in the worker's config.providers" in found["file"]
    with pytest.raises(ConfigError, match=r"is not in the worker's config\.providers"):
        parse_worker({"sasl.password": value})


def test_connectors_may_use_no_provider_that_is_not_limited(home: Path) -> None:
    worker = parse_worker({"config.providers": "env,file", "sasl.password": "${env:HIDDEN_SECRET}"})
    assert worker.client["sasl.password"] == SECRET
    for value, option in (
        ("${env:HIDDEN_SECRET}", "env.param.allowlist.pattern"),
        (references(home)[0], "file.param.allowed.paths"),
    ):
        found = problems({**SINK, **INSERT, "transforms.x.static.value": value}, worker)
        assert f"set the worker's config.providers.{option}" in found["transforms.x.static.value"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("tasks.max", "${env:APP_SECRET}"), ("topics", "${env:APP_SECRET}"), ("connector.class", "${env:APP_SECRET}"),
        ("name", "${env:APP_SECRET}"), ("transforms.x.type", "${env:APP_SECRET}"),
        ("value.converter", "${env:APP_SECRET}"),
        ("errors.tolerance", "${env:APP_SECRET}"), ("topics.regex", "${env:APP_SECRET}"),
    ],
)  # fmt: skip
def test_what_tasks_are_planned_by_must_be_written_out(home: Path, option: str, value: str) -> None:
    given = {**SINK, **INSERT, "transforms.x.static.value": "v", option: value}
    assert option in problems(given, worker_of(home))


@pytest.mark.parametrize(
    ("transform", "options"),
    [
        ("TimestampRouter", {"topic.format": "${topic}-${timestamp}"}),
        ("RegexRouter", {"regex": "(?<a>.*):(x{2})", "replacement": "$1-${a}:y"}),
        ("InsertField$Value", {"static.field": "f", "static.value": "$:{x} ${1:2} ${ a:b} {env:APP_SECRET}"}),
    ],
)
def test_text_that_only_looks_alike_stays_as_it_is(home: Path, transform: str, options: dict[str, str]) -> None:
    given = {f"transforms.x.{name}": value for name, value in options.items()}
    plan, _ = plan_of_task({**SINK, "transforms": "x", "transforms.x.type": transform, **given}, worker_of(home))
    assert plan.config.transforms[0].options == options


def test_a_value_that_looks_like_a_reference_is_not_looked_up_again(home: Path) -> None:
    (home / "secrets" / "all.properties").write_text("password=${env:APP_SECRET}\n")
    plan, _ = plan_of_task({**SINK, **INSERT, "transforms.x.static.value": references(home)[0]}, worker_of(home))
    assert plan.config.transforms[0].options["static.value"] == "${env:APP_SECRET}"


def test_no_problem_shows_a_value_nor_a_part_of_it(home: Path) -> None:
    worker = worker_of(home, **{"connector.client.config.override.policy": "All"})
    for option in ("transforms.x.spec", "consumer.override.fetch.min.bytes", "producer.override.sasl.jaas.config",
                   "admin.override.ssl.keystore.type"):  # fmt: skip
        given = {**SINK, "transforms": "x", "transforms.x.type": "Cast$Value", "transforms.x.spec": "a:int8"}
        with pytest.raises(ConfigError) as caught:
            plan_of_task({**given, option: "${env:APP_SECRET}"}, worker)
        assert option in {row[0] for row in caught.value.problems}
        assert not any(part in str(caught.value) for part in (SECRET, "s3cr3t", "hunter2")), option
    with pytest.raises(ConfigError) as caught:
        worker_of(home, slots="${env:APP_SECRET}")
    assert "hunter2" not in str(caught.value)


def opening_of(home: Path) -> TaskOpening:
    """A task of a sink whose transform fails with the secret in its message, as its lease opens it."""
    worker = worker_of(home)
    shown = {"errors.include.foreign.messages": "true"}
    properties = {**SINK, **INSERT, **shown, "transforms.x.static.value": "${env:APP_SECRET}"}
    plan, found = plan_of_task(properties, worker)
    return TaskOpening(TaskConfig("c", 0, 1, properties, ()), plan, worker, WorkerClock(), lambda _: 0, found=found)


def test_an_error_that_names_the_value_is_told_without_it(home: Path) -> None:
    opening = opening_of(home)
    guard = build_guard(opening, TaskState(0, 1, 0, opening.plan.stages), None)
    try:
        raise ValueError(f"can't use {SECRET}") from KeyError(SECRET)
    except ValueError as error:
        raised = StageFailure(3, Record("t", 0, 0, None, {}), error)
    origin = RawRecord("t", 0, 0, 0, "CREATE_TIME", None, b"{}")
    context = guard.build_error(raised, origin, FailedAttempts(1, 0), tolerable=True).context
    assert SECRET not in f"{context.exception}{context.message}{context.root_message}{context.stages}"
    assert "${env:APP_SECRET}" in context.message


def test_a_log_line_of_a_task_is_told_without_the_value(home: Path) -> None:
    opening = opening_of(home)
    guard = build_guard(opening, TaskState(0, 1, 0, opening.plan.stages), None)
    telling = guard.content_policy._replace(content=True, foreign=True)
    error = FatalError(f"no login with {SECRET}")
    assert telling.sentence(error) == "FatalError: no login with ${env:APP_SECRET}"
    assert SECRET not in telling.trace(error)


def test_a_trace_of_a_task_is_reported_without_the_value(home: Path) -> None:
    report = TaskReport("c", 0, 1, None, {}, {}, {}, {}, {}, {}, False, None, f"FatalError: no login with {SECRET}")
    [told] = hide_values([report], {"c-0": opening_of(home).found})
    assert told.trace == "FatalError: no login with ${env:APP_SECRET}"


def test_the_log_of_a_failed_task_is_without_the_value(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    trace = f"FatalError: no login with {SECRET}"
    report = TaskReport("c", 0, 1, LeaseEnd.FAILED, {}, {}, {}, {}, {}, {}, False, None, trace)
    log_failure(report, {"c-0": opening_of(home).found})
    assert caplog.messages == ["task c-0 failed: FatalError: no login with ${env:APP_SECRET}"]


def test_a_long_text_is_searched_in_linear_time() -> None:
    began = time.monotonic()
    for text in ("${a:" * 60_000, "${" + "a" * 200_000, "${a" + ":" * 200_000):
        assert REFERENCE.search(text) is None
    assert time.monotonic() - began < 5


@pytest.fixture
def cluster(home: Path, broker: str) -> Cluster:
    made = Cluster(broker, home)
    made.properties |= properties_of(home)
    return made


def test_a_running_engine_uses_the_value_and_shows_it_nowhere(cluster: Cluster, home: Path, broker: str) -> None:
    engine = cluster.driver()
    with running(engine):
        assert_shown_nowhere(engine.start().await_leading(), cluster, home, broker)


def assert_shown_nowhere(engine: Driver, cluster: Cluster, home: Path, broker: str) -> None:
    topic, out = cluster.origin, home / "out"
    for value in (b'{"a": 1}', b"no json"):
        send(broker, topic, b"k", value)
    reference = references(home)[0]
    body = {
        "connector.class": "FileStreamSink", "topics": topic, "file": str(out), **INSERT,
        "transforms.x.static.value": reference, "value.converter.schemas.enable": "false", "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{topic}.dlq", "errors.deadletterqueue.include.configs": "true",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.topic.partitions": "1", "errors.log.enable": "true",
        "errors.log.include.configs": "true",
    }  # fmt: skip
    answers = [engine.http.put("/connectors/c/config", json=body).text]
    engine.until(lambda: out.exists() and SECRET in out.read_text(), "the value is written")
    letters = TopicPartition(f"{topic}.dlq", 0)
    engine.until(lambda: cluster.admin.partitions(letters.topic) and read_all(broker, letters), "the letter is written")
    paths = ("/connectors/c", "/connectors/c/config", "/connectors/c/status", "/connectors/c/tasks", "/metrics",
             "/connectors?expand=info&expand=status")  # fmt: skip
    answers += [engine.http.get(path).text for path in paths]
    answers.append(
        engine.http.put("/connector-plugins/FileStreamSink/config/validate", json={**body, "name": "c"}).text
    )
    assert reference in answers[2]
    stores = [cluster.properties[f"{name}.storage.topic"] for name in ("config", "status", "outcome")]
    written = [str(read_all(broker, TopicPartition(name, 0))) for name in (*stores, letters.topic)]
    assert reference in written[0]
    assert reference in written[-1]
    assert not [text for text in (*answers, *written, engine.log()) if SECRET in text]
