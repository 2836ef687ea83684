"""Which records of a selection are sent, and why each of the others is not. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from dlqadmin.deadletters.models import Original
from dlqadmin.replays.models import Disposal, OrderGuard, Replay, ReplayItem
from dlqadmin.replays.planning.options import Options
from dlqadmin.replays.planning.ordering import Behind
from dlqadmin.replays.planning.targets import Target, Targets
from dlqadmin.replays.sending import ledger
from dlqadmin.replays.sending.messages import Outgoing

FRAME_BYTES = 100  # a batch's and a record's frame around key, value and headers
MAX_ATTEMPTS = 5
SHORT = 200  # characters of a person's reason


class Candidate(msgspec.Struct, frozen=True):
    """One dead letter of a selection. `size` in bytes as sent; None when the bytes are nowhere to be had.

    `edited` is the message in place of the original; `rekeyed` when its key is another one. `through` says by which
    stages a source's record came to be that message.
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

    @property
    def tombstone(self) -> bool:
        """Is the value that is sent null?"""
        return self.value_size is None if self.edited is None else self.edited.value is None


class Known(msgspec.Struct, frozen=True):
    """What is known of some candidates: the ledger's owners, how often each was sent, and who decided otherwise.

    `claimants` are the replays that were run and have not come to them yet.
    """

    owners: Mapping[ledger.Pair, ReplayItem] = {}
    claimants: Mapping[ledger.Pair, Replay] = {}
    tries: Mapping[ledger.Pair, int] = {}
    disposed: Mapping[int, Disposal] = {}

    @property
    def holders(self) -> dict[str, int]:
        """The replays that may keep candidates from being sent, by what is said of each then."""
        said = {said_of(owner): owner.replay_id for owner in self.owners.values()}
        return said | {_about_to(replay): replay.pk for replay in set(self.claimants.values())}


class Decided(msgspec.Struct, frozen=True):
    """A candidate, the partition it goes to (None: by its key), and why it is skipped, if it is.

    `again` when it was sent before; `newer` when its origin topic has a newer record of its key.
    """

    candidate: Candidate
    partition: int | None = None
    reason: str = ""
    evidence: str = ""
    attempt: int = 1
    again: bool = False
    newer: bool = False


def decide(one: Candidate, options: Options, targets: Targets, behind: Behind, known: Known) -> Decided:
    """Send it, or leave it out. What only all of the selection tells (`same_lineage`, `superseded`) comes later."""
    pair = (one.lineage, one.target)
    attempt, owner = 1 + known.tries.get(pair, 0), known.owners.get(pair)
    newer = _newer(one, behind) if options.home else None
    reason, evidence = (
        _disposed(known.disposed.get(one.dead_letter))
        or _hindrance(one, targets)
        or _sent(owner, known.claimants.get(pair), attempt, options)
        or _outdated(one, newer, options)
        or ("", "")
    )
    partition = None if reason else _partition(one, targets.by_name[one.target], options)
    return Decided(one, partition, reason, evidence, attempt, owner is not None, newer is not None)


def said_of(owner: ReplayItem) -> str:
    """By which replay, whose and when, a record was sent, or is about to be."""
    if owner.sent_at is None:
        return _about_to(owner.replay)
    began = owner.replay.started_at or owner.sent_at  # one time for all records of a replay
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


def _hindrance(one: Candidate, targets: Targets) -> tuple[str, str] | None:
    """Why the record can't be sent: a reason, and a sentence."""
    if one.size is None:
        if one.original == Original.EXPIRED:
            return "expired", "the original bytes are gone from the origin topic"
        return "unknown_bytes", "the original bytes are not known"
    if not one.target:
        return "no_target", "the dead letter does not say from which topic it came"
    target = targets.by_name[one.target]
    if target.forbidden:
        return "forbidden_target", f"{one.target} {target.forbidden}: replays don't write there"
    if targets.kafka or target.made:
        return None
    if target.partitions is None:
        return "no_target", f"there is no topic {one.target}"
    if target.limit_bytes is not None and one.size + FRAME_BYTES > target.limit_bytes:
        return "oversize", f"{one.size} B; {one.target} takes {target.limit_bytes} B"
    return None


def _sent(owner: ReplayItem | None, claimant: Replay | None, attempt: int, options: Options) -> tuple[str, str] | None:
    if owner is not None and not ledger.is_free(owner, resend=options.resend):
        return "already_sent", said_of(owner)
    if claimant is not None and (owner is None or ledger.is_free(owner, resend=claimant.resend)):
        return "already_sent", _about_to(claimant)
    if attempt > MAX_ATTEMPTS and not options.resend:
        return "too_many_attempts", f"it was sent {attempt - 1} times, and failed each time"
    return None


def _newer(one: Candidate, behind: Behind) -> int | None:
    """Where a newer record of the same key was seen; of an edited key nothing is said."""
    if one.key_hash is None or one.rekeyed or one.origin_partition is None or one.origin_offset is None:
        return None
    place, offset = (one.origin_topic, one.origin_partition), one.origin_offset
    topic, partition, number = one.lineage.rsplit("/", 2)
    if (topic, int(partition)) == place:  # a record that was sent again is as old as it was the first time
        offset = int(number)
    return behind.newer(place, offset, one.key_hash, one.lineage)


def _outdated(one: Candidate, newer: int | None, options: Options) -> tuple[str, str] | None:
    if newer is None or options.order == OrderGuard.ANYWAY:
        return None
    return "newer_exists", f"{one.origin_topic} / {one.origin_partition} / {newer} has the same key and is newer"


def _partition(one: Candidate, target: Target, options: Options) -> int | None:
    """Where it came from, if it goes back there and its key is the same; else its key decides."""
    number = one.origin_partition
    if number is None or one.rekeyed or one.origin_topic != one.target or options.target_cluster:
        return None
    return number if target.partitions is None or number < target.partitions else None
