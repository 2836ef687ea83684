"""The tables of the index, in one module for each subject."""

from dlqadmin.deadletters.models.counters import (
    CountDay,
    CountHour,
    FingerprintSource,
    IndexPosition,
    SavedSearch,
    TextBatch,
    WorkChange,
)
from dlqadmin.deadletters.models.erased import ErasedKey, ErasedRecord
from dlqadmin.deadletters.models.groups import (
    Fingerprint,
    Group,
    GroupActivity,
    GroupStatus,
    Regrouping,
    RegroupingMove,
)
from dlqadmin.deadletters.models.letters import (
    LOST,
    REPLACED,
    WORK_OF_MARK,
    DeadLetter,
    DeadLetterBody,
    DeadLetterText,
    DecodedValue,
    Original,
    QueuedDecoding,
    ReplayMark,
    ReplayState,
    TimeSource,
    Trace,
    WorkState,
)
from dlqadmin.deadletters.models.mappings import MappingVersion, Reread, RereadState
from dlqadmin.deadletters.models.ownership import GroupIssue, IssueTracker, Mention, OwnershipRule
from dlqadmin.deadletters.models.topics import TopicRule

__all__ = [
    "LOST",
    "REPLACED",
    "WORK_OF_MARK",
    "CountDay",
    "CountHour",
    "DeadLetter",
    "DeadLetterBody",
    "DeadLetterText",
    "DecodedValue",
    "ErasedKey",
    "ErasedRecord",
    "Fingerprint",
    "FingerprintSource",
    "Group",
    "GroupActivity",
    "GroupIssue",
    "GroupStatus",
    "IndexPosition",
    "IssueTracker",
    "MappingVersion",
    "Mention",
    "Original",
    "OwnershipRule",
    "QueuedDecoding",
    "Regrouping",
    "RegroupingMove",
    "ReplayMark",
    "ReplayState",
    "Reread",
    "RereadState",
    "SavedSearch",
    "TextBatch",
    "TimeSource",
    "TopicRule",
    "Trace",
    "WorkChange",
    "WorkState",
]
