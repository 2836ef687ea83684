"""Rows for a Delta Lake table. Values take the types of its columns, and those that can't are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.connectors.objects.formats import TableRows


class DeltaRows(TableRows):
    """Values as rows of a table whose columns are known.

    A value takes the type of its column if nothing of it is lost: whole numbers any integer or floating type, texts in
    ISO 8601 a date or a time. With `evolves`, new fields become columns, which may be wider than the first value. A
    table that will be created needs a value in each row: fields that are null give it no column.
    """

    misfit = "the value does not fit the table"

    def __init__(self, columns: Any, *, evolves: bool, is_first: bool = False) -> None:
        """Begin with the `pyarrow.Schema` of the table. It is empty if the table will be created.

        `is_first` says that the rows have created the table already, and are checked again.
        """
        super().__init__()
        self._columns = {field.name: field.type for field in columns}
        self._required = [field.name for field in columns if not field.nullable]
        self._evolves = evolves or not self._columns
        self._needs_value = is_first or not self._columns
        self._schema = columns

    def table(self) -> Any:
        """Return all rows, without fields that are null in all of them: null is no type of a column."""
        table = super().table()
        fields = [field.with_type(known) for field in table.schema if (known := self._known(field.type)) is not None]
        if not fields:  # the rows are null in every column, and one of them is enough to hold their number
            name, column = next(iter(self._columns.items()))
            return self._arrow.table({name: self._arrow.nulls(table.num_rows, column)})
        return table.select([field.name for field in fields]).cast(self._arrow.schema(fields))

    def _row_problem(self, row: Mapping[str, Any] | None) -> str | None:
        problem = super()._row_problem(row)
        if problem is None and self._needs_value and not _has_value(row):
            return "no field of the value has a value, so no table can be created for it"
        return problem

    def _table(self, rows: Sequence[Any]) -> Any:
        raw = super()._table(rows)
        for name in self._required:
            if name not in raw.column_names or raw[name].null_count:
                raise self._arrow.ArrowInvalid(f"the column {name} must have a value")
        fields = [self._arrow.field(one.name, self._target(one, self._columns)) for one in raw.schema]
        return raw.cast(self._arrow.schema(fields))

    def _merged(self, before: Any, new: Any) -> Any:
        merged = super()._merged(before, new)
        self._check_names(merged)
        return merged

    def _target(self, field: Any, columns: Mapping[str, Any]) -> Any:
        """Return the type that the values of a field take."""
        if field.name in columns:
            return self._as_column(field, columns[field.name])
        if self._known(field.type) is None:
            return field.type  # null in all rows, so it needs no column
        if not self._evolves:
            raise self._arrow.ArrowTypeError(f"there is no column for {field.name}; auto.evolve=true adds columns")
        return self._as_new(field)

    def _as_column(self, field: Any, column: Any) -> Any:
        """Return the type of values for a column that the table has."""
        types, given = self._arrow.types, field.type
        if types.is_struct(given) and types.is_struct(column):
            members = {one.name: one.type for one in column}
            return self._arrow.struct([one.with_type(self._target(one, members)) for one in given])
        if types.is_list(given) and types.is_list(column):
            return self._arrow.list_(self._as_column(given.value_field, column.value_type))
        if types.is_null(given) or given == column or self._fits(given, column):
            return column
        raise self._arrow.ArrowTypeError(f"{field.name} is {given}, and its column {column}")

    def _fits(self, given: Any, column: Any) -> bool:
        """Return whether Arrow's conversion, which checks each value, means the same value."""
        types = self._arrow.types
        if types.is_integer(given):
            return bool(types.is_integer(column) or types.is_floating(column))
        if types.is_floating(given):
            return bool(types.is_floating(column))
        if types.is_decimal(given):
            return bool(types.is_decimal(column))
        if types.is_string(given) or types.is_timestamp(given):
            return bool(types.is_timestamp(column) or (types.is_string(given) and types.is_date32(column)))
        return False

    def _as_new(self, field: Any) -> Any:
        """Return the type of values without a column. Times without a zone are in UTC."""
        arrow, types, given = self._arrow, self._arrow.types, field.type
        if types.is_struct(given):
            return arrow.struct([one.with_type(self._as_new(one)) for one in given])
        if types.is_list(given):
            return arrow.list_(self._as_new(given.value_field))
        if types.is_timestamp(given):
            return arrow.timestamp("us", "UTC")
        plain = (types.is_null, types.is_boolean, types.is_int64, types.is_floating, types.is_string, types.is_binary)
        if any(check(given) for check in (*plain, types.is_date32, types.is_decimal128)):
            return given
        raise arrow.ArrowTypeError(f"{field.name} is {given}, which no column can hold")

    def _known(self, given: Any) -> Any:
        """Return the type without members that are null in all rows; None if nothing is left."""
        types = self._arrow.types
        if types.is_struct(given):
            members = [one.with_type(known) for one in given if (known := self._known(one.type)) is not None]
            return self._arrow.struct(members) if members else None
        if types.is_list(given):
            known = self._known(given.value_type)
            return None if known is None else self._arrow.list_(known)
        return None if types.is_null(given) else given

    def _check_names(self, fields: Iterable[Any]) -> None:
        """Raise for names that differ only in case: Delta Lake takes them for one."""
        names = dict[str, str]()
        for field in fields:
            other = names.setdefault(field.name.lower(), field.name)
            if other != field.name:
                raise self._arrow.ArrowInvalid(f"the names {other} and {field.name} differ only in case")
            inner = field.type
            while self._arrow.types.is_list(inner):
                inner = inner.value_type
            if self._arrow.types.is_struct(inner):
                self._check_names(inner)


def _has_value(part: Any) -> bool:
    """Return whether anything in a value is not null, so that a column can have its type."""
    if isinstance(part, dict | list):
        return any(map(_has_value, part.values() if isinstance(part, dict) else part))
    return part is not None
