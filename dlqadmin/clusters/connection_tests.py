"""Connection tests: the result in plain words, and the permissions of the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlqadmin.broker import clusters, connection_test
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.clusters import required_acls
from dlqadmin.clusters.documents import principal
from dlqadmin.clusters.required_acls import Checked
from dlqadmin.deadletters.index.followed_topics import follows
from dlqadmin.rest.text import counted

VERDICTS: Mapping[connection_test.Kind, str] = {
    "configuration": "The client can't be made with the options it is given.",
    "resolve": "The host's name can't be resolved: is the address right, and does this machine know the name?",
    "refused": "Nobody listens at this address and port.",
    "protocol": "The listener speaks another protocol: security.protocol must be the one of this port.",
    "tls": "The TLS handshake failed: the broker's certificate is not signed by the CA that is trusted here, has "
    "expired, or is for another host name.",
    "certificate": "The broker does not accept the client's certificate, or wants one and got none.",
    "authentication": "The broker does not accept the user, the password or the SASL mechanism.",
    "time_out": "No answer within {seconds:.0f} s: a firewall may drop what is sent, or the broker is overloaded.",
    "other": "The connection failed.",
}


def test(name: str) -> dict[str, Any]:
    """Connect a new client to the cluster ("" is the own one) and check its permissions.

    Raises KeyError for an unknown cluster.
    """
    given = clusters.given_options(name)
    trial, client = connection_test.connect(name)
    dead = sorted(topic for topic in trial.topics if follows(topic)) if not name else []
    needs = required_acls.needs(dead, own=not name)
    who, servers = _principal(name, given), given[clusters.SERVERS]
    if client is None:
        checked = [required_acls.unasked(need, who, servers) for need in needs]
    else:
        operations = connection_test.operations(client, *required_acls.asked(needs))
        checked = [required_acls.check(need, operations, who, servers) for need in needs]
    failed = VERDICTS.get(trial.kind, "").format(seconds=connection_test.TIMEOUT_S)
    return {
        "reached": client is not None,
        "kind": trial.kind,
        "verdict": failed or _reached(trial, given),
        "detail": trial.detail,
        "took_ms": trial.took_ms,
        "brokers": [{"id": number, "address": address} for number, address in sorted(trial.brokers.items())],
        "topics": len(trial.topics),
        "dead_letter_topics": dead,
        "principal": who,
        "permissions": [_document(row) for row in checked],
    }


def _principal(name: str, given: Mapping[str, str]) -> str:
    try:
        return principal(clusters.client_options(name))
    except BrokerUnavailable:
        return principal(given)


def _reached(trial: connection_test.Trial, given: Mapping[str, str]) -> str:
    protocol = given.get("security.protocol", "PLAINTEXT").upper()
    how = {
        "SSL": " over TLS",
        "SASL_SSL": " over TLS, signed in",
        "SASL_PLAINTEXT": ", signed in, without encryption",
    }.get(protocol, ", without encryption")
    return f"{counted(len(trial.brokers), 'broker')} reached{how}; {counted(len(trial.topics), 'topic')} can be seen."


def _document(row: Checked) -> dict[str, Any]:
    return {
        "operations": list(row.need.operations),
        "resource": row.need.kind,
        "name": row.need.name,
        "prefixed": row.need.prefixed,
        "why": row.need.why,
        "verdict": row.verdict,
        "missing": list(row.missing),
        "note": row.note,
        "command": row.command,
    }
