"""The tables of fixes and replays, one module per topic."""

from dlqadmin.replays.models.disposals import Disposal, DisposalAct, DisposalKind
from dlqadmin.replays.models.drafts import (
    BulkFix,
    BulkFixKind,
    BulkFixStatus,
    Fix,
    FixProgram,
    Rehearsal,
    ReplacedDraft,
)
from dlqadmin.replays.models.items import (
    ItemCount,
    ItemOutcome,
    ItemPayload,
    ItemState,
    LedgerEntry,
    ReplayItem,
    ReplaySecond,
)
from dlqadmin.replays.models.outcomes import GroupHistory, IndexGoal, OutcomeReport, WatchPosition
from dlqadmin.replays.models.replays import STAND_IN, Chunk, ChunkState, OrderGuard, Replay, ReplayEvent, ReplayStatus
from dlqadmin.replays.models.selections import Selection, SelectionSource

__all__ = [
    "STAND_IN",
    "BulkFix", "BulkFixKind", "BulkFixStatus", "Chunk", "ChunkState", "Disposal", "DisposalAct", "DisposalKind",
    "Fix", "FixProgram", "GroupHistory", "IndexGoal", "ItemCount", "ItemOutcome", "ItemPayload", "ItemState",
    "LedgerEntry", "OrderGuard", "OutcomeReport", "Rehearsal", "ReplacedDraft", "Replay", "ReplayEvent", "ReplayItem",
    "ReplaySecond", "ReplayStatus", "Selection", "SelectionSource",
    "WatchPosition",
]  # fmt: skip
