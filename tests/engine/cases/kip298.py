"""The cases of KIP-298 that Kafka's own tests assert, by id: where they stand there."""

from __future__ import annotations

_RETRY, _REPORT = "RetryWithToleranceOperatorTest", "ErrorReporterTest"
_TASK, _SINK = "ErrorHandlingTaskTest", "WorkerSinkTaskTest"

CASES = {
    "C-01": f"{_RETRY}#testExecuteFailed",
    "C-02": f"{_RETRY}#testExecuteFailedNoTolerance",
    "C-03": f"{_RETRY}#testHandleExceptionInTransformations",
    "C-05": f"{_RETRY}#testHandleExceptionInValueConverter",
    "C-06": f"{_RETRY}#testHandleExceptionInKeyConverter",
    "C-07": f"{_RETRY}#testHandleRetriableExceptionInTransformationsToleranceNone",
    "C-09": f"{_RETRY}#testHandleRetriableExceptionInValueConverterToleranceNone",
    "C-10": f"{_RETRY}#testHandleRetriableExceptionInKeyConverterToleranceNone",
    "C-13": f"{_RETRY}#testThrowExceptionInTaskPut",
    "C-14": f"{_RETRY}#testThrowExceptionInTaskPoll",
    "C-15": f"{_RETRY}#testThrowExceptionInKafkaConsume",
    "C-16": f"{_RETRY}#testThrowExceptionInKafkaProduce",
    "C-17": f"{_RETRY}#testExecAndHandleRetriableErrorOnce",
    "C-18": f"{_RETRY}#testExecAndHandleRetriableErrorThrice",
    "C-19": f"{_RETRY}#testExecAndHandleRetriableErrorWithInfiniteRetries",
    "C-24": f"{_RETRY}#testToleranceLimit",
    "C-25": f"{_RETRY}#testDefaultConfigs",
    "C-26": f"{_RETRY}#testSetConfigs",
    "C-27": f"{_RETRY}#testReportWithSingleReporter",
    "C-28": f"{_RETRY}#testReportWithMultipleReporters",
    "C-29": f"{_RETRY}#testCloseErrorReporters",
    "C-30": f"{_RETRY}#testCloseErrorReportersExceptionPropagation",
    "C-31": f"{_REPORT}#initializeDLQWithNullMetrics",
    "C-32": f"{_REPORT}#testDLQConfigWithEmptyTopicName",
    "C-35": f"{_REPORT}#testCloseDLQ",
    "C-36": f"{_REPORT}#testLogOnDisabledLogReporter",
    "C-37": f"{_REPORT}#testLogOnEnabledLogReporter",
    "C-39": f"{_REPORT}#testLogMessageWithSinkRecords",
    "C-40": f"{_REPORT}#testLogReportAndReturnFuture",
    "C-41": f"{_TASK}#testErrorHandlingInSinkTasks",
    "C-42": f"{_TASK}#testErrorHandlingInSourceTasks",
    "C-43": f"{_TASK}#testErrorHandlingInSourceTasksWithBadConverter",
    "C-44": f"{_REPORT}#testSetDLQConfigs",
    "C-45": f"{_REPORT}#testDlqHeaderConsumerRecord",
    "C-46": f"{_REPORT}#testDlqHeaderOnNullExceptionMessage",
    "C-48": "WorkerErrantRecordReporterTest#testGetFutures",
    "C-50": "WorkerErrantRecordReporterTest#testReportNoToleratedErrors",
    "C-52": "ErrorHandlingIntegrationTest#testErrantRecordReporter",
    "C-53": f"{_SINK}#testRaisesFailedRetriableExceptionFromConvert",
    "C-54": f"{_SINK}#testRaisesFailedRetriableExceptionFromTransform",
    "C-55": f"{_SINK}#testSkipsFailedRetriableExceptionFromConvert",
    "C-57": f"{_SINK}#testPollRedelivery",
    "C-58": f"{_SINK}#testDeliveryWithMutatingTransform",
    "C-60": "AbstractWorkerSourceTaskTest#testSendRecordsFailedTransformationErrorToleranceNone",
    "C-63": "AbstractWorkerSourceTaskTest#testSendRecordsConversionExceptionErrorToleranceAll",
    "C-65": "WorkerSourceTaskTest#testSendRecordsProducerCallbackFail",
    "C-68": "WorkerSourceTaskTest#testSourceTaskIgnoresProducerException",
    "C-71": "ConnectorValidationIntegrationTest#testSinkConnectorDeadLetterQueueTopicInTopicsList",
    "C-72": "ConnectorValidationIntegrationTest#testSinkConnectorDeadLetterQueueTopicMatchesTopicsRegex",
}

NOT_PORTED = {
    "C-29": "a task closes all it opened, reporters too, through contextlib.ExitStack, which has tests of its own",
    "C-30": "ExitStack closes every one although some raise, and a lease that has ended no longer fails of it",
    "C-31": "a reporter without metrics can't be written: mypy refuses it",
}
