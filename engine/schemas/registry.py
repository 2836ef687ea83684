"""A client of a schema registry that speaks Confluent's API, with a cache and limits of time and bytes.

Schemas by id never change, so they are kept. A missing schema and a registry that does not answer are remembered for
seconds only. The client follows no redirect, so credentials go to the configured address alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import httpx2
import msgspec
from cachetools import LRUCache
from confluent_kafka.schema_registry import RegisteredSchema as ClientSchema
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, SchemaRegistryError
from confluent_kafka.schema_registry.error import OAuthTokenError

from engine.schemas import answer_limits, apicurio
from engine.schemas.answer_limits import AnswerLimits
from engine.schemas.apicurio import MAX_REFERENCES, ArtifactVersion
from engine.schemas.framing import SchemaFrame
from engine.schemas.problems import CredentialsRefused, RegistryUnavailable, SchemaNotFound, SchemaRefused

T = TypeVar("T")
SchemaType = Literal["AVRO", "PROTOBUF", "JSON"]
LABELS: dict[SchemaType, str] = {"AVRO": "Avro", "PROTOBUF": "Protobuf", "JSON": "JSON Schema"}
Authentication = Literal["none", "basic", "bearer", "oauth"]
TIMEOUT_S = 3.0
TIMEOUTS = 3  # one request may take so many time limits per address, with all schemas that it needs
MISSING_S = 30.0
UNAVAILABLE_S = 10.0
SUBJECT_S = 60.0  # versions of a subject, and its compatibility
MAX_SCHEMAS = 1000
MAX_REASON = 500  # characters of a registry's message
NOT_FOUND, REFUSED = 404, (401, 403)
# Raised while an answer that is not a registry's is read: by Confluent's client, which checks none, and by the standard
# library's JSON. OSError is raised for a file of the options.
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, OSError)
SCHEMA_REFUSED = (400, 409, 422)  # a wrong request; incompatible with the subject's versions; invalid


class RegistryOptions(msgspec.Struct, frozen=True):
    """The connection of a registry. `secret` is the password, the token or the client secret of its `auth`.

    `url` may be several addresses, comma-separated. If one does not answer, the next is asked. `timeout_s` is for one
    wait, such as for a connection. `unavailable_s` is how long a registry that did not answer is left alone.
    """

    url: str
    ca_file: str = ""
    certificate_file: str = ""
    key_password: str = ""
    auth: Authentication = "none"
    user: str = ""
    secret: str = ""
    token_url: str = ""
    scope: str = ""
    logical_cluster: str = ""
    identity_pool: str = ""
    timeout_s: float = TIMEOUT_S
    unavailable_s: float = UNAVAILABLE_S

    def __repr__(self) -> str:
        return f"RegistryOptions({self.url!r}, auth={self.auth!r})"


class SchemaText(msgspec.Struct, frozen=True):
    """A schema as registered. `references` are the texts that it needs, by name, each after those that it needs.

    `id` is a number if it is one of Confluent's API, and text otherwise: a GUID, or a global id of Apicurio.
    `has_rules` tells that writers and readers have to run rules of a data contract, such as encryption.
    """

    id: int | str
    type: SchemaType
    text: str
    references: tuple[tuple[str, str], ...] = ()
    has_rules: bool = False


class SubjectVersion(msgspec.Struct, frozen=True):
    """A subject that has the schema, and the number of its version there."""

    subject: str
    version: int


class SubjectState(msgspec.Struct, frozen=True):
    """The versions of a subject, ascending, and its compatibility level; "" if the registry does not tell it."""

    versions: tuple[int, ...]
    compatibility: str


class SchemaRegistry:
    """A registry. Its methods may be called from several threads.

    They raise SchemaNotFound or RegistryUnavailable, whose messages hold no credentials.
    """

    def __init__(self, options: RegistryOptions, clock: Callable[[], float] = time.monotonic) -> None:
        self.options = options
        self._clock = clock
        self._limits = AnswerLimits()
        self._client: SchemaRegistryClient | None = None
        self._lock = threading.Lock()
        self._kept: LRUCache[tuple[Any, ...], Any] = LRUCache(MAX_SCHEMAS)
        self._failed: LRUCache[tuple[Any, ...], tuple[float, Exception]] = LRUCache(MAX_SCHEMAS)
        self._unavailable: tuple[float, RegistryUnavailable] | None = None

    def schema(self, frame: SchemaFrame) -> SchemaText:
        """Return the schema that a message names."""
        if frame.kind == "glue":
            raise SchemaNotFound("AWS Glue keeps the schema, and this registry does not")
        if frame.kind == "global_id":
            number = int(frame.id)
            return self._cached(("global", number), frame.label, lambda client: self._by_global_id(client, number))
        if frame.kind == "guid":
            guid = str(frame.id)
            return self._cached(
                ("guid", guid), frame.label, lambda client: self._text(guid, client.get_schema_by_guid(guid))
            )
        number = int(frame.id)
        return self.schema_by_id(number)

    def schema_by_id(self, number: int) -> SchemaText:
        """Return a schema by its id."""
        return self._cached(
            ("id", number), f"id {number}", lambda client: self._text(number, client.get_schema(number))
        )

    def artifact_version(self, global_id: int) -> ArtifactVersion:
        """Return the artifact of Apicurio that has this global id, with its version."""

        def ask(client: SchemaRegistryClient) -> ArtifactVersion:
            return apicurio.artifact_version(self._apicurio(client), global_id)

        return self._cached(("artifact", global_id), f"Apicurio global id {global_id}", ask, keep_s=SUBJECT_S)

    def version(self, subject: str, version: int) -> SchemaText:
        """Return the schema of a version, with its id."""

        def ask(client: SchemaRegistryClient) -> SchemaText:
            found: ClientSchema = client.get_version(subject, version)
            return self._text(_number(found.schema_id), found.schema)

        return self._cached(("version", subject, version), f"version {version} of {subject}", ask)

    def latest(self, subject: str) -> SchemaText:
        """Return the schema of the newest version, with its id. It is not kept."""

        def ask(client: SchemaRegistryClient) -> SchemaText:
            found: ClientSchema = client.get_latest_version(subject)
            return self._text(_number(found.schema_id), found.schema)

        return self._cached(("latest", subject), f"subject {subject}", ask, keep_s=0)

    def register(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> int:
        """Register a schema under the subject, or find it there, and return its id. Raises SchemaRefused too."""

        def ask(client: SchemaRegistryClient) -> int:
            try:
                return _number(client.register_schema(subject, _sent(schema), normalize_schemas=normalize))
            except SchemaRegistryError as error:
                if error.http_status_code in SCHEMA_REFUSED:
                    raise SchemaRefused(_reason(error)) from None
                raise

        return self._cached(("register", subject, schema.type, schema.text, normalize), f"subject {subject}", ask)

    def lookup(self, subject: str, schema: SchemaText, *, normalize: bool = False) -> int:
        """Return the id of a schema that is registered under the subject."""

        def ask(client: SchemaRegistryClient) -> int:
            found: ClientSchema = client.lookup_schema(subject, _sent(schema), normalize_schemas=normalize)
            return _number(found.schema_id)

        key = ("lookup", subject, schema.type, schema.text, normalize)
        return self._cached(key, f"schema like the record's under subject {subject}", ask)

    def subjects(self, number: int) -> tuple[SubjectVersion, ...]:
        """Return the subjects that have the schema of this id."""

        def ask(client: SchemaRegistryClient) -> tuple[SubjectVersion, ...]:
            found = client.get_schema_versions(number)
            return tuple(SubjectVersion(str(one.subject), int(one.version or 0)) for one in found)

        return self._cached(("subjects", number), f"id {number}", ask, keep_s=SUBJECT_S)

    def subject_state(self, subject: str) -> SubjectState:
        """Return the versions and the compatibility level of a subject."""

        def ask(client: SchemaRegistryClient) -> SubjectState:
            versions = tuple(sorted(map(_number, client.get_versions(subject))))
            try:
                level = client._rest_client.get(f"config/{quote(subject, safe='')}", {"defaultToGlobal": "true"})  # noqa: SLF001 (get_config asks without the default)
            except SchemaRegistryError:
                return SubjectState(versions, "")
            return SubjectState(versions, str(level.get("compatibilityLevel") or ""))

        return self._cached(("subject", subject), f"subject {subject}", ask, keep_s=SUBJECT_S)

    def list_subjects(self) -> list[str]:
        """Return all subjects. Nothing is cached: this is how a connection is tested."""
        return self._ask("subjects", lambda client: msgspec.convert(client.get_subjects(), list[str]))

    def close(self) -> None:
        """Close the connections. A later request opens them again."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _cached(
        self, key: tuple[Any, ...], what: str, ask: Callable[[SchemaRegistryClient], T], keep_s: float = float("inf")
    ) -> T:
        now = self._clock()
        with self._lock:
            until, found = self._kept.get(key, (0.0, None))
            if until > now:
                return found  # type: ignore[no-any-return] # what `ask` returned
            failed_until, failure = self._failed.get(key, (0.0, None))
            if failure is not None and failed_until > now:
                raise failure.with_traceback(None)
            if self._unavailable is not None and self._unavailable[0] > now:
                raise self._unavailable[1].with_traceback(None)
        try:
            found = self._ask(what, ask)
        except (SchemaNotFound, SchemaRefused) as error:
            with self._lock:
                self._failed[key] = (now + MISSING_S, error)
            raise
        except RegistryUnavailable as error:
            with self._lock:
                self._unavailable = (self._clock() + self.options.unavailable_s, error)
            raise
        with self._lock:
            self._kept[key] = (now + keep_s, found)
            self._unavailable = None
        return found

    def _ask(self, what: str, ask: Callable[[SchemaRegistryClient], T]) -> T:
        self._limits.begin(self.options.timeout_s * TIMEOUTS * (self.options.url.count(",") + 1))
        try:
            if self._client is None:
                self._client = self._opened()
            return ask(self._client)
        except SchemaRegistryError as error:
            raise _translated(error, what) from None
        except httpx2.TimeoutException:
            raise RegistryUnavailable(f"the registry did not answer within {self.options.timeout_s:g} s") from None
        except httpx2.TransportError as error:
            raise RegistryUnavailable(f"the registry can't be reached: {error}") from None
        except OAuthTokenError:
            raise RegistryUnavailable(
                "the token endpoint gave no token; check its address, the client id and the secret"
            ) from None
        except UNREADABLE as error:
            reason = (
                f"the CA file can't be read: {error}"
                if isinstance(error, OSError)
                else "the answer is not that of a registry"
            )
            raise RegistryUnavailable(reason) from None

    def _opened(self) -> SchemaRegistryClient:
        client = SchemaRegistryClient(client_options(self.options))
        rest = client._rest_client  # noqa: SLF001 (its connections have no limits of their own)
        answer_limits.limit(rest.session, self._limits)
        if self.options.auth == "oauth":
            answer_limits.limit(rest.bearer_field_provider.client, self._limits)
        return client

    def _by_global_id(self, client: SchemaRegistryClient, number: int) -> SchemaText:
        found = apicurio.schema(self._apicurio(client), number)
        return SchemaText(str(number), _known_type(found.type, f"schema {number}"), found.text, found.references)

    def _apicurio(self, client: SchemaRegistryClient) -> apicurio.Ask:
        """Return the requests to Apicurio's own API, with the credentials of the client."""
        address = apicurio.own_address(self.options.url)
        if address is None:
            path = apicurio.CONFLUENT_PATH
            raise SchemaNotFound(f"only Apicurio knows its global ids, and this registry's URL has no {path}")
        rest = client._rest_client  # noqa: SLF001 (its own methods parse every answer as JSON)

        def ask(path: str, query: Mapping[str, str]) -> bytes:
            headers = {"Accept": "*/*"}
            if rest.bearer_auth_credentials_source:
                rest.handle_bearer_auth(headers)
            answer = rest.send_http_request(address, path, "GET", headers, None, dict(query))
            if not answer.is_success:
                raise SchemaRegistryError(answer.status_code, -1, "")
            return answer.content

        return ask

    def _text(self, number: int | str, schema: Schema) -> SchemaText:
        references: dict[str, str] = {}
        self._collect(schema, references)
        type_ = _known_type(schema.schema_type or "AVRO", f"schema {number}")
        return SchemaText(number, type_, _own_text(schema), tuple(references.items()), _has_rules(schema))

    def _collect(self, schema: Schema, references: dict[str, str]) -> None:
        """Add the texts of the references, each after those that it needs."""
        assert self._client is not None  # it has just returned the schema
        for one in schema.references or ():
            name, subject, version = str(one.name), str(one.subject), int(one.version or 0)
            if name in references:
                continue
            if len(references) >= MAX_REFERENCES:
                raise SchemaNotFound(f"the schema needs more than {MAX_REFERENCES} others")
            found = self._client.get_version(subject, version).schema
            references[name] = ""  # holds the place, so that a circle ends
            self._collect(found, references)
            del references[name]
            references[name] = _own_text(found)


