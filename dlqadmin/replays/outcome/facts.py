"""The values that outcomes are decided from, and the decision."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from dlqadmin.replays.models import ItemState


class Letter(msgspec.Struct, frozen=True):
    """A dead letter that may be this record's: its id in the index, its name, and what failed, as a sentence's head."""

    id: int
    name: str
    why: str = ""


class Observed(msgspec.Struct, frozen=True):
    """What only the cluster tells of a consumer group that is not the engine's, for one partition.

    `kind` is as `GroupOnTopic` has it; `there` says that the group exists, `owned` that a member has the partition
    now, or will when a rebalance is over, `commits` that the group has committed in any partition of the topic.
    `owned_since` is since when every look saw an owner, `committed_then` what was committed when the first of them
    did. `unwatched` says, as a sentence, why its retry topics can't be followed, `retrying` which of them still hold
    records; both are empty without any. `settle` is how long nothing may come back after it was committed past.
    `undescribed`: nothing of this is known, and why.
    """

    there: bool = True
    kind: str = "classic"
    owned: bool = True
    commits: bool = True
    owned_since: datetime | None = None
    committed_then: int | None = None
    unwatched: str = ""
    retrying: str = ""
    settle: timedelta = timedelta(seconds=60)
    undescribed: str = ""


class Group(msgspec.Struct, frozen=True):
    """The connector, or the consumer group, whose outcome is asked for, as it is now.

    `stopped` says why nothing reads the partition; empty: it is read. `dead_letters` is its dead letter topic,
    empty when it has none, `unseen` why that can't be followed. `behind` counts what the index has not read of it,
    up to an end that was seen after the commit; `index_at` is when the index was last heard of there.
    `observed` is there for a group that reports nothing.
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


class ItemFacts(msgspec.Struct, frozen=True):
    """All that is known of one sent item. Read in this order: committed offset, report, ends, index.

    `offset` is None when the coordinates were lost. `begin` is the first offset that the partition still has,
    `readable` whether the record is still at its place. `reports` says whether the engine's reports can be read,
    `reporting` whether any came from the same reader and partition since it was sent. `placed` is a dead letter
    with no more than its place. `indexing_since` is when the wait for the index began, `settling_since` when the
    record was known to be committed past with no dead letter of it, where nobody reports. `established`: an earlier
    look saw an owner commit past the record while it could be read. `elsewhere` names another cluster it was sent to.
    `silent`: nothing else is known now, since this did not answer, as a clause.
    """

    sent_at: datetime
    offset: int | None
    group: Group | None = None
    recreated: bool = False
    begin: int = 0
    readable: bool = True
    reports: bool = True
    reporting: bool = True
    report: str | None = None
    exact: Letter | None = None
    placed: Letter | None = None
    attributed: Letter | None = None
    downstream: Letter | None = None
    possible: Letter | None = None
    indexing_since: datetime | None = None
    settling_since: datetime | None = None
    established: bool = False
    elsewhere: str = ""
    silent: str = ""


class Decision(msgspec.Struct, frozen=True):
    """A state, what qualifies it, and the sentence that says how it is known."""

    state: ItemState
    reason: str = ""
    evidence: str = ""
    refailure: int | None = None
