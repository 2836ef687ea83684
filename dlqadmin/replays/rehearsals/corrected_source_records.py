"""Corrected records of source connectors, run through the remaining stages.

The result is the message that the source would have written. KIP-298 says "care needs to be taken" with records of
sources. They did not come from Kafka, so they can't return to their origin. The message goes to the topic that the
source would have written to.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.index import erased_records
from dlqadmin.deadletters.index.active_mappings import active_mappings
from dlqadmin.deadletters.index.column_values import pack_headers
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.records.details import message_of_letter
from dlqadmin.replays.batches import parts
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import Fix, Rehearsal
from dlqadmin.replays.rehearsals import inputs, sandboxed_run
from dlqadmin.replays.rehearsals.documents import ProducedDocument, RehearsedDocument, result, shown_stages
from dlqadmin.replays.rehearsals.inputs import MAX_BYTES, CannotRehearse
from dlqadmin.replays.rehearsals.verdicts import stopped, verdict
from engine.dialects.facts import DeadLetterFacts
from engine.record.error_context_json import decode
from engine.record.stage import StageType

CONVERTERS = (StageType.KEY_CONVERTER, StageType.VALUE_CONVERTER, StageType.HEADER_CONVERTER)


class SourceMessage(msgspec.Struct, frozen=True):
    """The message that a source would have written, with its topic and stages.

    `partition` is the one that the record names itself, None if its key decides.
    """

    message: Outgoing
    topic: str
    partition: int | None
    through: str
    author: int  # of the draft


def written(author: User | None, dead_letters: Sequence[int]) -> dict[int, SourceMessage]:
    """Return the author's drafts of source records among these dead letters, by dead letter id.

    Other source records can't be replayed. `through` is a text for the plan, such as `through the remaining stages of
    NAME: transforms a, b; JsonConverter`.
    """
    if author is None or not dead_letters:
        return {}
    drafts = {fix.dead_letter_id: fix for fix in _drafts(author).filter(dead_letter_id__in=dead_letters)}
    if not drafts:
        return {}
    found: dict[int, SourceMessage] = {}
    kept = Rehearsal.objects.filter(author=author, wanted__source__in=list(drafts), done_at__isnull=False)
    for pk, told in kept.order_by("pk").values_list("wanted__source", "result__0__produced"):
        # The draft is used only if it is still the one that the rehearsal made.
        if told and told["digest"] == drafts[pk].digest:
            message = inputs.draft_of(drafts[pk])
            found[pk] = SourceMessage(message, told["topic"], told["partition"], told["through"], drafts[pk].author_id)
    return found


def topics(author: User | None, letters: QuerySet[DeadLetter]) -> list[str]:
    """Return the target topics of the author's drafts of source records.

    Only drafts of these dead letters count.
    """
    if author is None:
        return []
    own = _drafts(author).values_list("dead_letter_id", flat=True)
    among = [pk for part in parts(list(own)) for pk in letters.filter(pk__in=part).values_list("pk", flat=True)]
    return sorted({one.topic for one in written(author, among).values()})


def rehearse(rehearsal: Rehearsal, limits: sandboxed_run.RunLimits) -> RehearsedDocument:
    """Run the record from the stage where it failed to the end, and store the result as a draft.

    Return the result. Raises CannotRehearse.
    """
    row = DeadLetter.objects.select_related("body").filter(pk=rehearsal.wanted["source"]).first()
    if row is None:
        raise CannotRehearse("This dead letter no longer exists.")
    facts = active_mappings().read(message_of_letter(row))
    polled = _polled(row, facts, rehearsal.wanted.get("value"))
    config = inputs.properties(row.connector)
    document = {"config": config, "worker": inputs.worker_options(facts.stages, config), "polled": [polled]}
    told = sandboxed_run.run(document, limits)
    if not told.stages or (told.trouble and told.at is None):
        raise CannotRehearse(f"{row.connector} can't be rehearsed: {told.trouble}.")
    # The failed stage's index is valid only for the same list of stages.
    then = [(str(stage.type), stage.class_name) for stage in facts.stages]
    if then != [(stage["type"], stage["class"]) for stage in told.stages]:
        text = f"The stages of {row.connector} changed since the record failed, so the remaining stages are unknown."
        raise CannotRehearse(text)
    edited = rehearsal.wanted.get("value") is not None
    if told.at is not None:
        rows = shown_stages(told, told.at[1])
        return result(row, stopped(told.stages, told.at[1], told.trouble), told.stages, rows, edited=edited)
    rows = told.records[0]["stages"]
    index = facts.index or 0
    answer = result(row, verdict(told.stages, rows, facts.stages[index], index), told.stages, rows, edited=edited)
    made = told.records[0]["produced"]
    if made is None:
        return answer
    if not made["topic"]:
        raise CannotRehearse("No stage sets the topic of the record.")
    message = _message(made)
    _keep(rehearsal, row, message)
    through = _through(row.connector, told.stages[index:])
    answer.produced = ProducedDocument(
        topic=made["topic"], partition=made["partition"], digest=message.digest, through=through
    )
    return answer


def _drafts(author: User) -> QuerySet[Fix]:
    """Return the author's drafts of records with unknown bytes.

    There are few of them, because bulk fixes do not make such drafts.
    """
    return Fix.objects.filter(author=author, bulk__isnull=True, dead_letter__original="unknown")


def _polled(row: DeadLetter, facts: DeadLetterFacts, value: str | None) -> dict[str, Any]:
    """Return the record as the failed stage received it, with another value if one is given.

    Raises CannotRehearse.
    """
    fields = decode(message_of_letter(row).value).fields.get("record")
    if facts.source is None or facts.index is None or not isinstance(fields, dict):
        raise CannotRehearse("This record was not read by a source connector, or its dead letter does not say so.")
    if "value" not in fields:
        text = "The dead letter does not contain the record (errors.deadletterqueue.include.messages)"
        raise CannotRehearse(f"{text}. Correct the record in its source.")
    given = _typed(fields["value"])
    if value is not None:
        given = {**given, "schema": given["schema"] or "STRING", "value": value}
    headers = fields.get("headers")
    polled = {
        "topic": str(fields.get("topic") or ""),
        "stage": facts.index,
        "key": _typed(fields.get("key")),
        "value": given,
        "headers": [[str(one.get("key")), _typed(one)] for one in headers] if isinstance(headers, list) else [],
        "partition": fields.get("partition"),
        "timestamp": fields.get("timestamp"),
    }
    if len(given["value"] or "") > MAX_BYTES:
        raise CannotRehearse(f"The value is larger than {MAX_BYTES} bytes, the limit of a rehearsal.")
    return polled


def _typed(told: Any) -> dict[str, str | None]:
    if not isinstance(told, dict):
        return {"schema": None, "value": None}
    value = told.get("value", told.get("object"))
    schema = told.get("schema")
    return {"schema": schema if isinstance(schema, str) else None, "value": value if isinstance(value, str) else None}


def _message(made: Mapping[str, Any]) -> Outgoing:
    headers = tuple((str(name), _bytes(value)) for name, value in made["headers"])
    return Outgoing(_bytes(made["key"]), _bytes(made["value"]), headers)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _keep(rehearsal: Rehearsal, row: DeadLetter, message: Outgoing) -> None:
    """Store the message as the author's draft of the record. Raises CannotRehearse."""
    author, now = rehearsal.author, timezone.now()
    if author is None:
        raise CannotRehearse("The account that requested the rehearsal no longer exists.")
    values = {
        "key": message.key, "value": message.value, "headers": pack_headers(message.headers),
        "digest": message.digest, "updated_at": now,
    }  # fmt: skip
    with transaction.atomic():
        if row.pk not in erased_records.lock_unerased([row.pk]):
            raise CannotRehearse("The record was deleted, or its content was erased.")
        draft, _ = Fix.objects.update_or_create(
            dead_letter=row, author=author, defaults=values, create_defaults={**values, "created_at": now}
        )
        detail = {"dead_letter": row.pk, "after": message.digest, "through": row.connector}
        record(author, "saved draft", "fix", str(draft), detail)


def _through(connector: str, left: Sequence[Mapping[str, str]]) -> str:
    """Describe the remaining stages in words."""
    transforms = [stage["name"] for stage in left if stage["type"] == StageType.TRANSFORMATION]
    converters = dict.fromkeys(stage["class"].rpartition(".")[2] for stage in left if stage["type"] in CONVERTERS)
    parts = [f"transform{'s' if len(transforms) > 1 else ''} {', '.join(transforms)}"] if transforms else []
    parts += [", ".join(converters)] if converters else []
    return f"through the remaining stages of {connector}: {'; '.join(parts) or 'only the producer'}"
