"""The options of the converters with a schema registry: AvroConverter, ProtobufConverter and JsonSchemaConverter.

Names, types and defaults are those of `AbstractKafkaSchemaSerDeConfig`, `AvroDataConfig`, `ProtobufDataConfig` and
`JsonSchemaDataConfig` of Confluent's Schema Registry. Options that the engine does not implement are rows too, so that
they are refused with a reason. None is ignored.
"""

from __future__ import annotations

from typing import Any

from engine.config.options import INT_MAX, REQUIRED, Option, ValueCheck, at_least, in_any_case, one_of

_PACKAGE = "io.confluent.kafka.serializers.subject"
STRATEGIES = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
_RULES = "rules of data contracts are not run here; use a schema without rules"


def _registry_urls(value: tuple[str, ...]) -> str | None:
    if not value:
        return "names no registry"
    wrong = [url for url in value if not url.startswith(("http://", "https://"))]
    return "must begin with http:// or https://" if wrong else None


def _only(default: Any, reason: str) -> ValueCheck[Any]:
    """Return a check that accepts only the default."""
    shown = str(default).lower() if isinstance(default, bool) else str(default)
    return ValueCheck(shown, lambda value: None if value == default else f"must be {shown}: {reason}")


def _refused(name: str, reason: str) -> Option:
    return Option(name, "string", None, f"Refused: {reason}.", ValueCheck("", lambda _: f"is not supported: {reason}"))


def _family_refused(name: str, reason: str) -> Option:
    return Option(name, "map", {}, f"Refused: {reason}.", ValueCheck("", lambda _: f"is not supported: {reason}"))


def _strategy(side: str) -> Option:
    names = tuple(spelling for name in STRATEGIES for spelling in (name, f"{_PACKAGE}.{name}"))
    doc = f"How the subject of {side} schemas is named: `<topic>-{side}`, the record's name, or `<topic>-<record>`."
    return Option(f"{side}.subject.name.strategy", "string", STRATEGIES[0], doc, one_of(*names))


# Options that another mechanism of the engine replaces. They are accepted with a warning.
WITHOUT_EFFECT = {
    "max.retries": "the registry is asked once, and errors.retry.timeout decides about retries",
    "retries.wait.ms": "errors.retry.delay.max.ms decides about the wait",
    "retries.max.wait.ms": "errors.retry.delay.max.ms decides about the wait",
    "http.connect.timeout.ms": "http.read.timeout.ms limits the whole request",
    "schemas.enable": "the values name their schemas in the registry",
}

