"""The API documents of lists and of the query bar."""

from __future__ import annotations

import msgspec

from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import DeadLetter, ReplayState, SavedSearch, WorkState
from dlqadmin.deadletters.payloads import RecordReader, quoting_text
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso


class GroupLink(Document):
    """A group's id and title."""

    id: int
    title: str


class WorkCounts(Document):
    """The number of dead letters in the index, by the work that is left on them."""

    open: int = 0
    replaying: int = 0
    passed: int = 0
    set_aside: int = 0


class DeadLetterRow(Document):
    """A dead letter in a list. `withheld` is true if the reader may not see content, such as the key."""

    id: int
    failed_at: Time
    cluster: str
    topic: str
    partition: int
    offset: int
    origin_topic: str | None
    origin_partition: int | None
    origin_offset: int | None
    key_text: str | None
    withheld: bool
    stage: str
    exception_class: str
    exception_full: str
    message: str
    connector: str | None
    task_id: str | None
    group: GroupLink
    replay_state: ReplayState
    work_state: WorkState
    readable: bool
    value_size: int | None


class MatchTotal(Document):
    """The number of matches. If it is not exact, it is a lower bound."""

    count: int
    exact: bool


class QueryAlternative(Document):
    """A wider query, and the number of its matches. If the count is not exact, it is a lower bound."""

    query: str
    count: int
    exact: bool


class AbsentMember(Document):
    """A member or header of a query that none of the searched records has, and a similar one that records have."""

    name: str
    similar: str | None


class DeadLetterPage(Document):
    """Matching dead letters, newest first.

    `partial` is true if a time limit ended the search. `searched` is the number of records whose bytes were read,
    and null if none had to be. `text_behind` is the number of dead letters that words do not find yet, and null
    if the query has no words. `alternative` is a wider query, if nothing matches a key or word. `absent` are the
    members of the query that no searched record has.
    """

    results: list[DeadLetterRow]
    next: str | None
    total: MatchTotal
    took_ms: int
    ran_at: Time
    start: Time = msgspec.field(name="from")
    to: Time
    partial: bool
    searched: int | None
    text_behind: int | None
    alternative: QueryAlternative | None
    absent: list[AbsentMember]


class FacetValue(Document):
    """A value of a field, and the number of dead letters with it."""

    value: str
    label: str
    count: int


class FacetsDocument(Document):
    """Counts of values by field.

    `sampled` names the fields whose values were counted among the newest `of` matches only. `partial` is true if a
    time limit left some of those uncounted.
    """

    facets: dict[str, list[FacetValue]]
    exact: bool
    of: int | None
    sampled: list[str]
    partial: bool
    took_ms: int


class HistogramSeries(Document):
    """The counts of one label, by bucket."""

    key: str
    total: int
    points: list[int]


class HistogramDocument(Document):
    """Counts over time. `from` is the start of the first bucket."""

    start: Time = msgspec.field(name="from")
    to: Time
    bucket_ms: int
    series: list[HistogramSeries]
    exact: bool


class QuerySuggestion(Document):
    """A completion of a query, and its explanation."""

    text: str
    label: str


class QueryCompletion(Document):
    """Suggestions, and the range of characters that they replace."""

    start: int
    end: int
    items: list[QuerySuggestion]


class NeighbourIds(Document):
    """The ids of the dead letters before and after this one in the filtered list."""

    previous: int | None
    next: int | None


class SavedSearchDocument(Document):
    """A saved search. `mine` is true for the reader's own."""

    id: int
    name: str
    query: str
    shared: bool
    owner: str
    mine: bool
    created_at: Time


class SavedSearchList(Document):
    """Saved searches, by name."""

    results: list[SavedSearchDocument]


def row_document(row: DeadLetter, reader: RecordReader) -> DeadLetterRow:
    """Return a dead letter as a list shows it."""
    fingerprint = row.fingerprint
    return DeadLetterRow(
        id=row.pk,
        failed_at=iso(row.failed_at),
        cluster=row.cluster,
        topic=row.topic,
        partition=row.partition,
        offset=row.offset,
        origin_topic=row.origin_topic or None,
        origin_partition=row.origin_partition,
        origin_offset=row.origin_offset,
        key_text=reader.key_text(row.key_text),
        withheld=not reader.may_read,
        stage=fingerprint.stage,
        exception_class=short(fingerprint.exception_class),
        exception_full=fingerprint.exception_class,
        message=reader.text(row.message),
        connector=row.connector or None,
        task_id=row.task_id or None,
        group=GroupLink(id=fingerprint.group_id, title=quoting_text(fingerprint.group.title)),
        replay_state=ReplayState(row.replay_state),
        work_state=row.work_state,
        readable=row.readable,
        value_size=row.value_size,
    )


def saved_document(row: SavedSearch, reader: int | None) -> SavedSearchDocument:
    """Return a saved search as its reader sees it."""
    return SavedSearchDocument(
        id=row.pk,
        name=row.name,
        query=row.query,
        shared=row.shared,
        owner=row.owner.get_username(),
        mine=row.owner_id == reader,
        created_at=iso(row.created_at),
    )
