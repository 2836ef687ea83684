"""A worker's limits on the classes, files and client options of its connectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from engine.config.options import Option, Problem, ValueCheck, one_of
from engine.config.rooted_files import ROOT_OPTION, path_problem, root_problem

CLASSES_OPTION = "plugin.classes.allow"
HOSTS_OPTION = "http.hosts.allow"
POLICY_OPTION = "connector.client.config.override.policy"
ALLOWLIST_OPTION = "connector.client.config.override.allowlist"
ALL, NONE, PRINCIPAL, ALLOWLIST = "All", "None", "Principal", "Allowlist"
POLICIES = {
    spelling: name
    for name in (ALL, NONE, PRINCIPAL, ALLOWLIST)
    for spelling in (
        name,
        f"{name}ConnectorClientConfigOverridePolicy",
        f"org.apache.kafka.connect.connector.policy.{name}ConnectorClientConfigOverridePolicy",
    )
}
OF_PRINCIPAL = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})
CONNECTION = ("bootstrap.servers", "security.protocol", "sasl.", "ssl.")
# CONNECTION, with options that connectors must not set for their dead letters but may set elsewhere.
CONNECTING = (*CONNECTION, "metadata.broker.list", "enable.ssl.", "enable.sasl.", "https.")
IDENTITY = ("security.protocol", "sasl.", "ssl.key", "ssl.certificate.")  # options that set a client's identity
NAMES_FILE = (".location", ".file", ".keytab", ".path")  # endings of options whose value is a file path
# Options that load or run code, refused under every policy.
LOADS = frozenset(
    {"plugin.library.paths", "ssl.engine.location", "ssl.engine.id", "ssl.providers", "sasl.kerberos.kinit.cmd"}
)
# Options for speed and size. None of them names a host, a file, a user or a program.
TUNING = (
    "acks",
    "auto.offset.reset",
    "batch.num.messages",
    "batch.size",
    "buffer.memory",
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "compression.codec",
    "compression.level",
    "compression.type",
    "connections.max.idle.ms",
    "delivery.timeout.ms",
    "enable.idempotence",
    "fetch.error.backoff.ms",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "isolation.level",
    "linger.ms",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "max.poll.records",
    "max.request.size",
    "message.max.bytes",
    "message.send.max.retries",
    "message.timeout.ms",
    "metadata.max.age.ms",
    "partitioner",
    "partitioner.class",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queue.buffering.max.ms",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "receive.buffer.bytes",
    "receive.message.max.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "session.timeout.ms",
    "socket.connection.setup.timeout.ms",
    "socket.receive.buffer.bytes",
    "socket.send.buffer.bytes",
    "socket.timeout.ms",
    "statistics.interval.ms",
    "sticky.partitioning.linger.ms",
    "topic.metadata.propagation.max.ms",
    "topic.metadata.refresh.interval.ms",
    "transaction.timeout.ms",
    "transactional.id",
)

OPTIONS: tuple[Option, ...] = (
    Option(
        CLASSES_OPTION,
        "list",
        (),
        "Classes that connectors may name by their dotted path, as patterns: `sensors.steps.*` or "
        "`sensors.steps.Upper`. `*` matches any characters. Built-in classes and entry points of installed "
        "packages are always allowed. Modules in the working directory are never allowed.",
    ),
    Option(
        ROOT_OPTION,
        "string",
        None,
        "The directory of the files of FileStreamSource, FileStreamSink and SQLite databases, and of the "
        "key and trust stores that connectors name. Without it, connectors can't open any file, except that a "
        "standalone worker allows the directory in which it was started. Python must not import from it.",
        ValueCheck("an absolute path", root_problem),
    ),
    Option(
        HOSTS_OPTION,
        "list",
        (),
        "Hosts that HttpSink, ElasticsearchSink, ObjectStoreSink and DeltaSink may connect to, and that connectors "
        "may name as schema registries, as patterns: `api.example.com` or `*.example.com`. If empty, all hosts. To the "
        "sinks, link-local addresses, such as those of cloud metadata services, are never allowed.",
    ),
    Option(
        POLICY_OPTION,
        "class",
        None,
        "The client options that connectors may set: `All`, `None`, `Principal`, `Allowlist`, as in Kafka. "
        f"Default: `Allowlist` with the default of `{ALLOWLIST_OPTION}`, and dead letters may go to another "
        "cluster. Options that load or run a program are rejected under every policy.",
        one_of(*POLICIES),
    ),
    Option(
        ALLOWLIST_OPTION,
        "list",
        TUNING,
        "Client options that connectors may set under the policy `Allowlist` (KIP-1188).",
    ),
)


@dataclass(frozen=True, slots=True)
class Permissions:
    """The limits. `classes` and `hosts` are patterns; without `hosts`, all hosts are allowed.

    `policy` is None if the worker names none.
    """

    classes: tuple[str, ...] = ()
    file_root: str | None = None
    policy: str | None = None
    allowlist: tuple[str, ...] = TUNING
    hosts: tuple[str, ...] = ()

    def override_problems(self, prefix: str, options: Collection[str]) -> list[Problem]:
        """Return a problem for each forbidden client option, worded as by Kafka Connect."""
        name = self.policy or ALLOWLIST
        return [
            (prefix + option, None, self._refusal(name, prefix + option))
            for option in options
            if not self._allows(option)
        ]

    def letter_problems(self, prefix: str, options: Collection[str]) -> list[Problem]:
        """Return the same for the producer of dead letters.

        It may belong to another cluster unless a policy is named.
        """
        free = () if self.policy else CONNECTION
        return self.override_problems(prefix, [option for option in options if not option.startswith(tuple(free))])

    def file_problems(self, prefix: str, options: Mapping[str, str]) -> list[Problem]:
        """Return a problem for each client option with a file outside the connectors' directory.

        A client reads such a file with the worker's rights, and its error messages may quote it.
        """
        if self.policy == ALL:
            return []
        paths = [(name, path) for name, path in options.items() if name.endswith(NAMES_FILE) and name not in LOADS]
        problems = [(prefix + name, path_problem(path, self.file_root)) for name, path in paths if path]
        return [(name, None, f"{text}, or set the worker's {POLICY_OPTION}=All") for name, text in problems if text]

    def url_problem(self, url: str) -> str | None:
        """Return why connectors may not connect to the host of an HTTP URL, as a clause, or None.

        The host's addresses are checked when a task connects.
        """
        host = (urlsplit(url).hostname or "").lower()
        if not self.hosts or any(fnmatchcase(host, pattern.lower()) for pattern in self.hosts):
            return None
        return f"names the host {host}, which the worker does not allow; add it to the worker's {HOSTS_OPTION}"

    def _allows(self, option: str) -> bool:
        match self.policy:
            case "All":
                return True
            case "None":
                return False
            case "Principal":
                return option in OF_PRINCIPAL
        return option in self.allowlist

    @staticmethod
    def _refusal(name: str, option: str) -> str:
        text = f"The '{name}' policy does not allow '{option}' to be overridden in the connector configuration."
        if name == ALLOWLIST:
            return f"{text} Add it to the worker's {ALLOWLIST_OPTION}, or choose another {POLICY_OPTION}."
        return f"{text} Choose another {POLICY_OPTION} of the worker to allow it."


def read_permissions(values: Mapping[str, Any]) -> Permissions:
    """Return the limits from a worker's parsed options."""
    return Permissions(
        classes=values[CLASSES_OPTION],
        file_root=values[ROOT_OPTION],
        policy=POLICIES.get(values[POLICY_OPTION] or ""),
        allowlist=values[ALLOWLIST_OPTION],
        hosts=values[HOSTS_OPTION],
    )