REGISTRY: tuple[Option, ...] = (
    Option("schema.registry.url", "list", REQUIRED, "The registry's addresses. The next one is asked if one does not "
           "answer.", ValueCheck("http or https URLs", _registry_urls)),
    Option("basic.auth.credentials.source", "string", "URL", "Where user and password are: in the URL, or in "
           "`basic.auth.user.info`. `SASL_INHERIT` is not supported.", in_any_case("URL", "USER_INFO")),
    Option("basic.auth.user.info", "password", "", "`user:password`, for `basic.auth.credentials.source=USER_INFO`.",
           secret=True, aliases=("schema.registry.basic.auth.user.info",)),
    Option("bearer.auth.credentials.source", "string", None, "`STATIC_TOKEN` sends `bearer.auth.token`. `OAUTHBEARER` "
           "asks the issuer for tokens.", one_of("STATIC_TOKEN", "OAUTHBEARER")),
    Option("bearer.auth.token", "password", "", "The token of `STATIC_TOKEN`.", secret=True),
    Option("bearer.auth.issuer.endpoint.url", "string", "", "The token endpoint of `OAUTHBEARER`."),
    Option("bearer.auth.client.id", "string", "", "The client id of `OAUTHBEARER`."),
    Option("bearer.auth.client.secret", "password", "", "The client secret of `OAUTHBEARER`.", secret=True),
    Option("bearer.auth.scope", "string", "", "The scope of `OAUTHBEARER`."),
    Option("bearer.auth.logical.cluster", "string", "", "The registry's cluster id, sent as `target-sr-cluster`."),
    Option("bearer.auth.identity.pool.id", "string", "", "The identity pool, sent with each request."),
    Option("schema.registry.ssl.truststore.location", "string", "", "A PEM file with the trusted certificates."),
    Option("schema.registry.ssl.truststore.type", "string", None, "The format of the trust store. Set it to PEM.",
           _only("PEM", "Java key stores are not read for registries; export a PEM file")),
    Option("schema.registry.ssl.keystore.location", "string", "", "A PEM file with the client's key and certificate."),
    Option("schema.registry.ssl.keystore.type", "string", None, "The format of the key store. Set it to PEM.",
           _only("PEM", "Java key stores are not read for registries; export a PEM file")),
    Option("schema.registry.ssl.key.password", "password", "", "The password of the client's key.", secret=True),
    _refused("schema.registry.ssl.truststore.password", "a PEM file has no password"),
    _refused("schema.registry.ssl.keystore.password", "set schema.registry.ssl.key.password"),
    Option("http.read.timeout.ms", "int", 10_000, "How long a request may take, in ms.", at_least(1, 600_000)),
    Option("auto.register.schemas", "boolean", True, "Register the schemas of records. If false, they are looked up."),
    Option("normalize.schemas", "boolean", False, "The registry normalizes a schema before it compares it."),
    Option("use.latest.version", "boolean", False, "Write with the newest schema of the subject. Needs "
           "`auto.register.schemas=false`. The newest schema is read once by each lease of a task."),
    Option("latest.compatibility.strict", "boolean", True, "Refuse records whose schema the newest one can't read."),
    Option("use.schema.id", "int", -1, "Write with the schema of this id. Needs `auto.register.schemas=false`.",
           at_least(-1, INT_MAX)),
    Option("id.compatibility.strict", "boolean", True, "Refuse records whose schema that of the id can't read."),
    _strategy("key"),
    _strategy("value"),
    Option("max.schemas.per.subject", "int", 1000, "The number of schemas that are kept for writing.",
           at_least(1, INT_MAX)),
    Option("schemas.cache.config", "int", 1000, "The number of schemas that are kept for reading.",
           at_least(1, INT_MAX)),
    Option("ignore.default.for.nullables", "boolean", False, "Write null in a nullable field, not the default."),
    Option("generalized.sum.type.support", "boolean", False, "Must be false: unions and enums have the names of their "
           "format.", _only(False, "unions and enums have the names of their format")),
    *(Option(name, "string", None, f"No effect: {reason}.") for name, reason in WITHOUT_EFFECT.items()),
    _refused("use.schema.guid", "set use.schema.id"),
    _refused("use.latest.with.metadata", "set use.latest.version or use.schema.id"),
    _refused("latest.cache.ttl.sec", "each lease of a task reads the newest schema once"),
    _refused("context.name.strategy", "write the context into the URL"),
    _refused("schema.format", "schemas are registered in the default format"),
    _refused("execution.environment", _RULES),
    _family_refused("rule.*", _RULES),
    _family_refused("validation.rules.*", _RULES),
    _family_refused("request.header.*", "requests have only the headers of authentication"),
    Option("propagate.schema.tags", "boolean", False, "Must be false: tags of former versions are not copied.",
           _only(False, "tags of former versions are not copied")),
    Option("schema.registry.url.randomize", "boolean", False, "Must be false: addresses are asked in their order.",
           _only(False, "addresses are asked in their order")),
    _refused("proxy.host", "registries are asked directly"),
    _refused("proxy.port", "registries are asked directly"),
    _refused("key.schema.id.serializer", "ids are written as a prefix"),
    _refused("value.schema.id.serializer", "ids are written as a prefix"),
    _refused("key.schema.id.deserializer", "ids are read from a header or a prefix"),
    _refused("value.schema.id.deserializer", "ids are read from a header or a prefix"),
    Option("schema.backup.enabled", "boolean", False, "Must be false: values are not wrapped for backups.",
           _only(False, "values are not wrapped for backups")),
    Option("converter.type", "string", None, "The part to convert: key or value. Set by the engine.",
           one_of("key", "value", "header")),
)  # fmt: skip

