"""The options of the data source `deadletters`, named as those of Spark's Kafka source."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

import msgspec

from engine.config.java_regex import compile_java
from engine.config.options import REQUIRED, Option, Problem, ValueCheck, at_least, line_of, nearest, read
from engine.errors import ConfigError
from engine.kafka.client_options import CONSUMER_FIXED, RENAMED, SECRETS, client_problems, file_problems

Offsets = dict[str, dict[str, int]]  # by topic and partition, as Spark's Kafka source writes them in JSON
LATEST, EARLIEST = -1, -2  # in place of an offset
Bound = Literal["earliest", "latest"] | Offsets | datetime
Use = Literal["batch", "stream"]

KAFKA = "kafka."
MANAGED = {*CONSUMER_FIXED, "isolation.level", "key.deserializer", "value.deserializer"}
USUAL = (
    *SECRETS,
    *RENAMED,
    "bootstrap.servers",
    "client.id",
    "request.timeout.ms",
    "sasl.mechanism",
    "sasl.username",
    "security.protocol",
    "ssl.ca.location",
    "ssl.keystore.location",
    "ssl.truststore.location",
)
_ONLY: dict[str, Use] = {
    "endingOffsets": "batch",
    "endingTimestamp": "batch",
    "pushFilters": "batch",
    "maxOffsetsPerTrigger": "stream",
}
_JSON = 'earliest, latest, or JSON as {"topic": {"0": 23, "1": -2}}; -2 is the earliest offset, -1 the latest'


class SourceOptionError(ConfigError):
    """Options of the data source that can't be used. The text has a sentence for each of them."""

    def __str__(self) -> str:
        return "; ".join(map(line_of, self.problems))


class SourceSettings(msgspec.Struct, frozen=True):
    """The parsed options.

    `start` and `end` are None if no option says them. `pattern` is empty if topics are listed. `client` are the
    options of the Kafka clients. `timeout_s` bounds each wait for brokers.
    """

    client: dict[str, str]
    topics: tuple[str, ...] = ()
    pattern: str = ""
    start: Bound | None = None
    end: Bound | None = None
    max_offsets_per_trigger: int | None = None
    min_partitions: int | None = None
    max_records_per_partition: int = 100_000
    fails_on_data_loss: bool = True
    pushes_filters: bool = False
    timeout_s: float = 30.0

    @property
    def servers(self) -> str:
        """Return the bootstrap servers."""
        return self.client["bootstrap.servers"]


def _pattern_problem(text: str) -> str | None:
    try:
        compile_java(text)
    except ValueError as error:
        return str(error)
    return None


def _bound_problem(text: str) -> str | None:
    try:
        _offsets_or_word(text)
    except ValueError as error:
        return str(error)
    return None


def _time_problem(text: str) -> str | None:
    try:
        _time(text)
    except ValueError as error:
        return str(error)
    return None


_BOUND = ValueCheck(_JSON, _bound_problem)
_TIME = ValueCheck("milliseconds since 1970, or ISO 8601 as 2026-01-31T08:00:00Z; UTC without a zone", _time_problem)
OPTIONS = (
    Option("kafka.bootstrap.servers", "string", REQUIRED, "The Kafka brokers."),
    Option("kafka.*", "map", None, "Options of the Kafka clients, such as `kafka.security.protocol`."),
    Option("subscribe", "list", (), "Dead letter topics, separated by commas."),
    Option(
        "subscribePattern",
        "string",
        "",
        "A Java regular expression for whole names of dead letter topics.",
        ValueCheck("a Java regular expression", _pattern_problem),
    ),
    Option("startingOffsets", "string", None, "The first offsets to read.", _BOUND),
    Option("endingOffsets", "string", None, "The offsets behind the last ones to read.", _BOUND),
    Option("startingTimestamp", "string", None, "Read from the first dead letter of this time or later.", _TIME),
    Option("endingTimestamp", "string", None, "Read up to the first dead letter of this time or later.", _TIME),
    Option("maxOffsetsPerTrigger", "long", None, "The most offsets in one micro-batch.", at_least(1)),
    Option("minPartitions", "int", None, "The least number of Spark tasks to divide the offsets among.", at_least(1)),
    Option("maxRecordsPerPartition", "long", 100_000, "The most offsets that one Spark task reads.", at_least(1)),
    Option("failOnDataLoss", "boolean", True, "Fail if Kafka has deleted dead letters that are not read yet."),
    Option("pushFilters", "boolean", False, "Apply filters of the query before dead letters are decoded."),
    Option(
        "kafkaConsumer.pollTimeoutMs",
        "long",
        30_000,
        "How long the query waits for brokers that do not answer.",
        at_least(1),
    ),
)
_NAMES = {option.name.lower(): option.name for option in OPTIONS}


