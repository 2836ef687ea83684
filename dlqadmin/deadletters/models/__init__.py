"""The tables of the index, a file each for what belongs together."""

from dlqadmin.deadletters.models.counters import CountDay, CountHour, IndexPosition, SavedSearch, TextBatch
from dlqadmin.deadletters.models.groups import (
    Fingerprint,
    Group,
    GroupActivity,
    GroupStatus,
    Regrouping,
    RegroupingMove,
)
from dlqadmin.deadletters.models.letters import (
    DeadLetter,
    DeadLetterBody,
    DeadLetterText,
    Original,
    ReplayMark,
    ReplayState,
    Trace,
)

__all__ = [
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
    "Trace",
]
