"""Functions of a guarded stage as steps of the guard, and their results as columns."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType, _parse_datatype_string

from engine.errors import VALUE, ConfigError, DataError, Message

UNFIT = (pa.ArrowException, TypeError, ValueError, KeyError, OverflowError, AttributeError)


class UnknownFieldError(ValueError):
    """A result has a nested field that the schema lacks. The text is its path."""


class FunctionKind(StrEnum):
    """The argument and result of a function: one record, or a batch as Arrow or pandas has it."""

    RECORD = "record"
    ARROW = "arrow"
    PANDAS = "pandas"


class ResultColumns:
    """The columns of a stage's results, as its schema names them."""

    def __init__(self, schema: StructType) -> None:
        self.schema = schema
        arrow = to_arrow_schema(schema, timezone="UTC")
        self.fields = [arrow.field(index) for index in range(len(arrow))]
        self.names = [field.name for field in self.fields]
        self._none = dict.fromkeys(self.names)

    @property
    def type(self) -> pa.StructType:
        return pa.struct(self.fields)

    def build(self, rows: Sequence[Any]) -> pa.StructArray:
        """Return the results as a column; None stands for a record without a result.

        Raises one of UNFIT if a result does not fit. `fit` then tells which.
        """
        present = [row if type(row) is dict else self._none if row is None else self.as_dict(row) for row in rows]
        if present and set(map(len, present)) != {len(self.names)}:
            raise ValueError("a result has more or fewer fields than the schema")
        arrays = [_column([row[field.name] for row in present], field) for field in self.fields]
        missing = [row is None for row in rows]
        for field, array in zip(self.fields, arrays, strict=True):
            if not field.nullable and array.null_count > sum(missing):
                raise ValueError(f"column {field.name} is null")
        return pa.StructArray.from_arrays(arrays, fields=self.fields, mask=pa.array(missing, pa.bool_()))

    def as_dict(self, row: Any) -> dict[str, Any]:
        """Return a result as a dict. Raises DataError."""
        if isinstance(row, Mapping):
            return dict(row)
        if hasattr(row, "asDict"):
            return cast("dict[str, Any]", row.asDict(recursive=True))
        if isinstance(row, tuple | list):
            if len(row) != len(self.names):
                raise DataError(f"the result has {len(row)} values, and the schema has {len(self.names)} columns")
            return dict(zip(self.names, row, strict=True))
        raise DataError(f"the result is a {type(row).__name__}; return a dict, a Row or a tuple, or None to filter")

    def fit(self, row: Any) -> dict[str, Any]:
        """Return one result with exactly the schema's columns. Raises DataError if it does not fit.

        A column that the result lacks is null.
        """
        found = self.as_dict(row)
        if unknown := sorted(map(str, found.keys() - self._none.keys())):
            raise DataError(f"the result has the field {unknown[0]}, which is not in the schema")
        whole = self._none | found
        for field, own in zip(self.fields, self.schema.fields, strict=True):
            value = whole[field.name]
            if value is None and not field.nullable:
                raise DataError(f"column {field.name}: the result has no value, and the schema says NOT NULL")
            try:
                _column([value], field)
            except UnknownFieldError as error:
                raise DataError(f"the result has the field {error}, which is not in the schema") from None
            except UNFIT as error:
                text = f"column {field.name} {own.dataType.simpleString()}: {VALUE} does not fit the schema"
                raise DataError(Message(text, repr(value))) from error
        return whole

    def cast(self, batch: Any, count: int) -> pa.StructArray:
        """Return a batch function's result as a column. Raises DataError if it does not fit."""
        table = pa.Table.from_pandas(batch, preserve_index=False) if hasattr(batch, "iloc") else batch
        if not isinstance(table, pa.Table | pa.RecordBatch):
            kind = type(batch).__name__
            raise DataError(f"the function returned a {kind}; return a RecordBatch, a Table or a pandas DataFrame")
        if table.num_rows != count:
            raise DataError(f"the function returned {table.num_rows} rows for {count} records; return one for each")
        if missing := [name for name in self.names if name not in table.schema.names]:
            raise DataError(f"the result has no column {missing[0]}, which is in the schema")
        arrays = []
        for field in self.fields:
            column = table.column(field.name)
            whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            try:
                arrays.append(whole.cast(field.type))
            except UNFIT as error:
                text = f"column {field.name} {whole.type} does not fit {field.type}: {VALUE}"
                raise DataError(Message(text, str(error))) from error
            if not field.nullable and whole.null_count:
                raise DataError(f"column {field.name}: a result has no value, and the schema says NOT NULL")
        return pa.StructArray.from_arrays(arrays, fields=self.fields)


def _column(values: list[Any], field: pa.Field) -> pa.Array:
    """Return the values as a column. Raises one of UNFIT.

    It raises too where Arrow would drop data: for a fraction in an integer, and for nested fields without a place.
    """
    if pa.types.is_integer(field.type) and float in set(map(type, values)):
        values = [_whole_number(value) if type(value) is float else value for value in values]
    elif pa.types.is_nested(field.type):
        for value in values:
            _check_fields(value, field.type, field.name)
    return pa.array(values, field.type)


def _check_fields(value: Any, kind: pa.DataType, path: str) -> None:
    """Raise UnknownFieldError if a struct in the value has a field that its type lacks."""
    if value is None:
        return
    if pa.types.is_struct(kind):
        if isinstance(value, dict):
            for name, part in value.items():
                if (index := kind.get_field_index(str(name))) < 0:
                    raise UnknownFieldError(f"{path}.{name}")
                _check_fields(part, kind.field(index).type, f"{path}.{name}")
    elif pa.types.is_map(kind):
        for name, part in value.items() if isinstance(value, Mapping) else value:
            _check_fields(part, kind.item_type, f"{path}[{name}]")
    elif pa.types.is_list(kind) and pa.types.is_nested(kind.value_type):
        for index, part in enumerate(value):
            _check_fields(part, kind.value_type, f"{path}[{index}]")


def _whole_number(value: float) -> int:
    if not value.is_integer():
        raise ValueError("a fraction does not fit an integer column")
    return int(value)


def parse_schema(schema: str | StructType) -> StructType:
    """Return the schema of a stage's results. Raises ConfigError."""
    if isinstance(schema, StructType):
        return schema
    try:
        parsed = _parse_datatype_string(schema)
    except PySparkException as error:
        sentence = str(error).strip().splitlines()[0]
        raise ConfigError(
            (("schema", schema, f"is not a schema like 'id long, total decimal(10,2)': {sentence}"),)
        ) from None
    if not isinstance(parsed, StructType) or not parsed.fields:
        raise ConfigError((("schema", schema, "has no columns; write it like 'id long, total decimal(10,2)'"),))
    return parsed


def check_function(function: Callable[..., Any], option: str = "function") -> None:
    """Raise ConfigError if the function can't be sent to Spark's workers."""
    if not callable(function):
        raise ConfigError(((option, None, f"is a {type(function).__name__}; give a function, or properties"),))
    try:
        cloudpickle.dumps(function)
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, PySparkException) as error:
        text = (
            f"can't be sent to Spark's workers, because it refers to something that can't be pickled ({error}); "
            "open connections, locks and the Spark session inside the function"
        )
        raise ConfigError(((option, name_of(function), text),)) from None


def name_of(function: Callable[..., Any]) -> str:
    """Return the function's name as error contexts show it: module and qualified name."""
    called = getattr(function, "func", function)  # functools.partial
    name = getattr(called, "__qualname__", type(called).__qualname__)
    return f"{getattr(called, '__module__', None) or type(called).__module__}.{name}"
