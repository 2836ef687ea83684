"""The decision which records of a selection are sent, and why the others are left out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from dlqadmin.deadletters.models import Original
from dlqadmin.replays.items import lineage_claims
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import Disposal, OrderGuard, Replay, ReplayItem
from dlqadmin.replays.plans.newer_records import Behind
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.plans.targets import Targets, TargetTopic

FRAME_BYTES = 100  # overhead of batch and record headers around key, value and record headers
MAX_ATTEMPTS = 5
SHORT = 200  # characters of a person's reason


class Candidate(msgspec.Struct, frozen=True):
    """One dead letter of a selection.

    - `size`: bytes as sent, None if the bytes are lost.
    - `edited`: the message that replaces the original.
    - `rekeyed`: the edited message has another key.
    - `through`: the stages that turned a source's record into the message.
    - `refused`: why its bytes were not fetched.
    - `authors`: ids of the people who edited it.
    - `null_column`: the column that must not be null according to its error.
    - `failed_at`: when it failed.
    - `masked`: the edited message holds the text of a mask, such as `***`, in place of a real value.
    - `ruled`: a masking rule is for its topics.
    """

    dead_letter: int
    lineage: str
    target: str
    connector: str
    original: str
    origin_topic: str
    origin_partition: int | None
    origin_offset: int | None
    timestamp: datetime | None
    key_hash: int | None
    size: int | None
    value_size: int | None
    stripped: tuple[str, ...]
    edited: Outgoing | None = None
    digest: str = ""
    rekeyed: bool = False
    through: str = ""
    refused: str = ""
    authors: frozenset[int] = frozenset()
    null_column: str = ""
    failed_at: datetime | None = None
    masked: bool = False
    ruled: bool = False

    @property
    def tombstone(self) -> bool:
        """True if the value that is sent is null."""
        return self.value_size is None if self.edited is None else self.edited.value is None


class CandidateFacts(msgspec.Struct, frozen=True):
    """Facts about some candidates: claims, number of attempts, and disposals.

    `owners` are the items that hold the claims. `claimants` are started replays that will claim the candidates later.
    """

    owners: Mapping[lineage_claims.Pair, ReplayItem] = {}
    claimants: Mapping[lineage_claims.Pair, Replay] = {}
    tries: Mapping[lineage_claims.Pair, int] = {}
    disposed: Mapping[int, Disposal] = {}

    @property
    def holders(self) -> dict[str, int]:
        """The replays that may block candidates, by the evidence text that names them."""
        said = {said_of(owner): owner.replay_id for owner in self.owners.values()}
        return said | {_about_to(replay): replay.pk for replay in set(self.claimants.values())}


class Decided(msgspec.Struct, frozen=True):
    """A candidate with its partition, or with the reason why it is skipped.

    `partition` None: chosen by key. `again`: it was sent before. `newer`: its origin topic has a newer record of its
    key.
    """

    candidate: Candidate
    partition: int | None = None
    reason: str = ""
    evidence: str = ""
    attempt: int = 1
    again: bool = False
    newer: bool = False


def decide(one: Candidate, options: Options, targets: Targets, behind: Behind, known: CandidateFacts) -> Decided:
    """Decide whether the record is sent.

    The reasons `same_lineage` and `superseded` need the whole selection and are set later.
    """
    pair = (one.lineage, one.target)
    attempt, owner = 1 + known.tries.get(pair, 0), known.owners.get(pair)
    newer = _newer(one, behind) if options.home else None
    reason, evidence = (
        _disposed(known.disposed.get(one.dead_letter))
        or _erased(one)
        or _hindrance(one, targets)
        or _sent(owner, known.claimants.get(pair), attempt, options)
        or _outdated(one, newer, options)
        or ("", "")
    )
    partition = None if reason else _partition(one, targets.by_name[one.target], options)
    return Decided(one, partition, reason, evidence, attempt, owner is not None, newer is not None)


def said_of(owner: ReplayItem) -> str:
    """Return who sent a record, in which replay and when, or who is about to."""
    if owner.sent_at is None:
        return _about_to(owner.replay)
    # The same time for all records of a replay, so that equal texts can be counted.
    began = owner.replay.started_at or owner.sent_at
    return f"sent by {owner.replay} ({_who(owner.replay)}, {began:%d %b %H:%M} UTC)"


def _about_to(replay: Replay) -> str:
    return f"in {replay} ({_who(replay)}), which is {replay.status}"


def _who(replay: Replay) -> str:
    return replay.started_by.get_username() if replay.started_by else "somebody"


def _disposed(disposal: Disposal | None) -> tuple[str, str] | None:
    if disposal is None:
        return None
    who = disposal.actor.get_username() if disposal.actor else "somebody"
    return disposal.kind, f"{disposal.kind} by {who}: {disposal.reason[:SHORT]}"


def _erased(one: Candidate) -> tuple[str, str] | None:
    """Return the reason for a record without content, even if a draft or a corrected record is left of it."""
    return ("erased", "an administrator erased its content") if one.original == Original.ERASED else None


def _hindrance(one: Candidate, targets: Targets) -> tuple[str, str] | None:
    """Return why the record can't be sent, as a reason and a sentence. None if it can."""
    if one.size is None:
        return _without_bytes(one)
    if not one.target:
        return "no_target", "the dead letter does not name its origin topic"
    if one.masked:
        return "masked", "its draft has the text of a mask, such as ***, in place of a value; discard or correct it"
    target = targets.by_name[one.target]
    if target.forbidden:
        return "forbidden_target", f"{one.target} {target.forbidden}, so replays can't write to it"
    if targets.kafka or target.made:
        return None
    if target.partitions is None:
        return "no_target", f"topic {one.target} does not exist"
    if target.limit_bytes is not None and one.size + FRAME_BYTES > target.limit_bytes:
        return "oversize", f"{one.size} B; {one.target} allows {target.limit_bytes} B"
    return None


