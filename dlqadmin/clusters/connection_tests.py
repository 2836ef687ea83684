"""Connection tests: the result in plain words, and the permissions of the client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dlqadmin.broker import clusters, connection_test
from dlqadmin.broker.cluster_settings import ClusterSettings
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.clusters import required_acls
from dlqadmin.clusters.descriptions import principal
from dlqadmin.clusters.documents import BrokerAddress, ConnectionTestAnswer, RequiredPermission
from dlqadmin.clusters.required_acls import AclCheck
from dlqadmin.deadletters.index.followed_topics import FollowedTopics, followed_topics
from dlqadmin.rest.text import counted
from dlqadmin.teams.reach import current_reach

VERDICTS: Mapping[connection_test.Kind, str] = {
    "configuration": "The client rejects these options.",
    "resolve": "The host name can't be resolved. Check the address, and the DNS of this machine.",
    "refused": "No process listens at this address and port.",
    "protocol": "The listener uses another protocol. Set security.protocol to the protocol of this port.",
    "tls": (
        "The TLS handshake failed. The broker's certificate is not signed by a trusted CA, has expired, or is "
        "for another host name."
    ),
    "certificate": "The broker rejected the client's certificate, or requires one and got none.",
    "authentication": "The broker rejected the user, the password or the SASL mechanism.",
    "time_out": "No response within {seconds:.0f} s. A firewall may drop the packets, or the broker is overloaded.",
    "other": "The connection failed.",
}


@dataclass(frozen=True, slots=True)
class ClusterExamination:
    """The result of a connection test, with the verdict in plain words and the rights of the client."""

    trial: connection_test.ConnectionTestResult
    verdict: str
    dead_letter_topics: list[str]
    principal: str
    acls: list[AclCheck]


def test(given: ClusterSettings) -> ConnectionTestAnswer:
    """Connect a new client to the cluster and check its permissions. The cluster need not be saved yet."""
    with clusters.on(given.name):
        followed = replace(followed_topics(), patterns=given.dead_letter_topics)
    found = examine(given, followed)
    return ConnectionTestAnswer(
        reached=found.trial.kind == "ok",
        kind=found.trial.kind,
        verdict=found.verdict,
        detail=found.trial.detail,
        took_ms=found.trial.took_ms,
        brokers=[BrokerAddress(id=number, address=address) for number, address in sorted(found.trial.brokers.items())],
        topics=len(found.trial.topics),
        dead_letter_topics=found.dead_letter_topics,
        principal=found.principal,
        permissions=[_document(row) for row in found.acls],
    )


def examine(given: ClusterSettings, followed: FollowedTopics) -> ClusterExamination:
    """Test the connection to a cluster and the permissions there."""
    trial, client = connection_test.connect(given)
    seen = [topic for topic in trial.topics if current_reach().has_topic(topic, given.name)]
    dead = sorted(topic for topic in seen if followed.follows(topic))
    needs = required_acls.required_acls(dead, given)
    who = _principal(given)
    if client is None:
        checked = [required_acls.unchecked_acl(need, who, given.servers) for need in needs]
    else:
        operations = connection_test.operations(client, *required_acls.resources_to_query(needs))
        checked = [required_acls.check(need, operations, who, given.servers) for need in needs]
    verdict = verdict_of(trial.kind) or _success_message(trial, given.options)
    return ClusterExamination(trial, verdict, dead, who, checked)


def verdict_of(kind: connection_test.Kind) -> str:
    """Return the sentence about a failed connection; empty for "ok"."""
    return VERDICTS.get(kind, "").format(seconds=connection_test.TIMEOUT_S)


def _principal(given: ClusterSettings) -> str:
    try:
        return principal(clusters.client_options_of(given))
    except BrokerUnavailable:
        return principal(given.options)


def _success_message(trial: connection_test.ConnectionTestResult, given: Mapping[str, str]) -> str:
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    how = {
        "SSL": " over TLS",
        "SASL_SSL": " over TLS, authenticated",
        "SASL_PLAINTEXT": ", authenticated, without encryption",
    }.get(protocol, ", without encryption")
    return f"{counted(len(trial.brokers), 'broker')} reached{how}; {counted(len(trial.topics), 'topic')} visible."


def _document(row: AclCheck) -> RequiredPermission:
    return RequiredPermission(
        operations=list(row.need.operations),
        resource=row.need.kind,
        name=row.need.name,
        prefixed=row.need.prefixed,
        why=row.need.why,
        verdict=row.verdict,
        missing=list(row.missing),
        note=row.note,
        command=row.command,
    )
