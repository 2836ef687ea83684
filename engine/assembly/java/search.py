"""Rows of the sinks that write to Elasticsearch and OpenSearch, of Confluent and Aiven."""

from __future__ import annotations

from dataclasses import replace

from engine.assembly.java.http import DELAYS, NO_PROXY, TRUST, VERIFIED
from engine.assembly.java.rows import JavaConnector, TranslatedOption, left_out

NODES, PROTOCOL = "connection.url", "elastic.security.protocol"
ONE_REQUEST = "a task sends one request at a time, with records of one poll"
INDEX = "the index has the topic's name in lower case; the transform RegexRouter changes it"
NO_MAPPING = "the sink makes no mapping from a schema; create the index, or an index template, yourself"
NO_STREAM = "documents have ids and versions, which data streams do not allow"
OF_STREAM = "it belongs to data streams"
NO_AWS = "requests are not signed for AWS"
SKIPPED = "errors.tolerance=all skips records that fail, and errors.deadletterqueue.topic.name keeps them"
NEWER = "where the offset is the version, a newer document stays, and the record is delivered"


def _nodes(own: dict[str, str]) -> list[TranslatedOption]:
    """Return the nodes' URLs with their scheme. As there, HTTPS is for all nodes if it is for one."""
    given, protocol = own.pop(NODES, "").strip(), own.pop(PROTOCOL, None)
    urls = [url.strip() for url in given.split(",") if url.strip()]
    is_secure = (protocol or "").strip().upper() == "SSL" or any(url.lower().startswith("https:") for url in urls)
    value = ",".join(_with_scheme(url, "https" if is_secure else "http") for url in urls)
    comment = "" if value == given else "each URL says http or https; one https is for all of them, as there"
    rows = [TranslatedOption(NODES, value, comment)] if urls else []
    return (
        rows if protocol is None else [*rows, left_out(f"{PROTOCOL}={protocol} is dropped: the URLs say http or https")]
    )


def _with_scheme(url: str, scheme: str) -> str:
    """Return the URL with this scheme. A reference to a config provider stays as it is."""
    return url if url.startswith("${") else f"{scheme}://{url.partition('://')[2] or url}"


_AIVEN_SEARCH = JavaConnector(
    "",
    "ElasticsearchSink",
    renamed={"max.retries": "errors.retry.limit"},
    dropped={
        "retry.backoff.ms": DELAYS,
        "max.in.flight.requests": ONE_REQUEST,
        "max.buffered.records": ONE_REQUEST,
        "linger.ms": ONE_REQUEST,
        "flush.timeout.ms": "a record is delivered when its document is accepted, so a flush waits for nothing",
        "topic.schema.ignore": "the sink makes no mapping from a schema",
    },
    fixed={
        "schema.ignore": (("true",), NO_MAPPING),
        "topic.key.ignore": (("",), "key.ignore is for all topics; use another connector for these topics"),
        "compact.map.entries": (("true",), "a map is written as an object"),
        "drop.invalid.message": (("false",), SKIPPED),
        "behavior.on.malformed.documents": (("fail",), SKIPPED),
    },
    defaults={"max.retries": "5", "behavior.on.null.values": "ignore", "schema.ignore": "false"},
    convert=_nodes,
)
AIVEN_ELASTICSEARCH_SINK = replace(
    _AIVEN_SEARCH,
    name="io.aiven.connect.elasticsearch.ElasticsearchSinkConnector",
    dropped={**_AIVEN_SEARCH.dropped, "type.name": "Elasticsearch 7 and later have no types"},
    fixed={**_AIVEN_SEARCH.fixed, "topic.index.map": (("",), INDEX)},
)
OPENSEARCH_SINK = replace(
    _AIVEN_SEARCH,
    name="io.aiven.kafka.connect.opensearch.OpenSearchSinkConnector",
    renamed={**_AIVEN_SEARCH.renamed, "index.write.method": "write.method"},
    dropped={
        **_AIVEN_SEARCH.dropped,
        "behavior.on.version.conflict": NEWER,
        "connection.ssl.protocol": "TLS 1.2 or later is used",
        "data.stream.prefix": OF_STREAM,
        "data.stream.timestamp.field": OF_STREAM,
        "data.streams.existing.index.template.name": OF_STREAM,
        "routing.type.record.value.path": "it belongs to routing.type",
        "aws.sts.role.session.duration": NO_AWS,
    },
    fixed={
        **_AIVEN_SEARCH.fixed,
        "key.ignore.id.strategy": (
            ("topic.partition.offset",),
            "with key.ignore=true the id is topic+partition+offset, with key.ignore=false the record's key",
        ),
        "data.stream.enabled": (("false",), NO_STREAM),
        "existing.resource.type": (("none",), INDEX),
        "topic.to.existing.resource.mapping": (("",), INDEX),
        "routing.type": (("none",), "documents are routed by their ids"),
        "connection.trust.all.certificates": (("false",), VERIFIED),
        "connection.ssl.endpoint.identification.algorithm": (("https",), VERIFIED),
        "connection.ssl.*": (("",), TRUST),
        "aws.*": (("",), NO_AWS),
    },
)  # fmt: skip
CONFLUENT_ELASTICSEARCH_SINK = replace(
    _AIVEN_SEARCH,
    name="io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
    dropped={
        **_AIVEN_SEARCH.dropped,
        "bulk.size.bytes=-1": "a request has at most 5 MiB, unless one document has more",
        "connection.compression": "requests are not compressed",
        "max.connection.idle.time.ms": "a connection that the server has closed is opened again",
        "flush.synchronously": "offsets are those of the records as they were read, whatever transforms change",
        "type.name": "Elasticsearch 7 and later have no types",
        "auto.create.indices.at.start": "the first document creates its index",
        "proxy.port": "it belongs to proxy.host",
        "proxy.username": "it belongs to proxy.host",
        "proxy.password": "it belongs to proxy.host",
        "data.stream.namespace": OF_STREAM,
        "data.stream.timestamp.field": OF_STREAM,
        "max.external.resource.mappings": "it belongs to topic.to.external.resource.mapping",
        "elastic.https.ssl.protocol": "TLS 1.2 or later is used",
        "confluent.*": "the engine needs no licence",
    },
    fixed={
        **_AIVEN_SEARCH.fixed,
        "topic.index.map": (("",), INDEX),
        "use.autogenerated.ids": (("false",), "key.ignore=true makes the id topic+partition+offset"),
        "external.version.header": (("",), "the record's offset is the version"),
        "data.stream.type": (("none",), NO_STREAM),
        "data.stream.dataset": (("",), NO_STREAM),
        "external.resource.usage": (("disabled",), INDEX),
        "topic.to.external.resource.mapping": (("",), INDEX),
        "proxy.host": (("",), NO_PROXY),
        "kerberos.*": (("",), "Kerberos is not supported; set connection.username and connection.password"),
        "elastic.https.ssl.endpoint.identification.algorithm": (("https",), VERIFIED),
        "elastic.https.*": (("",), TRUST),
    },
    defaults={"max.retries": "5", "schema.ignore": "false"},
)  # fmt: skip
