"""Configurations of the S3 sinks of Confluent and Aiven, translated."""

from __future__ import annotations

import pytest

from engine.assembly.translation import translate
from tests.support.translations import open_points, unknown_options, valid_result

PARQUET = "io.confluent.connect.s3.format.parquet.ParquetFormat"
CONFLUENT = {
    "name": "orders",
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "topics": "orders",
    "s3.bucket.name": "archive",
    "aws.access.key.id": "id",
    "aws.secret.access.key": "${file:/secrets:aws}",
    "storage.class": "io.confluent.connect.s3.storage.S3Storage",
    "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    "s3.compression.type": "gzip",
    "partitioner.class": "io.confluent.connect.storage.partitioner.DefaultPartitioner",
    "schema.compatibility": "NONE",
    "flush.size": "1000",
    "rotate.schedule.interval.ms": "60000",
    "rotate.interval.ms": "-1",
    "timezone": "UTC",
    "locale": "en-US",
    "s3.part.size": "5242880",
}
AIVEN = {
    "name": "orders",
    "connector.class": "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector",
    "topics": "orders",
    "aws.s3.bucket.name": "archive",
    "aws.s3.region": "eu-central-1",
    "aws.s3.endpoint": "https://store.example",
    "aws.s3.prefix": "shop/",
    "aws.access.key.id": "id",
    "aws.secret.access.key": "secret",
    "format.output.type": "jsonl",
    "format.output.fields": "value",
    "format.output.envelope": "false",
    "file.max.records": "500",
}

# The options of S3SinkConnectorConfig and those that it takes from StorageSinkConnectorConfig, StorageCommonConfig and
# PartitionerConfig.
CONFLUENT_OPTIONS = """
s3.bucket.name s3.object.tagging s3.object.tagging.key.value.pairs s3.object.behavior.on.tagging.error s3.ssea.name
s3.sse.customer.key s3.sse.kms.key.id s3.part.size s3.wan.mode enable.conditional.writes max.files.scan.limit
s3.credentials.provider.class s3.credentials.provider.sts.role.arn aws.access.key.id aws.secret.access.key s3.region
s3.acl.canned s3.compression.type s3.send.digest s3.compression.level s3.part.retries format.bytearray.extension
format.bytearray.separator s3.proxy.url s3.proxy.user s3.proxy.password s3.http.send.expect.continue
behavior.on.null.values report.null.values.to.dlq max.write.duration.ms rotate.file.on.partition.change
s3.retry.backoff.ms s3.path.style.access.enabled json.decimal.format store.kafka.keys store.kafka.headers
keys.format.class headers.format.class s3.elastic.buffer.enable s3.elastic.buffer.init.capacity
tombstone.encoded.partition s3.schema.partition.affix.type partitioner.max.open.files format.class flush.size
rotate.interval.ms rotate.schedule.interval.ms retry.backoff.ms shutdown.timeout.ms filename.offset.zero.pad.width
schemas.cache.config enhanced.avro.schema.support connect.meta.data avro.codec parquet.codec allow.optional.map.keys
schema.compatibility storage.class store.url topics.dir directory.delim file.delim partitioner.class
partition.field.name partition.duration.ms path.format locale timezone timestamp.extractor timestamp.field
"""
# The options of S3SinkConfig, with the old names.
AIVEN_OPTIONS = """
aws.access.key.id aws.secret.access.key aws.credentials.provider aws.s3.bucket.name aws.s3.sse.algorithm aws.s3.endpoint
aws.s3.region aws.s3.part.size.bytes aws.s3.prefix aws.sts.role.arn aws.sts.role.external.id aws.sts.role.session.name
aws.sts.role.session.duration aws.sts.config.endpoint aws.s3.backoff.delay.ms aws.s3.backoff.max.delay.ms
aws.s3.backoff.max.retries aws.s3.fetch.page.size aws.s3.fetch.buffer.size file.compression.type file.max.records
file.name.timestamp.timezone file.name.timestamp.source file.name.template file.prefix.template format.output.fields
format.output.fields.value.encoding format.output.type format.output.envelope output_compression output_fields
timestamp.timezone timestamp.source aws_access_key_id aws_secret_access_key aws_s3_bucket aws_s3_endpoint aws_s3_region
aws_s3_prefix kafka.retry.backoff.ms
"""