def _without_bytes(one: Candidate) -> tuple[str, str]:
    if one.original == Original.EXPIRED:
        return "expired", "the origin topic no longer contains the original bytes"
    if one.original == Original.FORBIDDEN:
        return "not_allowed", f"not fetched: not allowed ({one.refused})"
    return "unknown_bytes", "the original bytes are unknown"


def _sent(owner: ReplayItem | None, claimant: Replay | None, attempt: int, options: Options) -> tuple[str, str] | None:
    if owner is not None and not lineage_claims.is_free(owner, resend=options.resend):
        return "already_sent", said_of(owner)
    # The claimant will get the claim, unless the present owner keeps it.
    if claimant is not None and (owner is None or lineage_claims.is_free(owner, resend=claimant.resend)):
        return "already_sent", _about_to(claimant)
    if attempt > MAX_ATTEMPTS and not options.resend:
        return "too_many_attempts", f"it was sent {attempt - 1} times, and failed each time"
    return None


def _newer(one: Candidate, behind: Behind) -> int | None:
    """Return the offset of a newer record with the same key, None if none was seen.

    Edited keys are not checked.
    """
    if one.key_hash is None or one.rekeyed or one.origin_partition is None or one.origin_offset is None:
        return None
    place, offset = (one.origin_topic, one.origin_partition), one.origin_offset
    topic, partition, number = one.lineage.rsplit("/", 2)
    if (topic, int(partition)) == place:  # a replayed record is as old as its first origin
        offset = int(number)
    return behind.newer(place, offset, one.key_hash, one.lineage)


def _outdated(one: Candidate, newer: int | None, options: Options) -> tuple[str, str] | None:
    if newer is None or options.order == OrderGuard.ANYWAY:
        return None
    return "newer_exists", f"{one.origin_topic} / {one.origin_partition} / {newer} has the same key and is newer"


def _partition(one: Candidate, target: TargetTopic, options: Options) -> int | None:
    """Return the original partition if the record goes back to its topic with the same key.

    Otherwise return None: the key decides.
    """
    number = one.origin_partition
    if number is None or one.rekeyed or one.origin_topic != one.target or options.is_abroad:
        return None
    return number if target.partitions is None or number < target.partitions else None
