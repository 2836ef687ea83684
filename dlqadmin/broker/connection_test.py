"""Test a connection to a cluster: success or the failing step, and the client's permissions."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from dlqadmin.broker import clusters
from dlqadmin.broker.cluster_settings import ClusterSettings
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.topics import patiently
from engine.config.masking import mask_url

Kind = Literal[
    "ok", "configuration", "resolve", "refused", "protocol", "tls", "certificate", "authentication", "time_out", "other"
]
TIMEOUT_S = 8.0
SLICE_S = 0.4
# Patterns of the client's error messages, in order. Each kind needs a different remedy.
_WORDS: Sequence[tuple[Kind, str]] = (
    ("resolve", r"failed to resolve|name or service not known|nodename nor servname|no address associated"),
    ("refused", r"connection refused"),
    ("protocol", r"incorrect security\.protocol|wrong version|http request|packet length too long|closed by peer"),
    ("tls", r"certificate verify failed|verify that ssl\.ca\.location|hostname mismatch|ip address mismatch"),
    (
        "certificate",
        r"alert.*certificate|certificate required|peer did not return|unknown ca|alert number (4[2-8]|116)",
    ),
    ("authentication", r"authentication fail|sasl .*(fail|error|unsupported)|unsupported_sasl_mechanism|invalid cred"),
    ("tls", r"ssl handshake failed|\bssl\b"),
    ("time_out", r"timed? ?out"),
)
_DENIED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
}
_FINAL: frozenset[Kind] = frozenset({"resolve", "refused", "protocol", "tls", "certificate", "authentication"})
_TOLD = frozenset({kind for kind, _ in _WORDS})
_FETCH = re.compile(r"ApiKey Fetch \(1\) Versions (\d+)\.\.(\d+)")
_FETCH_OF_3_9 = 17
# The highest version of Fetch in each release.
_RELEASES = (
    (18, "4.1 or newer"), (17, "3.9"), (16, "3.7 or 3.8"), (15, "3.5 or 3.6"), (13, "3.1 to 3.4"), (12, "2.7 to 3.0"),
    (11, "2.3 to 2.6"), (1, "older than 2.3"),
)  # fmt: skip
_THREAD = re.compile(r"^.*?\[thrd:[^\]]*\]:\s*|^\w+://\S+:\s(?=\S)")


@dataclass(frozen=True, slots=True)
class ConnectionTestResult:
    """The result of a connection test.

    `operations` contains the permitted operations by (kind, name) of the resource; None if the broker did not
    tell. `release` is the release of Kafka whose protocol the brokers speak, such as "4.1 or newer".
    """

    kind: Kind
    detail: str = ""  # the client's own message
    brokers: Mapping[int, str] = field(default_factory=dict)
    topics: Mapping[str, int] = field(default_factory=dict)
    operations: Mapping[tuple[str, str], frozenset[str] | None] = field(default_factory=dict)
    took_ms: int = 0
    release: str = ""


class _ClientLogHandler(logging.Handler):
    """A log handler that collects the client's errors and log lines, without thread names.

    Debug lines tell the versions of requests that the broker supports. Nothing else is taken from them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.fetch = (0, 0)  # versions of the request Fetch
        self.logger = logging.Logger("trial")  # noqa: LOG001 -- one logger per test, not shared by name
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno > logging.DEBUG:
            self.lines.append(_redact_message(record.getMessage()))
        elif found := _FETCH.search(record.getMessage()):
            self.fetch = (int(found[1]), int(found[2]))

    def error(self, error: KafkaError) -> None:
        self.lines.append(_redact_message(error.str()))

    def verdict(self, among: Collection[Kind]) -> tuple[Kind, str] | None:
        """Return the first of these kinds in the collected lines, with its line."""
        return next(((kind, line) for line in self.lines if (kind := kind_of(line)) in among), None)