def test_confluents_configuration_keeps_its_meaning() -> None:
    result = valid_result(CONFLUENT)
    expected = {
        "connector.class": "ObjectStoreSink",
        "format": "jsonl",
        "compression.type": "gzip",
        "rotate.interval.ms": "60000",
        "s3.region": "us-west-2",
        "topics.dir": "topics",
        "flush.size": "1000",
    }
    assert expected.items() <= result.items()


def test_aivens_configuration_keeps_its_meaning() -> None:
    result = valid_result(AIVEN)
    expected = {
        "connector.class": "ObjectStoreSink",
        "format": "jsonl",
        "compression.type": "gzip",
        "topics.dir": "shop",
        "s3.bucket.name": "archive",
        "store.url": "https://store.example",
        "flush.size": "500",
    }
    assert expected.items() <= result.items()


@pytest.mark.parametrize(
    ("properties", "names"), [(CONFLUENT, CONFLUENT_OPTIONS), (AIVEN, AIVEN_OPTIONS)], ids=["confluent", "aiven"]
)
def test_the_table_knows_every_option(properties: dict[str, str], names: str) -> None:
    assert unknown_options(properties, names) == []


def test_the_codec_is_that_of_the_format() -> None:
    table = {**CONFLUENT, "format.class": PARQUET}
    assert valid_result(table)["compression.type"] == "snappy"
    assert valid_result({**table, "parquet.codec": "zstd"})["compression.type"] == "zstd"
    assert valid_result({**CONFLUENT, "parquet.codec": "zstd"})["compression.type"] == "gzip"


def test_aivens_old_names_are_read() -> None:
    old = {
        "aws_access_key_id": "id",
        "aws_secret_access_key": "s",
        "aws_s3_bucket": "archive",
        "output_compression": "none",
    }
    kept = {name: value for name, value in AIVEN.items() if not name.startswith("aws.")}
    result = valid_result({**kept, **old})
    assert (result["s3.bucket.name"], result["compression.type"]) == ("archive", "none")


def test_a_comment_says_what_differs() -> None:
    comments = {option.name: option.comment for option in translate(CONFLUENT).options}
    assert comments["flush.size"] == "the most records in all open objects of a task here, in one object there"
    assert comments["topics.dir"].startswith("topics is the default there; objects of the Java connector must not be")


@pytest.mark.parametrize(
    ("base", "more"),
    [
        (CONFLUENT, {"format.class": "io.confluent.connect.s3.format.avro.AvroFormat"}),
        (CONFLUENT, {"partitioner.class": "io.confluent.connect.storage.partitioner.TimeBasedPartitioner"}),
        (CONFLUENT, {"schema.compatibility": "BACKWARD"}),
        (CONFLUENT, {"behavior.on.null.values": "write"}),
        (CONFLUENT, {"aws.access.key.id": ""}),
        (CONFLUENT, {"s3.credentials.provider.class": "com.example.Keys"}),
        (CONFLUENT, {"s3.ssea.name": "aws:kms"}),
        (CONFLUENT, {"s3.acl.canned": "bucket-owner-full-control"}),
        (CONFLUENT, {"s3.proxy.url": "http://proxy"}),
        (CONFLUENT, {"store.kafka.keys": "true"}),
        (CONFLUENT, {"topics.dir": "/topics"}),
        (CONFLUENT, {"rotate.interval.ms": "1000"}),
        (CONFLUENT, {"format.class": PARQUET, "parquet.codec": "lz4"}),
        (AIVEN, {"format.output.type": "csv"}),
        (AIVEN, {"format.output.envelope": "true"}),
        (AIVEN, {"format.output.fields": "key,value"}),
        (AIVEN, {"file.name.template": "{{key}}"}),
        (AIVEN, {"aws.s3.prefix": "shop-"}),
        (AIVEN, {"aws.s3.sse.algorithm": "AES256"}),
        (AIVEN, {"aws.sts.role.arn": "arn:aws:iam::1:role/x"}),
    ],
)
def test_an_option_without_equivalent_is_open(base: dict[str, str], more: dict[str, str]) -> None:
    assert len(open_points({**base, **more})) == 1


def test_defaults_of_aivens_sink_that_the_engine_does_not_have_are_open() -> None:
    bare = {name: value for name, value in AIVEN.items() if not name.startswith("format.")}
    points = open_points(bare)
    assert [point.partition(" ")[0] for point in points] == ["format.output.type=csv", "format.output.envelope=true"]
