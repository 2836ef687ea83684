"""A converter whose values name their schemas in a registry: Confluent's byte 0, a 4-byte id, and the encoded value.

A subclass knows one format. Its readers and writers are compiled once for each schema, and each new schema costs one
request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, NoReturn, Protocol

from engine.config.options import Option, Problem, parse, read
from engine.config.registry_converters import REGISTRY, WITHOUT_EFFECT
from engine.errors import ConfigError, ConversionError, RetriableError
from engine.record.record import Headers
from engine.record.schema import Schema
from engine.schemas.framing import ID_BYTES, Part, SchemaFrame, frame_of, refusal
from engine.schemas.problems import (
    CredentialsRefused,
    RegistryUnavailable,
    SchemaNotFound,
    SchemaRefused,
    Undecodable,
    UnusableSchema,
)
from engine.schemas.registry import LABELS, RegistryOptions, SchemaRegistry, SchemaText, SchemaType
from engine.steps.registry_converters.connection import connection_problems, registry_options

_TOPIC_NAMES = "TopicNameStrategy"
_OWN_ID = 0  # of a schema that is not registered yet; registries count from 1
# Reads the value at a position; `after` are bytes that followed the id in a header.
Read = Callable[[bytes, int, bytes], tuple[Schema | None, Any]]
Write = Callable[[Any], bytes]  # the bytes after the prefix


class OwnSchema(Protocol):
    """The schema that a format makes of a Connect schema. `name` is the record's, for subject names."""

    @property
    def text(self) -> str: ...
    @property
    def name(self) -> str | None: ...


class _SchemaOutput(NamedTuple):
    """The prefix and the writer of one schema in one topic. It keeps the schema, so that its identity is not reused."""

    schema: Schema | None
    prefix: bytes
    write: Write


