"""Describe audit entries: a sentence, the person's reason, and the outcome.

They are derived from an entry's sealed fields whenever it is shown, so that a change of the texts touches no entry.
`detail` is the part of the entry's detail that the reader may see.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from dlqadmin.audit.models import READ, AuditEntry
from dlqadmin.rest.text import shortened

Outcome = Literal["done", "failed", "refused", "unknown"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)
Detail = Mapping[str, Any]

MAX_FACTS = 300  # characters of the facts at the end of a sentence

FAILED = frozenset(("sign-in failed", "failed", "gave up", "gave up the undo of"))
REFUSED = frozenset(("sign-in refused", "provider sign-in refused", "ended API token refused", "invitation refused"))
ENGINE_CLUSTER = "engine"  # the name of the cluster of ENGINE_URL; sentences leave it out
# The detail of these says whether the Connect cluster accepted the request.
ENGINE_REQUESTS = frozenset(
    (
        "pause connector",
        "resume connector",
        "stop connector",
        "restart connector",
        "restart task",
        "create connector",
        "change connector",
        "delete connector",
    )
)
# A filter by an outcome needs to look only at these actions. "done" has no such list.
ACTIONS_OF_OUTCOME: Mapping[str, frozenset[str]] = {
    "failed": FAILED,
    "refused": REFUSED | ENGINE_REQUESTS,
    "unknown": ENGINE_REQUESTS,
}

# `object` is the type with the id; `id` is the id alone.
SENTENCES: Mapping[str, str] = {
    READ: "read {object}",
    "signed in": "signed in",
    "signed out": "signed out",
    "sign-in failed": "failed to sign in as {id}",
    "sign-in refused": "had too many failed attempts to sign in as {id}",
    "provider sign-in refused": "was refused a sign-in with the provider {id}",
    "linked provider": "linked {object} to an identity of a provider",
    "two-factor on": "switched on two-factor sign-in",
    "two-factor off": "switched off two-factor sign-in",
    "two-factor reset": "reset the two-factor sign-in of {object}",
    "recovery code used": "signed in with a recovery code",
    "created": "created {object}",
    "changed": "changed {object}",
    "deleted": "deleted {object}",
    "password changed": "changed their own password",
    "API token created": "created an API token",
    "API token revoked": "revoked an API token",
    "API tokens revoked": "revoked all API tokens of {object}",
    "ended API token refused": "tried to use an API token that had ended",
    "invited": "invited {id}",
    "invitation revoked": "revoked the invitation of {id}",
    "invitation accepted": "accepted the invitation of {id}",
    "invitation refused": "tried to use an invitation of {id} that is not valid",
    "password link created": "created a link for {id} to set a password",
    "password link used": "set the password of {id} by link",
    "change schema registry": "changed the schema registry of {id}",
    "remove schema registry": "removed the schema registry of {id}",
    "add cluster": "added the cluster {id}",
    "change cluster": "changed the cluster {id}",
    "remove cluster": "removed the cluster {id}",
    "create alert rule": "created {object}",
    "change alert rule": "changed {object}",
    "delete alert rule": "deleted {object}",
    "mute alert rule": "muted {object}",
    "unmute alert rule": "unmuted {object}",
    "test alert rule": "sent test messages of {object}",
    "acknowledge alert": "acknowledged {object}",
    "snooze alert": "snoozed {object}",
    "create channel": "created {object}",
    "change channel": "changed {object}",
    "delete channel": "deleted {object}",
    "test channel": "sent a test message to {object}",
    "rotate channel secret": "made a new secret for {object}",
    "retry delivery": "had {object} sent again",
    "planned": "planned {object}",
    "removed plan": "removed the plan of {object}, which was never run",
    "ask": "asked for approval of {object}",
    "approve": "approved {object}",
    "reject": "rejected {object}",
    "run": "started {object}",
    "pause": "paused {object}",
    "resume": "resumed {object}",
    "cancel": "cancelled {object}",
    "rate": "changed the rate of {object}",
    "froze": "froze {object}",
    "revealed": "revealed masked fields of {object}",
    "discard": "discarded the records of {object}",
    "park": "parked the records of {object}",
    "handled elsewhere": "marked the records of {object} as handled elsewhere",
    "restore": "restored the records of {object}",
    "gave up": "gave up the work on {object}",
    "started": "started {object}",
    "cancelled": "cancelled {object}",
    "failed": "failed to finish {object}",
    "made drafts": "made the drafts of {object}",
    "imported drafts": "imported the drafts of {object}",
    "undid": "undid {object}",
    "gave up the undo of": "gave up the undo of {object}",
    "saved draft": "saved the draft of {object}",
    "discarded draft": "discarded the draft of {object}",
    "resolved": "resolved {object}",
    "reopened": "re-opened {object}",
    "muted": "muted {object}",
    "assigned": "assigned {object}",
    "note": "wrote a note about {object}",
    "merged": "merged {object}",
    "split": "split {object}",
    "undone": "undid a merge or split of {object}",
    "pause connector": "paused {object}",
    "resume connector": "resumed {object}",
    "stop connector": "stopped {object}",
    "restart connector": "restarted {object}",
    "restart task": "restarted task {id}",
    "create connector": "created {object}",
    "change connector": "changed {object}",
    "delete connector": "deleted {object}",
    "add topic": "added {object} to the index",
    "exclude topic": "excluded {object} from the index",
    "save mapping": "saved a version of {object}",
    "retire mapping": "retired {object}",
    "reread topic": "started to read {object} again",
    "reset topic": "left {object} to DLQ_TOPICS",
    "saved": "saved {object}",
    "report": "downloaded a report about {object}",
    "export": "exported {object}",
    "exported": "exported {object} for a fix outside the dashboard",
    "download": "downloaded {object}",
    "delete": "deleted the file of {object}",
    "erase": "started {object}",
    "erased": "finished {object}",
    "receipt": "downloaded the receipt of {object}",
}


def sentence_of(entry: AuditEntry, detail: Detail) -> str:
    """Return what the actor did, without the actor and the reason: "approved replay R-12"."""
    named = f"{entry.object_type} {entry.object_id}".strip()
    template = SENTENCES.get(entry.action)
    # An action that this version does not know is shown as it was recorded.
    done = template.format(object=named, id=entry.object_id) if template else f"{entry.action} {named}"
    done += _cluster_text(entry, detail)
    facts = _facts(entry, detail)
    # Many stored texts begin with the verb that the sentence has already: "resolved: fixed upstream".
    verb = done.partition(f" {named}")[0]
    if facts == verb or facts.startswith((f"{verb} ", f"{verb}:")):
        facts = facts.removeprefix(verb).lstrip(" :")
    return f"{done}: {facts}" if facts else done


def reason_of(detail: Detail) -> str:
    """Return the reason that the person gave, or ""."""
    reason = detail.get("reason")
    return reason if isinstance(reason, str) else ""


def outcome_of(entry: AuditEntry) -> Outcome:
    """Return the outcome of the action. An entry without one says that the action was done."""
    if entry.action in FAILED:
        return "failed"
    if entry.action in REFUSED:
        return "refused"
    if entry.action in ENGINE_REQUESTS:
        word = str(entry.detail.get("outcome", "")).partition(":")[0]
        if word == "refused":
            return "refused"
        if word == "unknown":
            return "unknown"
    return "done"


def _cluster_text(entry: AuditEntry, detail: Detail) -> str:
    """Return the Connect cluster of a connector, and whether only failed parts restarted."""
    if entry.object_type != "connector":
        return ""
    cluster = detail.get("cluster")
    where = f" of Connect cluster {cluster}" if cluster and cluster != ENGINE_CLUSTER else ""
    return f"{where}, failed parts only" if detail.get("only_failed") else where


def _facts(entry: AuditEntry, detail: Detail) -> str:
    """Return the details that belong in the sentence."""
    if entry.object_type in ("user", "role", "group", "team") and entry.action in ("changed", "created"):
        # PostgreSQL does not keep the order of the names.
        facts = "; ".join(_change_text(name, change) for name, change in sorted(detail.items()) if name != "username")
    elif entry.object_type == "API token":
        scopes = detail.get("scopes")
        facts = f"{detail.get('name', '')} of {detail.get('owner', '')}"
        facts += f" with {', '.join(map(str, scopes))}" if isinstance(scopes, list) else ""
    elif entry.action in ENGINE_REQUESTS:
        outcome = str(detail.get("outcome", ""))
        facts = outcome
        if outcome == "accepted":
            facts = _options_text(detail) if entry.action == "change connector" else ""
    else:
        said = detail.get("said") or detail.get("text") or detail.get("what") or ""
        reason = reason_of(detail)
        facts = str(said).removesuffix(f": {reason}") if reason else str(said)
    return shortened(facts, MAX_FACTS)


def _options_text(detail: Detail) -> str:
    """Return the changed options of a connector: "tasks.max 1 → 2; topics a → a,b"."""
    changed = detail.get("changed")
    rows = sorted(changed.items()) if isinstance(changed, dict) else []
    return "; ".join(
        f"{name} {_value_text(one.get('before'))} → {_value_text(one.get('after'))}"
        for name, one in rows
        if isinstance(one, dict)
    )


def _change_text(name: str, change: Any) -> str:
    """Return a changed field: "groups viewer → operator, viewer"."""
    words = name.replace("_", " ")
    if not isinstance(change, dict) or not {"before", "after"} <= change.keys():
        return f"{words} {_value_text(change)}"
    return f"{words} {_value_text(change['before'])} → {_value_text(change['after'])}"


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value) if value not in (None, "") else "none"