def read_options(options: Mapping[str, str], use: Use | None = None) -> SourceSettings:
    """Return the parsed options for a use; None if it is not known yet. Raises SourceOptionError with every problem.

    Case does not count in the names of options: Spark passes them on in lower case.
    """
    given = {_NAMES.get(name.lower(), name): str(value).strip() for name, value in options.items()}
    values, problems = read(OPTIONS, given)
    client = {**values["kafka.*"], "bootstrap.servers": values["kafka.bootstrap.servers"]}
    problems = [*map(_with_prefix, problems), *_client_problems(values["kafka.*"])]
    problems = problems or [*_choice_problems(given, values), *_use_problems(given, use)]
    problems = problems or file_problems(KAFKA, client)
    if problems:
        raise SourceOptionError(tuple(problems))
    return SourceSettings(
        client=client,
        topics=tuple(dict.fromkeys(values["subscribe"])),
        pattern=values["subscribePattern"],
        start=_bound(values["startingOffsets"], values["startingTimestamp"]),
        end=_bound(values["endingOffsets"], values["endingTimestamp"]),
        max_offsets_per_trigger=values["maxOffsetsPerTrigger"],
        min_partitions=values["minPartitions"],
        max_records_per_partition=values["maxRecordsPerPartition"],
        fails_on_data_loss=values["failOnDataLoss"],
        pushes_filters=values["pushFilters"],
        timeout_s=values["kafkaConsumer.pollTimeoutMs"] / 1000,
    )


def _with_prefix(problem: Problem) -> Problem:
    """Name the option that users of Kafka's own clients write without its prefix."""
    name, _, text = problem
    is_bare = text.startswith("unknown") and (name in USUAL or KAFKA + name in _NAMES)
    return (name, None, f"unknown option; did you mean {KAFKA}{name}?") if is_bare else problem


def _client_problems(client: Mapping[str, str]) -> list[Problem]:
    managed = [
        (KAFKA + name, value, "can't be set, because the data source manages it")
        for name, value in client.items()
        if name in MANAGED
    ]
    others = {name: value for name, value in client.items() if name not in MANAGED}
    return managed + [
        (name, value, text + (nearest(name, [KAFKA + one for one in USUAL]) if "No such conf" in text else ""))
        for name, value, text in client_problems(KAFKA, others)
    ]


def _choice_problems(given: Mapping[str, str], values: Mapping[str, object]) -> list[Problem]:
    problems: list[Problem] = []
    if bool(values["subscribe"]) == bool(values["subscribePattern"]):
        problems.append(("subscribe", None, "give either subscribe with topics, or subscribePattern"))
    problems += [
        (f"{side}Timestamp", None, f"give either {side}Timestamp or {side}Offsets")
        for side in ("starting", "ending")
        if f"{side}Timestamp" in given and f"{side}Offsets" in given
    ]
    return problems


def _use_problems(given: Mapping[str, str], use: Use | None) -> list[Problem]:
    problems: list[Problem] = [
        (name, given[name], f"is only for {'spark.read' if only == 'batch' else 'spark.readStream'}")
        for name, only in _ONLY.items()
        if name in given and use not in {None, only}
    ]
    if use == "batch":
        problems += [
            (name, given[name], f"a batch can't {side} at the {word}")
            for name, side, word, mark in (
                ("startingOffsets", "begin", "latest", LATEST),
                ("endingOffsets", "end", "earliest", EARLIEST),
            )
            if name in given and _names_only(_offsets_or_word(given[name]), word, mark)
        ]
    return problems


def _names_only(bound: Bound, word: str, mark: int) -> bool:
    """Return whether a bound is this word, or has its mark for a partition."""
    if isinstance(bound, dict):
        return any(offset == mark for partitions in bound.values() for offset in partitions.values())
    return bound == word


def _bound(offsets: str | None, time: str | None) -> Bound | None:
    if time is not None:
        return _time(time)
    return None if offsets is None else _offsets_or_word(offsets)


def _offsets_or_word(text: str) -> Bound:
    if text.lower() in {"earliest", "latest"}:
        return "earliest" if text.lower() == "earliest" else "latest"
    try:
        offsets = msgspec.json.decode(text, type=Offsets)
        if all(name.isdecimal() and at >= EARLIEST for one in offsets.values() for name, at in one.items()):
            return offsets
    except (msgspec.DecodeError, msgspec.ValidationError):
        pass
    raise ValueError(f"must be {_JSON}")


def _time(text: str) -> datetime:
    try:
        if text.isdecimal():
            return datetime.fromtimestamp(int(text) / 1000, UTC)
        at = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"must be {_TIME.valid}") from None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
