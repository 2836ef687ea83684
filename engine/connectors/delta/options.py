"""The options of DeltaSink. Those of the store and of flushing are ObjectStoreSink's."""

from __future__ import annotations

from engine.config.connector import ConnectorConfig
from engine.config.options import Option, Problem, ValueCheck, one_of
from engine.connectors.objects.options import FLUSH_OPTIONS, STORE_OPTIONS, folder_problem, store_problems

TOPIC = "${topic}"


def _path_problem(path: str) -> str | None:
    return folder_problem(path.replace(TOPIC, "topic"))


OPTIONS = (
    *STORE_OPTIONS,
    Option(
        "table.path",
        "string",
        TOPIC,
        "The folder of the table, in the bucket or the local directory. `${topic}` stands for the topic that a record "
        "was read from.",
        ValueCheck("a path without a leading slash", _path_problem),
    ),
    Option(
        "auto.create",
        "boolean",
        False,
        "Create a table that does not exist. Its columns are the fields of the first records.",
    ),
    Option(
        "auto.evolve",
        "boolean",
        False,
        "Add a column for each new field. If false, a record with a value in a field that has no column is an error.",
    ),
    Option(
        "compression.type",
        "string",
        "snappy",
        "The compression of the Parquet files: `none`, `gzip`, `snappy` or `zstd`.",
        one_of("none", "gzip", "snappy", "zstd"),
    ),
    *FLUSH_OPTIONS,
)


def prepare(config: ConnectorConfig) -> tuple[ConnectorConfig, list[Problem]]:
    """Return the configuration and problems of options that don't fit together."""
    return config, store_problems(config.own)