class RegistryConverter:
    """The parts that all formats share. Connections are closed after each new schema, so there is nothing to close."""

    OPTIONS: Sequence[Option] = REGISTRY
    TYPE: ClassVar[SchemaType]

    def __init__(self, open_registry: Callable[[RegistryOptions], SchemaRegistry] = SchemaRegistry) -> None:
        self._open_registry = open_registry
        self._part: Part = "value"
        self._registry: SchemaRegistry | None = None
        self._inputs: dict[tuple[str, int | str], Read] = {}
        self._outputs: dict[tuple[str, int], _SchemaOutput] = {}  # by the identity of the Connect schema
        self._newest: dict[str, _SchemaOutput] = {}  # by topic: another object may be an equal schema
        self._targets: dict[tuple[str, str], tuple[int, SchemaText | None]] = {}  # by topic and the schema's text

    @classmethod
    def problems(cls, configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect."""
        values, wrong = read(cls.OPTIONS, configs)
        if wrong:
            return []
        problems = connection_problems(values)
        if values["auto.register.schemas"]:
            for name, default in (("use.latest.version", False), ("use.schema.id", -1)):
                if values[name] != default:
                    text = "has no effect while schemas are registered; set auto.register.schemas=false too"
                    problems.append((name, configs[name], text))
        elif values["use.latest.version"] and values["use.schema.id"] >= 0:
            text = "can't be combined with use.schema.id; remove one of the two"
            problems.append(("use.latest.version", configs["use.latest.version"], text))
        return problems

    @classmethod
    def warnings(cls, configs: Mapping[str, str]) -> list[Problem]:
        """Return a warning for each option without effect."""
        return [
            (name, configs[name], f"has no effect: {why}") for name, why in WITHOUT_EFFECT.items() if name in configs
        ]

    def configure(self, configs: Mapping[str, str], is_key: bool) -> None:
        """Set the options. Nothing is asked yet. Raises ConfigError."""
        values = parse(self.OPTIONS, configs)
        reported = self.problems(configs)
        if reported:
            raise ConfigError(tuple(reported))
        self._part = "key" if is_key else "value"
        self._values = values
        self._strategy = values[f"{self._part}.subject.name.strategy"].rpartition(".")[2]
        self._registry = self._open_registry(registry_options(values))
        self.use(values)

    def use(self, values: Mapping[str, Any]) -> None:
        """Set the options of the format."""
        raise NotImplementedError

    def reader(self, schema: SchemaText, version: int | None) -> Read:
        """Return the compiled reader of a registered schema. `version` is its number in the topic's subject."""
        raise NotImplementedError

    def own_schema(self, schema: Schema | None) -> OwnSchema:
        """Return the schema that the format makes of a Connect schema. Raises ConversionError."""
        raise NotImplementedError

    def writer(self, schema: Schema | None, own: Any, target: SchemaText | None) -> Write:
        """Return the compiled writer, in the own schema or in a registered one. Raises ConversionError."""
        raise NotImplementedError

    def incompatibility(self, own: Any, target: SchemaText) -> str | None:
        """Return why the registered schema can't read values of the own one, as a clause.

        None if it can, or if the writer itself refuses values that do not fit.
        """
        return None

    def is_tombstone(self, schema: Schema | None) -> bool:
        """Return whether null is written as null. Raises ConversionError if null is not allowed."""
        raise NotImplementedError

    def to_connect(self, topic: str, data: bytes | None, headers: Headers = ()) -> tuple[Schema | None, Any]:
        """Return the value with its schema. Raises ConversionError, and RetriableError if the registry is away."""
        if data is None:
            return None, None
        known, start, after = None, ID_BYTES, b""
        if not headers and len(data) >= ID_BYTES and data[0] == 0:
            known = self._inputs.get((topic, int.from_bytes(data[1:ID_BYTES], "big")))
        if known is None:
            frame = frame_of(data, headers, self._part)
            if frame is None:
                raise ConversionError(f"the {self._part} names no schema: {refusal(data)}")
            known = self._inputs.get((topic, frame.id)) or self._compile(topic, frame)
            start, after = len(frame.prefix), frame.after
        try:
            return known(data, start, after)
        except (Undecodable, UnusableSchema) as error:
            frame = frame_of(data, headers, self._part)
            label = frame.label if frame else "of the registry"
            raise ConversionError(
                f"the {self._part} can't be read with the {LABELS[self.TYPE]} schema of {label}: {error}"
            ) from error

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        """Return the bytes. Raises ConversionError, and RetriableError if the registry is away."""
        if value is None and self.is_tombstone(schema):
            return None
        output = self._outputs.get((topic, id(schema)))
        if output is None:
            newest = self._newest.get(topic)
            output = newest if newest is not None and newest.schema == schema else self._prepare(topic, schema)
        return output.prefix + output.write(value)

    def _compile(self, topic: str, frame: SchemaFrame) -> Read:
        """Return the reader of a schema, and keep it."""
        assert self._registry is not None  # it is configured
        what = f"schema {frame.label}"
        try:
            found = self._registry.schema(frame)
            version = self._version(topic, found)
        except SchemaNotFound as error:
            raise ConversionError(f"the {self._part} names {what}, but {error}") from error
        except RegistryUnavailable as error:
            self._raise_unavailable(error, what)
        finally:
            self._registry.close()
        if found.type != self.TYPE:
            raise ConversionError(
                f"{what} is a schema of the type {LABELS[found.type]}, and this converter reads {LABELS[self.TYPE]}"
            )
        self._refuse_rules(found, what)
        try:
            made = self.reader(found, version)
        except (UnusableSchema, Undecodable) as error:
            raise ConversionError(f"{what} can't be used: {error}") from error
        except RecursionError as error:
            raise ConversionError(f"{what} can't be used: it is nested too deeply") from error
        if len(self._inputs) >= self._values["schemas.cache.config"]:
            self._inputs.clear()
        self._inputs[topic, frame.id] = made
        return made

    def _version(self, topic: str, schema: SchemaText) -> int | None:
        """Return the version of the schema in the topic's subject; None if it is not registered there."""
        assert self._registry is not None  # it is configured
        if not isinstance(schema.id, int) or schema.type != self.TYPE:
            return None
        try:
            by_topic = self._strategy == _TOPIC_NAMES
            subject = self._subject(topic, None if by_topic else self.name_of(schema))
            rows = self._registry.subjects(schema.id)
        except (SchemaNotFound, CredentialsRefused, ConversionError, UnusableSchema, ValueError):
            return None  # a user who may read a schema may have no right on its subjects
        return next((row.version for row in rows if row.subject == subject), None)

    def name_of(self, schema: SchemaText) -> str | None:
        """Return the name of a registered schema's record; None if it has none."""
        raise NotImplementedError

    def _prepare(self, topic: str, schema: Schema | None) -> _SchemaOutput:
        """Register the schema or find the one to write with; return its output, and keep it."""
        if len(self._outputs) >= self._values["max.schemas.per.subject"]:
            self._outputs.clear()
            self._targets.clear()
        try:
            own = self.own_schema(schema)
            found = self._targets.get((topic, own.text))
            if found is None:
                found = self._targets[topic, own.text] = self._schema_to_write(topic, own)
            number, target = found
            made = _SchemaOutput(schema, b"\0" + number.to_bytes(4, "big"), self.writer(schema, own, target))
        except UnusableSchema as error:
            raise ConversionError(f"the {self._part}'s schema can't be used: {error}") from error
        except RecursionError as error:
            raise ConversionError(f"the {self._part}'s schema can't be used: it is nested too deeply") from error
        self._outputs[topic, id(schema)] = self._newest[topic] = made
        return made

    def _schema_to_write(self, topic: str, own: OwnSchema) -> tuple[int, SchemaText | None]:
        """Return the id to write, and the registered schema if it may be another one."""
        assert self._registry is not None  # it is configured
        subject = self._subject(topic, own.name)
        mine = SchemaText(_OWN_ID, self.TYPE, own.text)
        values = self._values
        wanted, advice = f"the schema of subject {subject}", ""
        try:
            if values["auto.register.schemas"]:
                return self._registry.register(subject, mine, normalize=values["normalize.schemas"]), None
            if values["use.schema.id"] >= 0:
                wanted = f"schema id {values['use.schema.id']}"
                found = self._registry.schema_by_id(values["use.schema.id"])
                return self._checked(found, own, wanted, "id.compatibility.strict")
            if values["use.latest.version"]:
                wanted = f"the newest schema of subject {subject}"
                return self._checked(self._registry.latest(subject), own, wanted, "latest.compatibility.strict")
            advice = "; register it, or set auto.register.schemas=true"
            return self._registry.lookup(subject, mine, normalize=values["normalize.schemas"]), None
        except SchemaRefused as error:
            raise ConversionError(f"the registry refused the schema of subject {subject}: {error}") from error
        except SchemaNotFound as error:
            raise ConversionError(f"{error}{advice}") from error
        except RegistryUnavailable as error:
            self._raise_unavailable(error, wanted)
        finally:
            self._registry.close()

    def _checked(self, target: SchemaText, own: Any, wanted: str, option: str) -> tuple[int, SchemaText]:
        if target.type != self.TYPE:
            raise ConversionError(f"{wanted} is of the type {LABELS[target.type]}, not {LABELS[self.TYPE]}")
        self._refuse_rules(target, wanted)
        reason = self.incompatibility(own, target) if self._values[option] else None
        if reason is not None:
            raise ConversionError(
                f"{wanted} can't read the record's schema: {reason}; set {option}=false to write what fits"
            )
        assert isinstance(target.id, int)  # it was asked by number or by version
        return target.id, target

    def _subject(self, topic: str, name: str | None) -> str:
        if self._strategy == _TOPIC_NAMES:
            return f"{topic}-{self._part}"
        if name is None:
            raise ConversionError(
                f"the {self._part}'s schema has no record name, which {self._strategy} needs; use TopicNameStrategy"
            )
        return name if self._strategy == "RecordNameStrategy" else f"{topic}-{name}"

    def _refuse_rules(self, schema: SchemaText, what: str) -> None:
        if schema.has_rules:
            raise ConversionError(f"{what} has the rules of a data contract, which are not run here")

    def _raise_unavailable(self, error: RegistryUnavailable, wanted: str) -> NoReturn:
        if isinstance(error, CredentialsRefused):
            raise ConfigError((("schema.registry.url", None, f"{error}, when it was asked for {wanted}"),)) from error
        raise RetriableError(f"{wanted} is not available: {error}") from error