def _own_text(schema: Schema) -> str:
    """Return the text of a schema, without its references. Raises ValidationError if the answer has none."""
    return msgspec.convert(schema.schema_str, str)


def _number(answered: Any) -> int:
    """Return a number of an answer. Raises ValidationError if it is none."""
    return msgspec.convert(answered, int)


def _known_type(type_: str, what: str) -> SchemaType:
    if type_ not in ("AVRO", "PROTOBUF", "JSON"):
        raise SchemaNotFound(f"{what} is of the type {type_}, which dlqadmin does not know")
    return type_  # type: ignore[return-value] # checked above


def client_options(options: RegistryOptions) -> dict[str, Any]:
    """Return the options of Confluent's client. It asks once: a second try would double the time limit."""
    made: dict[str, Any] = {"url": options.url, "timeout": options.timeout_s, "max.retries": 0}
    if options.ca_file:
        made["ssl.ca.location"] = options.ca_file
    if options.certificate_file:
        made["ssl.certificate.location"] = options.certificate_file
        if options.key_password:
            made["ssl.key.password"] = options.key_password
    if options.auth == "basic":
        made["basic.auth.user.info"] = f"{options.user}:{options.secret}"
    elif options.auth == "bearer":
        made |= {
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": options.secret,
            "bearer.auth.logical.cluster": options.logical_cluster,
        }
    elif options.auth == "oauth":
        made |= {
            "bearer.auth.credentials.source": "OAUTHBEARER",
            "bearer.auth.issuer.endpoint.url": options.token_url,
            "bearer.auth.client.id": options.user,
            "bearer.auth.client.secret": options.secret,
            "bearer.auth.scope": options.scope,
            "bearer.auth.logical.cluster": options.logical_cluster,
        }
    if options.identity_pool and options.auth in ("bearer", "oauth"):
        made["bearer.auth.identity.pool.id"] = options.identity_pool
    return made


def _reason(error: SchemaRegistryError) -> str:
    """Return the registry's message in one line."""
    return " ".join(str(error.error_message or f"HTTP {error.http_status_code}").split())[:MAX_REASON]


def _has_rules(schema: Schema) -> bool:
    rules = schema.rule_set
    return rules is not None and any(
        (rules.domain_rules, rules.migration_rules, getattr(rules, "encoding_rules", None))
    )


def _sent(schema: SchemaText) -> Schema:
    """Return a schema without references, as the client sends it."""
    return Schema(schema.text, schema.type)


def _translated(error: SchemaRegistryError, what: str) -> Exception:
    status = error.http_status_code
    if status == NOT_FOUND:
        return SchemaNotFound(f"the registry has no {what}")
    if status in REFUSED:
        return CredentialsRefused(f"the registry refused the credentials (HTTP {status})")
    if 300 <= status < 400:
        return RegistryUnavailable(f"the registry redirects to another address (HTTP {status}); configure that address")
    return RegistryUnavailable(f"the registry answered with HTTP {status}")
