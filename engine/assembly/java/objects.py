"""Rows of the S3 sinks of Confluent and Aiven."""

from __future__ import annotations

from engine.assembly.java.http import NO_PROXY
from engine.assembly.java.rows import JavaConnector, TranslatedOption, left_out, open_point

CODEC, LINES_CODEC, TABLE_CODEC = "compression.type", "s3.compression.type", "parquet.codec"
LINES, TABLE = "io.confluent.connect.s3.format.json.JsonFormat", "io.confluent.connect.s3.format.parquet.ParquetFormat"
FORMATS = "objects are JSON lines or Parquet"
KEY = "aws.access.key.id"
NO_KEYS = "the engine never uses the keys or roles of its machine; set aws.access.key.id and aws.secret.access.key"
WAITS = "while the store is away, the task begins again at its last commit, as long as it takes"
NO_ENCRYPTION = "the sink asks for no encryption; set the default encryption of the bucket"
VALUES_ONLY = "objects have the values of records only"
NAMES = "an object is named topics.dir/topic/partition=N/topic+N+offset"
OF_PARTITIONER = "it belongs to partitioner.class"
OF_AVRO = "it belongs to AvroFormat"
OF_BYTES = "it belongs to ByteArrayFormat"
OF_TEMPLATE = "it belongs to file.name.template"
UPLOADS = "an object is written in one request"
DECIMALS = "decimals are written as numbers"
NOTES = {
    "topics.dir": "objects of the Java connector must not be in this folder; the engine refuses them",
    "flush.size": "the most records in all open objects of a task here, in one object there",
    "rotate.interval.ms": "measured with the clock here, with timestamps of records there",
}


def _confluent(own: dict[str, str]) -> list[TranslatedOption]:
    is_table = own.get("format.class", "").strip() == TABLE
    unused, used = (LINES_CODEC, TABLE_CODEC) if is_table else (TABLE_CODEC, LINES_CODEC)
    rows = list[TranslatedOption]()
    if unused in own:
        rows.append(left_out(f"{unused}={own.pop(unused)} is dropped: it belongs to another format"))
    if used in own or is_table:
        rows.append(TranslatedOption(CODEC, own.pop(used, "snappy").strip().lower(), f"{used} is {CODEC} here"))
    return rows + _missing_key(own, KEY)


def _aiven(own: dict[str, str]) -> list[TranslatedOption]:
    codecs = [own.pop(name, "").strip().lower() for name in ("file.compression.type", "output_compression")]
    codec = next(filter(None, codecs), "gzip")
    rows = [TranslatedOption(CODEC, codec, f"file.compression.type is {CODEC} here; gzip is its default there")]
    for name in ("aws.s3.prefix", "aws_s3_prefix"):
        prefix = own.pop(name, "").strip()
        if prefix.endswith("/"):
            rows.append(TranslatedOption("topics.dir", prefix.rstrip("/"), f"{name} is topics.dir here"))
        elif prefix:
            rows.append(open_point(f"{name}={prefix} has no equivalent: topics.dir names a folder"))
    return rows + _missing_key(own, KEY, "aws_access_key_id")


def _missing_key(own: dict[str, str], *names: str) -> list[TranslatedOption]:
    return [] if any(own.get(name) for name in names) else [open_point(f"{KEY} is not set: {NO_KEYS}")]


