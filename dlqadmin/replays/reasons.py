"""The reasons of item states that sending and watching set."""

from enum import StrEnum


class Reason(StrEnum):
    """The reason that qualifies a state. The first four belong to `sent`: the outcome is still open."""

    WAITING = "waiting"
    IN_RETRY = "in_retry"
    INDEXING = "indexing"
    SETTLING = "settling"
    OBSERVED = "observed"
    FILTERED = "filtered"
    SKIPPED = "skipped"
    NO_GROUP = "no_group"
    GROUP_UNKNOWN = "group_unknown"
    GROUP_EMPTY = "group_empty"
    NO_COMMITTED_OFFSET = "no_committed_offset"
    OFFSET_MOVED_BY_HAND = "offset_moved_by_hand"
    EXTERNAL_OFFSETS = "external_offsets"
    SHARE_GROUP = "share_group"
    NO_REPORTS = "no_reports"
    NO_DEAD_LETTER_PATH = "no_dead_letter_path"
    RETRY_TOPICS_UNWATCHED = "retry_topics_unwatched"
    EXPIRED_OR_COMPACTED = "expired_or_compacted"
    TOPIC_RECREATED = "topic_recreated"
    INDEX_STOPPED = "index_stopped"
    POSSIBLE_MATCH = "possible_match"
    COORDINATES_LOST = "coordinates_lost"
    WATCH_TIMEOUT = "watch_timeout"


OF_OTHER_STATES = frozenset(
    {
        Reason.WAITING,
        Reason.IN_RETRY,
        Reason.INDEXING,
        Reason.SETTLING,
        Reason.OBSERVED,
        Reason.FILTERED,
        Reason.SKIPPED,
    }
)
WHY_UNKNOWN = frozenset(Reason) - OF_OTHER_STATES
