"""Migration operations that do not block readers and writers of tables with millions of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddIndex, RemoveIndex
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

Statements = Mapping[str, Sequence[str]]  # by database vendor


class VendorSQL(Operation):
    """An operation with separate SQL statements for each database."""

    reduces_to_sql = True

    def __init__(self, forwards: Statements, backwards: Statements) -> None:
        self.forwards, self.backwards = forwards, backwards

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Leave the models unchanged: the operations beside this one change them."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        _run(self.forwards, schema_editor)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        _run(self.backwards, schema_editor)


class AddIndexQuietly(AddIndex):
    """An index that is created while rows are written. Its migration must not be atomic."""

    atomic = False

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        self._concurrently().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
            return
        self._concurrently().database_backwards(app_label, schema_editor, from_state, to_state)

    def _concurrently(self) -> Operation:
        # The module needs psycopg, which an installation with SQLite has not.
        from django.contrib.postgres.operations import AddIndexConcurrently

        return AddIndexConcurrently(self.model_name, self.index)


class RemoveIndexQuietly(RemoveIndex):
    """An index that is dropped while rows are written. Its migration must not be atomic."""

    atomic = False

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        self._concurrently().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)
            return
        self._concurrently().database_backwards(app_label, schema_editor, from_state, to_state)

    def _concurrently(self) -> Operation:
        from django.contrib.postgres.operations import RemoveIndexConcurrently  # needs psycopg, as above

        return RemoveIndexConcurrently(self.model_name, self.name)


def _run(statements: Statements, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for statement in statements.get(schema_editor.connection.vendor, ()):
        schema_editor.execute(statement)
