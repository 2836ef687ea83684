"""The facts that outcomes are decided from, and the decision."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from dlqadmin.replays.models import ItemState


class LetterEvidence(msgspec.Struct, frozen=True):
    """A dead letter that may belong to a record: its id in the index, its name and its error.

    `why` is the start of a sentence that names the error.
    """

    id: int
    name: str
    why: str = ""


class CommitHistory(msgspec.Struct, frozen=True):
    """A foreign group's commits in one partition, as the looks at it show them.

    - `since`: the first look since which members made every commit that was seen.
    - `committed_then`: the committed offset at that look, None if there was none.
    - `trusted_from`: members have read the records that were sent since then and were committed past at that look. None
      if nothing shows that a member made the commit.
    - `previous_look`: the last look before `since`, None if there was none.
    """

    since: datetime
    committed_then: int | None = None
    trusted_from: datetime | None = None
    previous_look: datetime | None = None


class Observed(msgspec.Struct, frozen=True):
    """Facts about a foreign consumer group for one partition, as Kafka tells them.

    - `there`: the group exists.
    - `kind`: as in `GroupOnTopic`.
    - `owned`: a member owns the partition now, or will own it after the current rebalance.
    - `commits`: the group has committed offsets in any partition of the topic.
    - `history`: the commits since the first look, None before it.
    - `unwatched`: why its retry topics can't be followed, as a sentence. Empty if it has none, or if they can.
    - `retrying`: the retry topics that still hold records, "" if there are none.
    - `settle`: how long to wait for dead letters after the commit before the record counts as passed.
    - `undescribed`: why Kafka did not describe the group. Then nothing else is known.
    """

    there: bool = True
    kind: str = "classic"
    owned: bool = True
    commits: bool = True
    history: CommitHistory | None = None
    unwatched: str = ""
    retrying: str = ""
    settle: timedelta = timedelta(seconds=60)
    undescribed: str = ""


class ReaderState(msgspec.Struct, frozen=True):
    """The current state of the reader whose outcome counts: a connector, a Spark query or a consumer group.

    - `stopped`: why nothing reads the partition. Empty if it is read.
    - `dead_letters`: its dead letter topic, empty if it has none.
    - `unseen`: why its dead letters can't be followed.
    - `behind`: number of dead letters that the index has not read, up to an end that was seen after the commit.
    - `index_at`: when the index last reported progress on that topic.
    - `observed`: set only for a foreign group, which sends no reports.
    - `is_query`: a Spark query, which commits no offsets to Kafka. It has passed the records that it has reported.
    """

    name: str
    stopped: str = ""
    parked: bool = False
    committed: int | None = None
    lag: int = 0
    dead_letters: str = ""
    unseen: str = ""
    behind: int = 0
    index_at: datetime | None = None
    observed: Observed | None = None
    is_query: bool = False


class ItemFacts(msgspec.Struct, frozen=True):
    """All known facts about one sent item.

    They are collected in this order: committed offset, report, topic ends, index.

    - `offset`: None if the coordinates were lost.
    - `begin`: the first offset that the partition still has.
    - `readable`: whether the record is still at its offset.
    - `reports`: whether the engine's reports can be read.
    - `reporting`: whether any report came from the same reader and partition since the item was sent.
    - `placed`: a dead letter that matches only by coordinates.
    - `indexing_since`: when the wait for the index began.
    - `settling_since`: for a foreign group, when the commit past the record was seen without a dead letter.
    - `established`: an earlier look saw that a member had committed past the record while it could be read.
    - `elsewhere`: the name of another cluster that the item was sent to.
    - `silent`: which part of Kafka did not respond, as a clause. Then nothing else is known.
    """

    sent_at: datetime
    offset: int | None
    group: ReaderState | None = None
    recreated: bool = False
    begin: int = 0
    readable: bool = True
    reports: bool = True
    reporting: bool = True
    report: str | None = None
    exact: LetterEvidence | None = None
    placed: LetterEvidence | None = None
    attributed: LetterEvidence | None = None
    downstream: LetterEvidence | None = None
    possible: LetterEvidence | None = None
    indexing_since: datetime | None = None
    settling_since: datetime | None = None
    established: bool = False
    elsewhere: str = ""
    silent: str = ""


class Decision(msgspec.Struct, frozen=True):
    """A state, its reason, and the evidence as a sentence."""

    state: ItemState
    reason: str = ""
    evidence: str = ""
    refailure: int | None = None
