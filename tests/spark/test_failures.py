"""Spark's errors as sentences. tests/spark/test_bare_workers.py has the errors of a real cluster."""

from __future__ import annotations

import pytest

from engine.spark.failures import reason_of, refusal_of

LOST = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times,"
    " most recent failure: Lost task 0.0 in stage 0.0 (TID 0) (host7 executor 3): "
)
STACK = "\n\tat org.apache.spark.executor.Executor.run(Executor.scala:1)\nDriver stacktrace:\n\tat java.lang.Thread"
REMOVE = "remove another copy of the engine from its Python environment."
PACK = "or send an environment that python -m engine.spark.pack has made."


@pytest.mark.parametrize(
    ("cause", "sentence"),
    [
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than that in driver: 3.11, PySpark",
            f"runs Python 3.12, and the driver runs 3.11: set spark.pyspark.python to a Python 3.11 there, {PACK}",
        ),
        (
            'java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such file or directory',
            f"has no program ./environment/bin/python: set spark.pyspark.python to its Python, {PACK}",
        ),
        (
            "\nError from python worker:\n  python3: No module named engine.spark\n",
            f"can't import engine.spark of the driver's archive: {REMOVE}",
        ),
    ],
)
def test_a_worker_that_cannot_run_the_engine_gets_one_sentence(cause: str, sentence: str) -> None:
    assert refusal_of(RuntimeError(LOST + cause + STACK), "host7") == f"The worker on host7 {sentence}"


def test_another_error_is_sparks_message_without_its_stack() -> None:
    error = RuntimeError(LOST + "ExecutorLostFailure (executor 3 exited)" + STACK)
    assert refusal_of(error, "host7") is None
    assert reason_of(error) == (
        "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times,"
        " most recent failure: Lost task 0.0 in stage 0.0 (TID 0) (host7 executor 3):"
        " ExecutorLostFailure (executor 3 exited)"
    )