AVRO_CONVERTER: tuple[Option, ...] = (
    *REGISTRY,
    Option("enhanced.avro.schema.support", "boolean", False, "Write enums as Avro enums, and name the fields of unions "
           "with their namespaces."),
    Option("connect.meta.data", "boolean", True, "Add names, versions, docs, defaults and parameters of Connect "
           "schemas to Avro schemas as `connect.…` properties, and read them."),
    Option("scrub.invalid.names", "boolean", False, "Replace characters that Avro does not allow in names."),
    Option("allow.optional.map.keys", "boolean", False, "Write maps with optional STRING keys as Avro maps."),
    Option("flatten.singleton.unions", "boolean", True, "Read a union of one type as that type."),
    Option("discard.type.doc.default", "boolean", False, "Must be false: the deprecated handling of docs and defaults "
           "is not supported.", _only(False, "the deprecated handling of docs and defaults is not supported")),
    Option("avro.use.logical.type.converters", "boolean", False, "Must be false: Connect has its own logical types.",
           _only(False, "Connect has its own logical types")),
)  # fmt: skip

JSON_SCHEMA_CONVERTER: tuple[Option, ...] = (
    *REGISTRY,
    Option("object.additional.properties", "boolean", True, "Schemas of STRUCT allow other properties."),
    Option("use.optional.for.nonrequired", "boolean", False, "Properties that are not required are optional."),
    Option("decimal.format", "string", "BASE64", "The format of decimals: BASE64 or NUMERIC.",
           in_any_case("BASE64", "NUMERIC")),
    Option("flatten.singleton.unions", "boolean", True, "Read a union of one type as that type."),
    Option("json.fail.invalid.schema", "boolean", False, "Validate values against the schema, when read and written."),
    Option("preserve.additional.properties", "boolean", False, "Must be false: properties that the schema does not "
           "list are dropped.", _only(False, "properties that the schema does not list are dropped")),
    Option("ignore.modern.dialects", "boolean", False, "Must be false: each schema is read in its own dialect.",
           _only(False, "each schema is read in its own dialect")),
)  # fmt: skip

PROTOBUF_CONVERTER: tuple[Option, ...] = (
    *REGISTRY,
    Option("enhanced.protobuf.schema.support", "boolean", False, "Name schemas with their packages."),
    Option("scrub.invalid.names", "boolean", False, "Replace characters that Protobuf does not allow in names."),
    Option("int.for.enums", "boolean", False, "Read enums as INT32, not as STRING."),
    Option("optional.for.nullables", "boolean", False, "Nullable fields have the label `optional`."),
    Option("optional.for.proto2", "boolean", True, "Optional fields of proto2 are null if they are not set."),
    Option("wrapper.for.nullables", "boolean", False, "Nullable fields are messages such as `StringValue`."),
    Option("wrapper.for.raw.primitives", "boolean", True, "Read a wrapper message as its value if it is the root."),
    Option("generate.struct.for.nulls", "boolean", False, "Read a message field that is not set as a STRUCT of "
           "defaults."),
    Option("generate.index.for.unions", "boolean", True, "The name of a oneof's field ends in its index."),
    Option("flatten.unions", "boolean", False, "Read the members of a oneof as fields of the message."),
    _refused("reference.subject.name.strategy", "schemas are registered without references"),
    _refused("skip.known.types", "schemas are registered without references"),
)  # fmt: skip

TABLES: dict[str, tuple[Option, ...]] = {
    "AvroConverter": AVRO_CONVERTER,
    "ProtobufConverter": PROTOBUF_CONVERTER,
    "JsonSchemaConverter": JSON_SCHEMA_CONVERTER,
}
