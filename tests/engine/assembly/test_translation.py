"""Java connectors' configurations, translated: each option is kept, renamed, dropped, or left to a person."""

from __future__ import annotations

import pytest

from engine.assembly.java_connectors import JAVA_CONNECTORS
from engine.assembly.translation import translate
from engine.assembly.validation import validate
from engine.config.worker import parse_worker
from engine.errors import ConfigError
from tests.support.translations import open_points, unknown_options, valid_result

SINK = {
    "name": "orders",
    "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
    "topics": "orders",
    "connection.url": "jdbc:postgresql://db.example:5432/shop",
    "connection.user": "me",
    "connection.password": "p@ss/w:rd",
    "pk.mode": "record_key",
    "pk.fields": "id",
    "insert.mode": "upsert",
}
SOURCE = {
    "name": "shop",
    "connector.class": "JdbcSourceConnector",
    "connection.url": "jdbc:postgresql://db/shop?user=me&password=x&currentSchema=s&sslmode=require",
    "mode": "incrementing",
    "table.whitelist": "orders",
    "topic.prefix": "shop-",
    "poll.interval.ms": "1000",
}

# The options of Confluent's JdbcSinkConfig and JdbcSourceConnectorConfig, without those of credentials providers.
SINK_OPTIONS = """
connection.url connection.user connection.password connection.attempts connection.backoff.ms table.name.format
max.retries retry.backoff.ms batch.size delete.enabled replace.null.with.default auto.create auto.evolve insert.mode
pk.fields pk.mode fields.whitelist dialect.name string.output.value.column.name db.timezone date.timezone
timestamp.precision.mode timestamp.fields.list table.types trim.sensitive.log mssql.use.merge.holdlock
date.calendar.system quote.sql.identifiers
"""
SOURCE_OPTIONS = """
connection.url connection.user connection.password connection.attempts connection.backoff.ms poll.interval.ms
batch.max.rows max.buffer.size poll.linger.ms numeric.precision.mapping numeric.mapping dialect.name mode
incrementing.column.name timestamp.column.name timestamp.columns.mapping incrementing.column.mapping timestamp.initial
timestamp.granularity table.monitoring.startup.polling.limit.ms table.poll.interval.ms table.whitelist table.blacklist
table.include.list table.exclude.list schema.pattern catalog.pattern query query.masked topic.prefix validate.non.null
date.calendar.system timestamp.delay.interval.ms db.timezone quote.sql.identifiers query.suffix query.retry.attempts
table.types transaction.isolation.mode
"""


@pytest.mark.parametrize("properties", [SINK, SOURCE], ids=["sink", "source"])
def test_the_result_is_a_valid_configuration_and_reads_back_from_its_text(properties: dict[str, str]) -> None:
    valid_result(properties)


@pytest.mark.parametrize(
    ("properties", "names"), [(SINK, SINK_OPTIONS), (SOURCE, SOURCE_OPTIONS)], ids=["sink", "source"]
)
def test_the_table_knows_every_option_of_the_jdbc_connectors(properties: dict[str, str], names: str) -> None:
    assert unknown_options(properties, names) == []


def test_user_and_password_are_encoded_in_the_url() -> None:
    url = translate(SINK).properties["connection.url"]
    assert url == "postgresql://me:p%40ss%2Fw%3Ard@db.example:5432/shop"
    kept = translate({**SINK, "connection.password": "${file:/secrets:pw}"}).properties["connection.url"]
    assert kept == "postgresql://me:${file:/secrets:pw}@db.example:5432/shop"


def test_parameters_of_the_url_become_those_of_libpq_or_are_open() -> None:
    url = translate(SOURCE).properties["connection.url"]
    assert url == "postgresql://me:x@db/shop?sslmode=require&options=-csearch_path%3Ds"
    assert open_points({**SOURCE, "connection.url": "jdbc:postgresql://db/shop?loginTimeout=3"}) == [
        "the parameter loginTimeout of connection.url has no equivalent"
    ]


def test_retries_have_the_default_of_the_java_sink() -> None:
    assert translate(SINK).properties["errors.retry.limit"] == "10"


def test_an_option_that_is_set_twice_is_open() -> None:
    [point] = open_points({**SINK, "table.name": "a", "table.name.format": "b"})
    assert point == "table.name=b (table.name.format is table.name here) is left out: table.name has a value already"


def test_several_hosts_are_open() -> None:
    [point] = open_points({**SINK, "connection.url": "jdbc:postgresql://a,b:5433/shop"})
    assert "names several hosts" in point


def test_another_database_is_open_and_its_url_is_not_quoted() -> None:
    [point] = open_points({**SINK, "connection.url": "jdbc:mysql://root:hidden@db/shop"})
    assert point == "connection.url has no equivalent: jdbc:mysql is not supported, only PostgreSQL and SQLite are"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"table.name.format": "t_${topic}"}, {"table.name": "t_orders"}),
        ({"table.name.format": "rows"}, {"table.name": "rows"}),
        ({"max.retries": "4"}, {"errors.retry.limit": "4"}),
        ({"batch.size": "10"}, {}),
        ({"auto.create": "false"}, {}),
        ({"errors.tolerance": "all"}, {"errors.tolerance": "all"}),
    ],
)
def test_an_option_is_renamed_dropped_or_kept(more: dict[str, str], expected: dict[str, str]) -> None:
    base = translate(SINK).properties
    found = translate({**SINK, **more})
    assert {name: value for name, value in found.properties.items() if base.get(name) != value} == {
        name: value for name, value in expected.items() if base.get(name) != value
    }
    assert set(expected.items()) <= set(found.properties.items())
    assert not any(option.is_open for option in found.options)


@pytest.mark.parametrize(
    "more",
    [
        {"auto.create": "true"},
        {"delete.enabled": "true"},
        {"insert.mode": "update"},
        {"pk.mode": "kafka"},
        {"db.timezone": "Europe/Berlin"},
        {"of.nobody": "x"},
        {"topics": "a,b"},
    ],
)
def test_an_option_without_equivalent_is_open_and_left_out(more: dict[str, str]) -> None:
    assert len(open_points({**SINK, **more})) == 1
    for name in more:
        assert name == "topics" or name not in translate({**SINK, **more}).properties


def test_classes_without_equivalent_say_why() -> None:
    for row in JAVA_CONNECTORS:
        if row.equivalent is None:
            name = f"{row.name}X" if row.name.endswith(".") else row.name
            result = translate({"connector.class": name})
            assert (result.equivalent, result.reason) == (None, row.reason)


def test_a_class_of_the_engine_stays_as_it_is() -> None:
    properties = {"name": "c", "connector.class": "FileStreamSink", "topics": "t"}
    assert translate(properties).properties == properties


def test_validation_names_the_equivalent() -> None:
    def problem(name: str) -> str:
        with pytest.raises(ConfigError) as raised:
            validate({**SINK, "connector.class": name}, parse_worker({}))
        return next(text for option, _, text in raised.value.problems if option == "connector.class")

    assert problem("io.confluent.connect.jdbc.JdbcSinkConnector") == (
        "is a class of Java; use SqlSink, and `python -m engine translate` to convert the configuration"
    )
    assert "no equivalent: it reads a database's change log" in problem("io.debezium.connector.mysql.MySqlConnector")
    sinks = {"s3.S3": "ObjectStoreSink", "http.Http": "HttpSink", "elasticsearch.Elasticsearch": "ElasticsearchSink"}
    for name, sink in sinks.items():
        assert f"use {sink}, and" in problem(f"io.confluent.connect.{name}SinkConnector")
