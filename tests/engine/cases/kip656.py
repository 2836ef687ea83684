"""The cases of KIP-656's area, MirrorMaker 2, that Kafka's own tests assert, by id: where they stand there."""

from __future__ import annotations

_SOURCE, _STORE, _WRITER = "MirrorSourceConnectorTest", "OffsetSyncStoreTest", "OffsetSyncWriterTest"
_BASE = "MirrorConnectorsIntegrationBaseTest"

CASES = {
    "M-01": f"{_SOURCE}#testExactlyOnceSupport",
    "M-03": f"{_SOURCE}#testAlterOffsetsOffsetValues",
    "M-06": "MirrorSourceTaskTest#testPoll",
    "M-11": f"{_WRITER}#testFirePendingOffsetSyncs",
    "M-12": f"{_WRITER}#testPromoteDelayedOffsetSyncs",
    "M-14": f"{_STORE}#testNoTranslationIfStoreNotStarted",
    "M-15": f"{_STORE}#testNoTranslationIfNoOffsetSync",
    "M-16": f"{_STORE}#testPastOffsetTranslation",
    "M-17": f"{_STORE}#testConsistentlySpacedSyncs",
    "M-19": f"{_STORE}#testDroppedSyncsSpacing",
    "M-21": "MirrorConnectorsIntegrationTransactionsTest#testReplication",
    "M-23": f"{_BASE}#testRestartReplication",
    "M-24": f"{_BASE}#testOffsetTranslationBehindReplicationFlow",
    "M-25": f"{_BASE}#testReplication",
}

NOT_PORTED: dict[str, str] = {}
