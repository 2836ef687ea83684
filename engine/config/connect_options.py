"""Kafka Connect 4.1's options of workers: those that work here, and the reasons why the others have no effect.

The others are accepted, so that a worker's file of Kafka Connect can be used unchanged. Each is explained by a warning.
"""

from __future__ import annotations

from engine.config.plugin_versions import VERSION

_NO_GROUP = "Spark runs the tasks and one driver leads, so workers do not rebalance"
_NO_INTERNAL = "workers exchange no requests: they share the config topic, which only the leader can write"
_CLIENT = "client options need one of the prefixes consumer., producer. and admin."
_METRICS = "metrics are Prometheus's, at GET /metrics"
_PLUGINS = "plugins are installed Python packages, and classes that plugin.classes.allow matches"
_LOGIN = "the clients are librdkafka's, which has no such option"
_JAVA = "it names a Java class; the clients are librdkafka's"

# Options of the same name that work. `sasl.*` and `ssl.*` are handed to the clients, except those below.
IMPLEMENTED = (
    "access.control.allow.methods",
    "access.control.allow.origin",
    "bootstrap.servers",
    "config.providers",
    "config.storage.replication.factor",
    "config.storage.topic",
    "connector.client.config.override.policy",
    "exactly.once.source.support",
    "group.id",
    "header.converter",
    "key.converter",
    "listeners",
    "offset.flush.interval.ms",
    "offset.storage.file.filename",
    "offset.storage.partitions",
    "offset.storage.replication.factor",
    "offset.storage.topic",
    "rest.advertised.host.name",
    "rest.advertised.listener",
    "rest.advertised.port",
    "rest.extension.classes",
    "security.protocol",
    "session.timeout.ms",
    "status.storage.partitions",
    "status.storage.replication.factor",
    "status.storage.topic",
    "task.shutdown.graceful.timeout.ms",
    "topic.creation.enable",
    "topic.tracking.allow.reset",
    "topic.tracking.enable",
    "value.converter",
)
WITHOUT_EFFECT: dict[str, str] = {
    "admin.listeners": "loggers are served on `listeners`, with the same credentials",
    "client.dns.lookup": _CLIENT,
    "client.id": "each client has an id of its own, which names its task",
    "connect.protocol": _NO_GROUP,
    "connections.max.idle.ms": _CLIENT,
    "heartbeat.interval.ms": "drivers send a heartbeat ten times per session.timeout.ms",
    "inter.worker.key.generation.algorithm": _NO_INTERNAL,
    "inter.worker.key.size": _NO_INTERNAL,
    "inter.worker.key.ttl.ms": _NO_INTERNAL,
    "inter.worker.signature.algorithm": _NO_INTERNAL,
    "inter.worker.verification.algorithms": _NO_INTERNAL,
    "metadata.max.age.ms": _CLIENT,
    "metadata.recovery.rebootstrap.trigger.ms": _CLIENT,
    "metadata.recovery.strategy": _CLIENT,
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "offset.flush.timeout.ms": "a commit waits as long as the time-outs of its clients say",
    "plugin.discovery": _PLUGINS,
    "plugin.path": _PLUGINS,
    "rebalance.timeout.ms": _NO_GROUP,
    "receive.buffer.bytes": _CLIENT,
    "reconnect.backoff.max.ms": _CLIENT,
    "reconnect.backoff.ms": _CLIENT,
    "request.timeout.ms": _CLIENT,
    "response.http.headers.config": "the REST API sends a fixed set of security headers",
    "retry.backoff.max.ms": _CLIENT,
    "retry.backoff.ms": _CLIENT,
    "sasl.client.callback.handler.class": _JAVA,
    "sasl.kerberos.kinit.cmd": "the engine runs no program for a client",
    "sasl.kerberos.ticket.renew.jitter": _LOGIN,
    "sasl.kerberos.ticket.renew.window.factor": _LOGIN,
    "sasl.login.callback.handler.class": _JAVA,
    "sasl.login.class": _JAVA,
    "sasl.login.connect.timeout.ms": _LOGIN,
    "sasl.login.read.timeout.ms": _LOGIN,
    "sasl.login.refresh.buffer.seconds": _LOGIN,
    "sasl.login.refresh.min.period.seconds": _LOGIN,
    "sasl.login.refresh.window.factor": _LOGIN,
    "sasl.login.refresh.window.jitter": _LOGIN,
    "sasl.login.retry.backoff.max.ms": _LOGIN,
    "sasl.login.retry.backoff.ms": _LOGIN,
    "sasl.oauthbearer.assertion.template.file": _LOGIN,
    "sasl.oauthbearer.clock.skew.seconds": _LOGIN,
    "sasl.oauthbearer.expected.audience": _LOGIN,
    "sasl.oauthbearer.expected.issuer": _LOGIN,
    "sasl.oauthbearer.header.urlencode": _LOGIN,
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": _LOGIN,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": _LOGIN,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": _LOGIN,
    "sasl.oauthbearer.jwks.endpoint.url": _LOGIN,
    "sasl.oauthbearer.jwt.retriever.class": _JAVA,
    "sasl.oauthbearer.jwt.validator.class": _JAVA,
    "sasl.oauthbearer.scope.claim.name": _LOGIN,
    "scheduled.rebalance.max.delay.ms": _NO_GROUP,
    "send.buffer.bytes": _CLIENT,
    "socket.connection.setup.timeout.max.ms": _CLIENT,
    "socket.connection.setup.timeout.ms": _CLIENT,
    "worker.sync.timeout.ms": _NO_GROUP,
    "worker.unsync.backoff.ms": _NO_GROUP,
    **{
        f"{part}.converter.plugin.version": f"each class has one version, {VERSION}"
        for part in ("key", "value", "header")
    },
}


def effect_problem(name: str) -> str | None:
    """Return why the worker's option has no effect, or None if it has one."""
    reason = WITHOUT_EFFECT.get(name)
    return WITHOUT_EFFECT["admin.listeners"] if reason is None and name.startswith("admin.listeners.") else reason
