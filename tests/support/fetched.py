"""Fetch what suites would wait for when they start it: `python -m tests.support.fetched opensearch`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from demo.jars import FetchFailed, spark_kafka_jars
from tests.support import opensearch, schema_registry

# By the name of the folder in `.local`.
FETCHED: dict[str, Callable[[], object]] = {
    "opensearch": opensearch.installed,
    "schema-registry": schema_registry.installed,
    "spark-kafka": spark_kafka_jars,
}


if __name__ == "__main__":
    try:
        FETCHED[sys.argv[1]]()
    except FetchFailed as problem:
        sys.exit(str(problem))
