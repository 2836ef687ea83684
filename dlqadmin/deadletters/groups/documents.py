"""The API documents of groups."""

from __future__ import annotations

import msgspec

from dlqadmin.deadletters.group_states import GroupState
from dlqadmin.deadletters.groups.common_values import Trait
from dlqadmin.deadletters.models import Regrouping
from dlqadmin.deadletters.search.documents import GroupLink, WorkCounts
from dlqadmin.rest.documents import Document, Time


class SparklineDocument(Document):
    """Counts of a group over time. `from` is the start of the first bucket."""

    start: Time = msgspec.field(name="from")
    bucket_ms: int
    points: list[int]


class MuteDocument(Document):
    """A mute: its start, the conditions that end it, and the events `seen` since."""

    at: Time | None
    until: Time | None
    events: int | None
    rate: int | None
    seen: int


class GroupDocument(Document):
    """A group with its counts in a time range.

    - `origin` is the connector or origin topic whose failures it has, and empty if groups do not tell them apart.
    - `now` counts the last five minutes. `now_exact` and `keys_exact` are false if the count is a lower bound.
    - `work` counts all of its dead letters in the index, whatever the time range and the filters.
    - `all_closed` is true if no work is left and records passed, so that the group can be resolved.
    """

    id: int
    title: str
    exception_class: str
    stage: str
    message: str
    origin: str
    fingerprint_count: int
    state: GroupState
    mute: MuteDocument | None
    events: int
    events_24h: int
    now: int
    now_exact: bool
    keys: int
    keys_exact: bool
    first_seen: Time
    last_seen: Time
    owner: str | None
    team: str | None
    connectors: list[str]
    topics: list[str]
    sparkline: SparklineDocument
    work: WorkCounts
    all_closed: bool


class TabCounts(Document):
    """The number of groups on each tab."""

    unresolved: int
    new: int
    regressed: int
    escalating: int
    muted: int
    resolved: int


class GroupPage(Document):
    """Groups, and the number of groups on each tab.

    `of` is the number of matching dead letters that were looked at, and null if counters answered. Without
    `exact` there may be more groups, and counts are lower bounds. `partial` is true if a time limit ended the
    search.
    """

    results: list[GroupDocument]
    next: str | None
    counts: TabCounts
    total_records: int
    took_ms: int
    exact: bool
    of: int | None
    partial: bool


class HoleDocument(Document):
    """A variable part of a message, with an example."""

    name: str
    example: str


class FingerprintDocument(Document):
    """A fingerprint, with its events in the time range."""

    id: int
    digest: str
    exception_class: str
    stage: str
    message: str
    holes: list[HoleDocument]
    frame: str
    name: str
    origin: str
    events: int


class RegroupingDocument(Document):
    """A merge or a split."""

    id: int
    kind: Regrouping.Kind
    at: Time
    actor: str
    reason: str
    fingerprints: int
    sources: list[GroupLink]
    targets: list[GroupLink]
    undone: bool


class ActivityDocument(Document):
    """An event in the history of a group."""

    at: Time
    actor: str
    kind: str
    text: str


class IssueDocument(Document):
    """A link to an issue in a tracker."""

    id: int
    name: str
    url: str
    actor: str
    at: Time


class GroupDetail(GroupDocument):
    """A group with its fingerprints, its history, and links to issues."""

    issues: list[IssueDocument]
    fingerprints: list[FingerprintDocument]
    regroupings: list[RegroupingDocument]
    activity: list[ActivityDocument]


class CommonDocument(Document):
    """The traits of a group's dead letters, strongest first, and the number of dead letters that were compared.

    `withheld` is true if keys, values and headers were not compared, because the reader may not see them.
    """

    traits: list[Trait]
    here: int
    elsewhere: int
    partial: bool
    withheld: bool


class ChangedGroups(Document):
    """The number of changed groups."""

    changed: int


class OwnershipRuleDocument(Document):
    """A rule about the owners of new groups: patterns, empty for any, and either a user or a team."""

    topic: str
    connector: str
    exception: str
    username: str | None
    team: str | None


class OwnershipRules(Document):
    """All rules in order. The first one that matches counts."""

    rules: list[OwnershipRuleDocument]


class OwnershipPreview(Document):
    """For each rule the number of groups that nobody owns and that it would assign."""

    matches: list[int]


class Assignees(Document):
    """The names of people and teams to whom groups can be assigned."""

    people: list[str]
    teams: list[str]


class MentionDocument(Document):
    """A note that mentions the user."""

    group: int
    title: str
    at: Time
    actor: str
    text: str
    seen: bool


class MentionList(Document):
    """The newest notes that mention the user, and the number that the user has not seen."""

    results: list[MentionDocument]
    unseen: int


class TrackerDocument(Document):
    """An issue tracker. `template` is the address of its form for a new issue.

    `channel` is the webhook that creates issues, if there is one.
    """

    id: int
    name: str
    template: str
    channel: int | None
    channel_name: str | None


class TrackerList(Document):
    """All issue trackers, by name."""

    results: list[TrackerDocument]
