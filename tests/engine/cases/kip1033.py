"""The cases of KIP-1033 that Kafka's own tests assert, by id: where they stand there."""

from __future__ import annotations

_RUN = "ProcessingExceptionHandlerIntegrationTest"
_LETTERS = "DeadLetterQueueIntegrationTest"
_NODE = "ProcessorNodeTest"
_READ = "RecordDeserializerTest"
_WRITE = "RecordCollectorTest"
_TASK = "StreamTaskTest"
_CONFIG = "StreamsConfigTest"
_GLOBAL = "GlobalKTableIntegrationTest"

CASES = {
    "S-01": f"{_RUN}#shouldFailWhenProcessingExceptionOccursIfExceptionHandlerReturnsFail",
    "S-02": f"{_RUN}#shouldFailWhenProcessingExceptionOccursFromFlushingCacheIfExceptionHandlerReturnsFail",
    "S-05": f"{_RUN}#shouldStopOnFailedProcessorWhenProcessingExceptionOccursInFailProcessingExceptionHandler",
    "S-06": f"{_RUN}#shouldStopOnFailedProcessorWhenProcessingExceptionOccursInContinueProcessingExceptionHandler",
    "S-07": f"{_RUN}#shouldStopProcessingWhenProcessingExceptionHandlerReturnsNull",
    "S-10": f"{_LETTERS}#shouldSendToDlqAndFailFromDsl",
    "S-12": f"{_LETTERS}#shouldSendToDlqAndFailFromProcessorAPI",
    "S-14": f"{_LETTERS}#shouldSendToDlqAndFailFromDeserializationError",
    "S-16": "ExceptionHandlerUtilsTest#checkDeadLetterQueueRecords",
    "S-18": f"{_NODE}#shouldThrowFailedProcessingExceptionWhenProcessingExceptionHandlerRepliesWithFail",
    "S-19": f"{_NODE}#shouldNotThrowFailedProcessingExceptionWhenProcessingExceptionHandlerRepliesWithContinue",
    "S-20": f"{_NODE}#shouldRethrowExceptionWhenProcessingExceptionHandlerIsNull",
    "S-21": f"{_NODE}#shouldNotHandleInternalExceptionsThrownDuringProcessing",
    "S-22": f"{_NODE}#shouldThrowFailedProcessingExceptionWhenProcessingExceptionHandlerThrowsAnException",
    "S-23": f"{_NODE}#shouldBuildDeadLetterQueueRecordsInDefaultProcessingExceptionHandler",
    "S-24": f"{_NODE}#shouldBuildDeadLetterQueueRecordsInLogAndContinueProcessingExceptionHandler",
    "S-25": f"{_NODE}#testTopologyLevelClassCastException",
    "S-26": f"{_NODE}#shouldFailWithDeadLetterQueueRecords",
    "S-28": f"{_READ}#shouldThrowStreamsExceptionWhenDeserializationFailsAndExceptionHandlerRepliesWithFail",
    "S-29": f"{_READ}#shouldNotThrowStreamsExceptionWhenDeserializationFailsAndExceptionHandlerRepliesWithContinue",
    "S-30": f"{_READ}#shouldFailWhenDeserializationFailsAndExceptionHandlerReturnsNull",
    "S-32": f"{_READ}#shouldBuildDeadLetterQueueRecordsInDefaultDeserializationException",
    "S-34": f"{_WRITE}#shouldThrowTaskMigratedExceptionOnSubsequentSendWhenProducerFencedInCallback",
    "S-35": f"{_WRITE}#shouldThrowStreamsExceptionOnSubsequentSendIfASendFailsWithDefaultExceptionHandler",
    "S-36": f"{_WRITE}#shouldThrowStreamsExceptionOnSubsequentSendIfFatalEvenWithContinueExceptionHandler",
    "S-40": f"{_WRITE}#shouldThrowTaskMigratedExceptionOnSubsequentCloseWhenProducerFencedInCallback",
    "S-41": f"{_WRITE}#shouldThrowStreamsExceptionOnSubsequentCloseIfASendFailsWithDefaultExceptionHandler",
    "S-42": f"{_WRITE}#shouldThrowStreamsExceptionOnSubsequentCloseIfFatalEvenWithContinueExceptionHandler",
    "S-43": f"{_WRITE}#shouldNotThrowStreamsExceptionOnSubsequentCallIfASendFailsWithContinueExceptionHandler",
    "S-45": f"{_WRITE}#shouldThrowStreamsExceptionOnUnknownTopicOrPartitionExceptionWhenExceptionHandlerReturnsFail",
    "S-46": f"{_WRITE}#shouldNotThrowTaskCorruptedExceptionOnUnknownTopicOrPartitionExce"
    "ptionUsingAlwaysContinueExceptionHandler",
    "S-49": f"{_WRITE}#shouldDropRecordExceptionUsingAlwaysContinueExceptionHandler",
    "S-50": f"{_WRITE}#shouldThrowStreamsExceptionWhenKeySerializationFailedAndP"
    "roductionExceptionHandlerRepliesWithFail",
    "S-51": f"{_WRITE}#shouldThrowStreamsExceptionWhenSerializationFailedAndProductionExceptionHandlerReturnsNull",
    "S-52": f"{_WRITE}#shouldThrowStreamsExceptionOnSubsequentFlushIfASendFails"
    "AndProductionExceptionHandlerReturnsNull",
    "S-54": f"{_WRITE}#shouldNotCallProductionExceptionHandlerOnClassCastException",
    "S-55": f"{_WRITE}#shouldSwallowTransactionAbortedExceptionAndNotCallProductionExceptionHandler",
    "S-57": f"{_WRITE}#shouldBuildDeadLetterQueueRecordsInDefaultExceptionHandler",
    "S-58": f"{_WRITE}#shouldFreeRawRecordsInContextBeforeSending",
    "S-59": f"{_WRITE}#shouldHaveRawDataDuringExceptionInSerialization",
    "S-60": f"{_WRITE}#shouldNotSendIfSendOfOtherTaskFailedInCallback",
    "S-61": f"{_WRITE}#shouldThrowIfTopicIsUnknownOnSendWithPartitioner",
    "S-62": f"{_WRITE}#shouldDropAllRecords",
    "S-63": f"{_WRITE}#shouldCallOldImplementationExceptionHandler",
    "S-64": f"{_TASK}#punctuateShouldNotHandleFailProcessingExceptionAndThrowStreamsException",
    "S-65": f"{_TASK}#punctuateShouldNotHandleTaskCorruptedExceptionAndThrowItAsIs",
    "S-66": f"{_TASK}#punctuateShouldNotThrowStreamsExceptionWhenProcessingExceptionHandlerRepliesWithContinue",
    "S-67": f"{_TASK}#punctuateShouldThrowStreamsExceptionWhenProcessingExceptionHandlerRepliesWithFail",
    "S-68": f"{_TASK}#punctuateShouldThrowStreamsExceptionWhenProcessingExceptionHandlerReturnsNull",
    "S-69": f"{_TASK}#punctuateShouldThrowFailedProcessingExceptionWhenProcessingExceptionHandlerThrowsAnException",
    "S-71": f"{_TASK}#shouldThrowOnTimeoutExceptionAndBufferRecordForRetryIfEosDisabled",
    "S-73": f"{_CONFIG}#shouldGetDefaultValueProcessingExceptionHandler",
    "S-74": f"{_CONFIG}#shouldUseNewDeserializationExceptionHandlerWhenBothConfigsAreSet",
    "S-76": f"{_CONFIG}#shouldSetDefaultDeadLetterQueue",
    "S-77": f"{_CONFIG}#shouldLogWarningWhenProcessingExceptionHandlerIsNotEnabledOnGlobalThread",
    "S-78": f"{_GLOBAL}#testProcessingExceptionHandlerContinueEnabledRestorationPhase",
    "S-79": f"{_GLOBAL}#testProcessingExceptionHandlerFailEnabledRestorationPhase",
    "S-80": f"{_GLOBAL}#testProcessingExceptionHandlerDisabledRestorationPhase",
    "S-81": "GlobalStateTaskTest#shouldInvokeProcessExceptionHandlerWhenEnabled",
}

NOT_PORTED = {
    "S-02": "there are no state stores, and so no cache to flush: a processor keeps its state itself",
    "S-25": "there are no casts: a converter refuses a wrong type as it does any value, and its handler is asked",
    "S-26": "answers that carry dead letters are KIP-1034's; here every error has one, whoever decides",
    "S-40": "nothing is in flight when a task closes: each chunk is flushed before it is committed",
    "S-41": "as S-40",
    "S-42": "as S-40",
    "S-54": "as S-25",
    "S-55": "streams write without transactions: delivery is at least once",
    "S-60": "tasks share no producer",
    "S-61": "partitions are chosen by the client, from the key alone",
    "S-62": "as S-61",
    "S-77": "there are no global tables",
    "S-78": "as S-77",
    "S-79": "as S-77",
    "S-80": "as S-77",
    "S-81": "as S-77",
}