CONFLUENT_S3_SINK = JavaConnector(
    "io.confluent.connect.s3.S3SinkConnector",
    "ObjectStoreSink",
    renamed={"format.class": "format", "rotate.schedule.interval.ms": "rotate.interval.ms"},
    dropped={
        "rotate.interval.ms=-1": "an object ends after the worker's offset.flush.interval.ms at the latest",
        "rotate.schedule.interval.ms=-1": "an object ends after rotate.interval.ms at the latest",
        "retry.backoff.ms": WAITS,
        "s3.part.retries": WAITS,
        "s3.retry.backoff.ms": WAITS,
        "max.write.duration.ms": "an object that another task has written is never written again",
        "enable.conditional.writes": "writes are always conditional",
        "max.files.scan.limit": "an object carries the offset at which it ends",
        "s3.part.size": UPLOADS,
        "s3.elastic.buffer.enable": UPLOADS,
        "s3.elastic.buffer.init.capacity": UPLOADS,
        "s3.http.send.expect.continue": UPLOADS,
        "s3.send.digest": UPLOADS,
        "s3.wan.mode": "requests go to the endpoint of the region, or to store.url",
        "s3.compression.level": "gzip has its default level",
        "s3.proxy.user": "it belongs to s3.proxy.url",
        "s3.proxy.password": "it belongs to s3.proxy.url",
        "s3.object.tagging.key.value.pairs": "it belongs to s3.object.tagging",
        "s3.object.behavior.on.tagging.error": "it belongs to s3.object.tagging",
        "filename.offset.zero.pad.width": "offsets in names have 20 digits",
        "rotate.file.on.partition.change": OF_PARTITIONER,
        "partitioner.max.open.files": OF_PARTITIONER,
        "partition.field.name": OF_PARTITIONER,
        "partition.duration.ms": OF_PARTITIONER,
        "path.format": OF_PARTITIONER,
        "locale": OF_PARTITIONER,
        "timezone": OF_PARTITIONER,
        "timestamp.extractor": OF_PARTITIONER,
        "timestamp.field": OF_PARTITIONER,
        "tombstone.encoded.partition": "records without a value are errors, or left out",
        "avro.codec": OF_AVRO,
        "schemas.cache.config": OF_AVRO,
        "enhanced.avro.schema.support": OF_AVRO,
        "connect.meta.data": OF_AVRO,
        "allow.optional.map.keys": OF_AVRO,
        "format.bytearray.extension": OF_BYTES,
        "format.bytearray.separator": OF_BYTES,
        "keys.format.class": "it belongs to store.kafka.keys",
        "headers.format.class": "it belongs to store.kafka.headers",
        "shutdown.timeout.ms": "there is no Hive metastore to wait for",
        "confluent.*": "the engine needs no licence",
    },
    fixed={
        "format.class": ({LINES: "jsonl", TABLE: "parquet"}, FORMATS),
        "storage.class": (("io.confluent.connect.s3.storage.S3Storage",), "objects go to an S3-compatible store"),
        "partitioner.class": (("io.confluent.connect.storage.partitioner.DefaultPartitioner",), NAMES),
        "schema.compatibility": (("NONE",), "records are not converted to the schema of those before them"),
        "behavior.on.null.values": (("fail", "ignore"), "records without a value are errors, or left out"),
        "report.null.values.to.dlq": (
            ("false",),
            "records that are left out are no dead letters; those of behavior.on.null.values=fail are",
        ),
        "directory.delim": (("/",), NAMES),
        "file.delim": (("+",), NAMES),
        "s3.schema.partition.affix.type": (("NONE",), NAMES),
        "json.decimal.format": (("NUMERIC",), DECIMALS),
        "store.kafka.keys": (("false",), VALUES_ONLY),
        "store.kafka.headers": (("false",), VALUES_ONLY),
        "s3.object.tagging": (("false",), "objects have no tags"),
        "s3.path.style.access.enabled": (("true",), "the bucket is in the path of URLs"),
        "s3.ssea.name": (("",), NO_ENCRYPTION),
        "s3.sse.customer.key": (("",), NO_ENCRYPTION),
        "s3.sse.kms.key.id": (("",), NO_ENCRYPTION),
        "s3.acl.canned": (("", "private"), "objects have no ACL; set the bucket's policy"),
        "s3.proxy.url": (("",), NO_PROXY),
        "s3.credentials.provider.*": (("",), NO_KEYS),
    },
    defaults={"s3.region": "us-west-2", "topics.dir": "topics"},
    notes=NOTES,
    convert=_confluent,
)  # fmt: skip
AIVEN_S3_SINK = JavaConnector(
    "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector",
    "ObjectStoreSink",
    renamed={
        "aws.s3.bucket.name": "s3.bucket.name",
        "aws.s3.region": "s3.region",
        "aws.s3.endpoint": "store.url",
        "aws_access_key_id": KEY,
        "aws_secret_access_key": "aws.secret.access.key",
        "aws_s3_bucket": "s3.bucket.name",
        "aws_s3_region": "s3.region",
        "aws_s3_endpoint": "store.url",
        "file.max.records": "flush.size",
        "format.output.type": "format",
    },
    dropped={
        "file.max.records=0": "flush.size and flush.bytes limit the memory of a task",
        "format.output.fields.value.encoding": "values are written as JSON, or as a table",
        "file.name.timestamp.timezone": OF_TEMPLATE,
        "file.name.timestamp.source": OF_TEMPLATE,
        "timestamp.timezone": OF_TEMPLATE,
        "timestamp.source": OF_TEMPLATE,
        "aws.s3.part.size.bytes": UPLOADS,
        "aws.s3.backoff.*": WAITS,
        "kafka.retry.backoff.ms": WAITS,
        "aws.s3.fetch.*": "it belongs to the source connector",
        "aws.sts.role.session.duration": "it belongs to aws.sts.role.arn",
        "aws.sts.config.endpoint": "it belongs to aws.sts.role.arn",
    },
    fixed={
        "format.output.type": (("jsonl", "parquet"), FORMATS),
        "format.output.fields": (("value",), VALUES_ONLY),
        "output_fields": (("value",), VALUES_ONLY),
        "format.output.envelope": (("false",), "a line or row is the value itself, without an object around it"),
        "file.name.template": (("", "{{topic}}-{{partition}}-{{start_offset}}"), NAMES),
        "file.prefix.template": (("",), NAMES),
        "aws.s3.sse.algorithm": (("",), NO_ENCRYPTION),
        "aws.credentials.provider": (("",), NO_KEYS),
        "aws.sts.*": (("",), NO_KEYS),
    },
    defaults={"format.output.type": "csv", "format.output.envelope": "true"},
    notes={"file.max.records": NOTES["flush.size"]},
    convert=_aiven,
)  # fmt: skip
