"""A Delta Lake table in a bucket or a folder. Each commit says where the records of each partition end.

A commit has one application transaction for each partition: the writer's name, and the offset as its version. The
protocol refuses a commit if another one with the same name came after the state that it was based on:
https://github.com/delta-io/delta/blob/master/PROTOCOL.md#transaction-identifiers
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import (
    CommitFailedError,
    DeltaError,
    DeltaProtocolError,
    SchemaMismatchError,
    TableNotFoundError,
)

from engine.config.rooted_files import path_problem
from engine.connectors.objects.options import endpoint_of
from engine.connectors.objects.stores import TIMEOUT_S, check_address, reason_of
from engine.errors import ConfigError, RetriableError

LOG = "_delta_log"
CONSTRAINTS = "delta.constraints."
# Variables of the worker's environment that the library obeys whatever its options say: a part of somebody's key, and
# ways to write without the store's condition.
UNWANTED = ("AWS_SESSION_TOKEN", "AWS_S3_LOCKING_PROVIDER", "AWS_S3_ALLOW_UNSAFE_RENAME")


class TargetTable:
    """A table, as it was when it was read or last written here. Its methods raise RetriableError and ConfigError."""

    def __init__(self, place: str, storage: Mapping[str, str] | None) -> None:
        self._place = place
        self._storage = dict(storage) if storage is not None else None
        self._table: DeltaTable | None = None

    def read(self) -> None:
        """Read the newest state."""
        with _translated():
            try:  # `is_deltatable` would hold Python's lock while the store answers
                self._table = DeltaTable(self._place, storage_options=self._storage)
            except TableNotFoundError:
                self._table = None
                return
            settings = self._table.metadata().configuration
        if any(name.startswith(CONSTRAINTS) for name in settings):
            text = "has CHECK constraints, whose errors name no record; check the values in a transform instead"
            raise ConfigError((("table.path", None, text),))

    @property
    def exists(self) -> bool:
        return self._table is not None

    @property
    def version(self) -> int:
        """The number of the newest commit; 0 for the one that created the table, −1 if there is none."""
        return -1 if self._table is None else self._table.version()

    @property
    def columns(self) -> pa.Schema:
        """The columns; none if there is no table."""
        if self._table is None:
            return pa.schema([])
        with _translated():
            return pa.schema(self._table.schema().to_arrow())

    def end_of(self, writer: str) -> int | None:
        """Return the offset at which the records of a writer end; None if it has written none."""
        if self._table is None:
            return None
        with _translated():
            return self._table.transaction_version(writer)

    def append(self, rows: pa.Table, ends: Mapping[str, int], codec: str) -> None:
        """Append rows with the new ends of their writers, in one durable commit.

        Raises RetriableError if another process has written for one of them meanwhile.
        """
        commit = CommitProperties(app_transactions=[Transaction(writer, end) for writer, end in ends.items()])
        files = WriterProperties(compression="UNCOMPRESSED" if codec == "none" else codec.upper())  # type: ignore[arg-type] # a text of the option
        with _translated():
            write_deltalake(
                self._table if self._table is not None else self._place,
                rows,
                # A table that came meanwhile may have these records.
                mode="append" if self._table is not None else "error",
                schema_mode="merge",
                storage_options=self._storage,
                writer_properties=files,
                commit_properties=commit,
            )
            if self._table is None:
                self._table = DeltaTable(self._place, storage_options=self._storage)
        # If the state has more than this commit, somebody else's records may be in it.
        if any(self.end_of(writer) != end for writer, end in ends.items()):
            raise RetriableError("another task has written to the table meanwhile; this one reads on after it")
        if self._storage is None:
            with _translated():
                _make_durable(Path(self._place), self._table.version())


def open_table(options: Mapping[str, Any], path: str, root: str | None) -> TargetTable:
    """Return the table at a path of the store that the options name. Raises ConfigError."""
    directory = options["local.directory"]
    if not directory:
        return TargetTable(f"s3://{options['s3.bucket.name']}/{path}", _storage(options))
    place = str(Path(directory, path))
    problem = path_problem(place, root)  # a symbolic link in the directory must not lead out, either
    if problem is not None:
        raise ConfigError((("local.directory", directory, problem),))
    return TargetTable(place, None)


def _storage(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the library's options for a bucket. It takes what is not set here from the worker's environment."""
    unwanted = [name for name in UNWANTED if name in os.environ]
    if unwanted:
        text = f"can't be used while the worker's environment has {unwanted[0]}, which the library would use, too"
        raise ConfigError((("s3.bucket.name", None, text),))
    url = endpoint_of(options)
    check_address(url)
    key, secret = options["aws.access.key.id"], options["aws.secret.access.key"]
    return {
        "endpoint": url,
        "region": options["s3.region"],
        "access_key_id": key or "",
        "secret_access_key": secret or "",
        "skip_signature": "false" if key else "true",
        "virtual_hosted_style_request": "false",
        "conditional_put": "etag",
        "allow_http": str(url.startswith("http:")).lower(),
        "timeout": f"{TIMEOUT_S}s",
        "max_retries": "0",  # the engine's own policy decides about retries
        # Leads nowhere. It keeps the environment's proxies away, and redirects to other hosts.
        "proxy_url": "http://127.0.0.1:9",
        "proxy_excludes": urlsplit(url).hostname or "",
    }


def _make_durable(table: Path, version: int) -> None:
    """Write the files of a commit to the disk: a power failure must not lose records whose offsets are committed."""
    log = table / LOG / f"{version:020}.json"
    actions = [orjson.loads(line) for line in log.read_bytes().splitlines()]
    files = [table / unquote(one["add"]["path"]) for one in actions if "add" in one]
    folders = dict.fromkeys(file.parent for file in [*files, log])
    for path in (*files, log, *folders, table.parent):
        at = os.open(path, os.O_RDONLY)
        try:
            os.fsync(at)
        finally:
            os.close(at)


@contextmanager
def _translated() -> Iterator[None]:
    """Translate the library's exceptions."""
    try:
        yield
    except CommitFailedError:
        raise RetriableError("another process has written to the table meanwhile; this one begins again") from None
    except SchemaMismatchError:
        raise RetriableError("the table's columns were changed meanwhile") from None
    except DeltaProtocolError as error:
        text = f"is a table with features that this sink does not have: {reason_of(error)}"
        raise ConfigError((("table.path", None, text),)) from None
    except (DeltaError, OSError) as error:
        raise RetriableError(f"the table can't be used: {reason_of(error)}") from None
