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
    CLUSTER_UNWATCHED = "cluster_unwatched"
    GROUP_UNKNOWN = "group_unknown"
    GROUP_EMPTY = "group_empty"
    NO_COMMITTED_OFFSET = "no_committed_offset"
    OFFSET_MOVED_BY_HAND = "offset_moved_by_hand"
    NOT_OBSERVED = "not_observed"
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
# A commit past the record has two of these explanations, and neither is proven. Later looks can't tell more.
UNPROVEN_COMMIT = frozenset({Reason.OFFSET_MOVED_BY_HAND, Reason.NOT_OBSERVED})


def remedy(state: str, reason: str) -> str:
    """Return the act that makes an unknown outcome known, "" for other states and reasons."""
    return _REMEDIES.get(reason, "") if state == "unknown" else ""


# The act that makes an unknown outcome known, or prevents the next one. Imperative sentences.
_REMEDIES: dict[str, str] = {
    Reason.NO_GROUP: "Start a consumer of the target topic, or choose a group for the replay.",
    Reason.CLUSTER_UNWATCHED: "Enable the cluster and name its dead letter topics, in Settings → Clusters or in "
    "OTHER_CLUSTERS. Within 24 hours of sending, the outcome follows.",
    Reason.GROUP_UNKNOWN: "Allow dlqadmin to describe the group: DESCRIBE on Group in Kafka's ACLs.",
    Reason.GROUP_EMPTY: "Start the reader. The outcome follows once it has read the record.",
    Reason.NO_COMMITTED_OFFSET: "Wait until the group commits its first offset in the partition.",
    Reason.OFFSET_MOVED_BY_HAND: "See whether the group has processed the record. If not, replay it again.",
    Reason.NOT_OBSERVED: "See whether the group has processed the record. If not, replay it again.",
    Reason.EXTERNAL_OFFSETS: "Ask the reader's own records. Its offsets are not in Kafka.",
    Reason.SHARE_GROUP: "Compare the record's offset with the group's start offset, which `kafka-share-groups.sh "
    "--describe --offsets` shows. The group is done with all earlier records.",
    Reason.NO_REPORTS: "Allow dlqadmin to read the engine's outcome topic, or ask the connector's target.",
    Reason.NO_DEAD_LETTER_PATH: "Add the dead letter topic of the group in Settings → Clusters.",
    Reason.RETRY_TOPICS_UNWATCHED: "Start the group that reads the retry topics, or allow dlqadmin to describe it.",
    Reason.EXPIRED_OR_COMPACTED: "Replay the record again while the reader runs, or raise the topic's retention.",
    Reason.TOPIC_RECREATED: "Replay the record again to the new topic.",
    Reason.INDEX_STOPPED: "Start the indexer. The outcome follows once it has read the dead letters.",
    Reason.POSSIBLE_MATCH: "Compare the record with the dead letter that has the same key.",
    Reason.COORDINATES_LOST: "Ask the reader's own records. The offset of the sent record is unknown.",
    Reason.WATCH_TIMEOUT: "Look at the lag of the reader, then replay the record again.",
}