def connect(given: ClusterSettings, timeout_s: float = TIMEOUT_S) -> tuple[ConnectionTestResult, AdminClient | None]:
    """Request the cluster's metadata with a new client; return the result and the client.

    The cluster may be disabled, or not saved yet.
    """
    heard, began = _ClientLogHandler(), time.monotonic()
    try:
        hearing: dict[str, Any] = {
            "log_level": 7, "debug": "feature", "error_cb": heard.error, "logger": heard.logger
        }  # fmt: skip
        client = AdminClient(clusters.client_options_of(given) | hearing)
    except (KafkaException, BrokerUnavailable, ValueError) as error:
        return ConnectionTestResult("configuration", _redact_message(_error_text(error))), None
    while (left := timeout_s - (time.monotonic() - began)) > 0:
        try:
            found = client.list_topics(timeout=min(SLICE_S, left))
        except KafkaException as error:
            heard.lines.append(_redact_message(_error_text(error)))
            client.poll(0)
            # All brokers are asked at once. The first failure is not final while another broker may still
            # respond.
            is_enough = time.monotonic() - began > 3 * SLICE_S
            if is_enough and (verdict := heard.verdict(_FINAL)):
                return ConnectionTestResult(*verdict, took_ms=_elapsed_ms(began)), None
            continue
        brokers = {one.id: f"{one.host}:{one.port}" for one in found.brokers.values()}
        topics = {one: len(topic.partitions) for one, topic in found.topics.items() if topic.error is None}
        client.poll(0)  # calls the log handler
        release = release_of(*heard.fetch)
        return ConnectionTestResult("ok", "", brokers, topics, {}, _elapsed_ms(began), release), client
    return ConnectionTestResult(*(heard.verdict(_TOLD) or ("time_out", "")), took_ms=_elapsed_ms(began)), None


def operations(
    client: AdminClient, topics: Sequence[str], groups: Sequence[str], timeout_s: float = TIMEOUT_S
) -> dict[tuple[str, str], frozenset[str] | None]:
    """Return the operations that the cluster's authoriser permits on itself, topics and groups.

    Nothing is changed. Without an authoriser all operations are permitted. None if the broker did not respond
    in time. `timeout_s` covers all requests.
    """
    ends = time.monotonic() + timeout_s
    asking: dict[tuple[str, str], Callable[..., Any]] = {
        ("cluster", ""): client.describe_cluster,
        **{("topic", name): partial(client.describe_topics, TopicCollection([name])) for name in topics},
        **{("group", name): partial(client.describe_consumer_groups, [name]) for name in groups},
    }
    return {what: _allowed_operations(ask, ends - time.monotonic()) for what, ask in asking.items()}


def release_of(lowest: int, highest: int) -> str:
    """Return the release of Kafka that supports these versions of the request Fetch; empty if it is unknown."""
    if highest == _FETCH_OF_3_9 and lowest > 0:  # 4.0 dropped old versions, and added none
        return "4.0"
    return next((release for version, release in _RELEASES if highest >= version), "")


def kind_of(text: str) -> Kind:
    """Return the kind of failure that the client's message indicates."""
    return next((kind for kind, pattern in _WORDS if re.search(pattern, text, re.IGNORECASE)), "other")


def _allowed_operations(ask: Callable[..., Any], left_s: float) -> frozenset[str] | None:
    if left_s < SLICE_S:
        return None
    more = {"include_authorized_operations": True, "request_timeout": left_s}
    try:
        found = patiently(lambda: _single_future(ask(**more)).result(left_s + 1).authorized_operations, left_s)
    except KafkaException as error:
        return frozenset() if error.args[0].code() in _DENIED else None
    except TimeoutError:
        return None
    return frozenset(operation.name for operation in found or ())  # the client returns None instead of an empty list


def _single_future(asked: Any) -> Any:
    """Return the future of a request about one resource."""
    return next(iter(asked.values())) if isinstance(asked, dict) else asked


def _error_text(error: Exception) -> str:
    inner = error.args[0] if isinstance(error, KafkaException) else error
    return inner.str() if isinstance(inner, KafkaError) else str(inner)


def _redact_message(text: str) -> str:
    """Return the client's message without its thread names and without secrets."""
    return mask_url(_THREAD.sub("", text))[:500]


def _elapsed_ms(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
