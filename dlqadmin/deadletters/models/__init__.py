"""The tables of the index, in one module for each subject."""

from dlqadmin.deadletters.models.counters import (
    CountDay,
    CountHour,
    IndexPosition,
    SavedSearch,
    TextBatch,
    WorkChange,
)
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
    Original,
    ReplayMark,
    ReplayState,
    Trace,
    WorkState,
)
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
    "Fingerprint",
    "Group",
    "GroupActivity",
    "GroupStatus",
    "IndexPosition",
    "Original",
    "Regrouping",
    "RegroupingMove",
    "ReplayMark",
    "ReplayState",
    "SavedSearch",
    "TextBatch",
    "TopicRule",
    "Trace",
    "WorkChange",
    "WorkState",
]
