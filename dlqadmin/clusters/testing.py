"""A connection on trial: reached or not and why, in plain words, and what is allowed there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlqadmin.broker import clusters, trying
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.clusters import needing
from dlqadmin.clusters.documents import principal
from dlqadmin.clusters.needing import Checked
from dlqadmin.deadletters.following import follows
from dlqadmin.rest.text import counted

VERDICTS: Mapping[trying.Kind, str] = {
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
    """Connect anew to the cluster, "" being the own one, and ask what it allows. Raises KeyError for an unknown one."""
    given = clusters.given_options(name)
    trial, client = trying.connect(name)
    dead = sorted(topic for topic in trial.topics if follows(topic)) if not name else []
    needs = needing.needs(dead, own=not name)
    who, servers = _principal(name, given), given[clusters.SERVERS]
    if client is None:
        checked = [needing.unasked(need, who, servers) for need in needs]
    else:
        operations = trying.operations(client, *needing.asked(needs))
        checked = [needing.check(need, operations, who, servers) for need in needs]
    failed = VERDICTS.get(trial.kind, "").format(seconds=trying.TIMEOUT_S)
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


def _reached(trial: trying.Trial, given: Mapping[str, str]) -> str:
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
