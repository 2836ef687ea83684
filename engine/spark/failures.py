"""Sentences for errors of Spark that end a lease."""

from __future__ import annotations

import re
from collections.abc import Callable

NOISE = ("\t", "Driver stacktrace", "An error occurred while calling ", " SQLSTATE")
MAX_LINES = 60
ENVIRONMENT = "or send an environment that python -m engine.spark.pack has made"

# What Spark's messages say of workers that can't run the engine's Python code, and the sentence for each.
WORKER_ERRORS: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], str]], ...] = (
    (
        re.compile(r"PYTHON_VERSION_MISMATCH\] .*?: (\S+) than that in driver: (\d+\.\d+)"),
        lambda host, found: (
            f"The worker on {host} runs Python {found[1]}, and the driver runs {found[2]}:"
            f" set spark.pyspark.python to a Python {found[2]} there, {ENVIRONMENT}."
        ),
    ),
    (
        re.compile(r'Cannot run program "([^"]+)"'),
        lambda host, found: (
            f"The worker on {host} has no program {found[1]}: set spark.pyspark.python to its Python, {ENVIRONMENT}."
        ),
    ),
    (
        re.compile(r"(?:No module named '?|for ')(engine[\w.]*)"),
        lambda host, found: (
            f"The worker on {host} can't import {found[1]} of the driver's archive:"
            " remove another copy of the engine from its Python environment."
        ),
    ),
)


def refusal_of(error: Exception, host: str) -> str | None:
    """Return one sentence if the error says that the worker on this host can't run leases."""
    text = str(error)
    for pattern, sentence in WORKER_ERRORS:
        if (found := pattern.search(text)) is not None:
            return sentence(host, found)
    return None


def reason_of(error: Exception) -> str:
    """Return Spark's message without its own stack."""
    lines = [line.removeprefix(": ") for line in str(error).splitlines() if line.strip()]
    return "\n".join([line for line in lines if not line.startswith(NOISE)][:MAX_LINES])
