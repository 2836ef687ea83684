"""Findings about a program from its preview: bytes, nulls of named fields, and warnings.

A program can change many records and still miss the field that failed, for example by adding a field of the same name
elsewhere. Counts alone do not show this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.fixes.documents import FieldNulls, PreviewWarning, path_document
from dlqadmin.replays.fixes.error_fields import fields_of_all
from dlqadmin.replays.fixes.field_paths import FieldPath, candidates, loaded_json, nodes, plain_name, pointer_of
from dlqadmin.replays.fixes.record_changes import Change
from dlqadmin.replays.fixes.selection_fields import MAX_ERRORS, ResolvedField, resolve
from dlqadmin.replays.items.messages import Outgoing

MAX_PATHS = 2000
MAX_WARNINGS = 5
MAX_CHANGED = 20  # fields that a program changes
MAX_USES = 3  # paths that a warning offers


class PreviewFindings:
    """The values of all counted records, before and after a program."""

    def __init__(self) -> None:
        self.bytes_before = 0
        self.bytes_after = 0
        self._read = 0
        self._errors: dict[str, None] = {}
        self._known: set[FieldPath] = set()  # in any record before the change
        self._is_cut = False
        self._filled_before: Counter[FieldPath] = Counter()
        self._filled_after: Counter[FieldPath] = Counter()
        self._added: Counter[FieldPath] = Counter()
        self._touched: Counter[str] = Counter()  # JSON Pointers

    def add(self, row: DeadLetter, message: Outgoing | None, change: Change) -> None:
        """Count one record. Values that are not JSON have no fields."""
        if len(self._errors) < MAX_ERRORS:
            self._errors[row.message] = None
        if message is None:
            return
        result = change.message or message
        self.bytes_before += len(message.value or b"")
        self.bytes_after += len(result.value or b"")
        if (before := _fields(message.value)) is None:
            return
        after = before if change.message is None else _fields(result.value)
        self._read += 1
        self._note(before)
        self._filled_before.update(path for path, value in before.items() if value is not None)
        if after is not None:
            self._filled_after.update(path for path, value in after.items() if value is not None)
            self._added.update(after.keys() - before.keys())
        self._touched.update(change.paths)

    def nulls(self) -> list[FieldNulls]:
        """Return the nulls of the fields that the errors name, and of other fields that the program changes."""
        named = {path: one.field.name for one in self._named for path in one.paths[:MAX_USES]}
        pointers = {pointer for pointer, _ in self._touched.most_common(MAX_CHANGED)}
        changed = [path for path in sorted(self._known, key=plain_name) if pointer_of(path) in pointers]
        return [
            FieldNulls(
                column=named.get(path),
                path=path_document(path),
                records=self._read,
                null_before=self._read - self._filled_before[path],
                null_after=self._read - self._filled_after[path],
            )
            for path in dict.fromkeys([*named, *changed])
        ]

    def warnings(self) -> list[PreviewWarning]:
        """Return why the program may miss the field that failed. Nothing for a program that changes nothing."""
        if not self._touched:
            return []
        named = self._named
        added = [] if self._is_cut else list(self._fields_added(named))
        missed = [*self._missed(named, is_explained=bool(added))]
        return [*missed, *added][:MAX_WARNINGS]

    @cached_property
    def _named(self) -> tuple[ResolvedField, ...]:
        """The fields of the errors. Read it when all records are counted."""
        return resolve(fields_of_all(self._errors), self._known)

    def _note(self, before: dict[FieldPath, Any]) -> None:
        if len(self._known) < MAX_PATHS:
            self._known.update(before)
        elif not self._known.issuperset(before):
            self._is_cut = True

    def _missed(self, named: tuple[ResolvedField, ...], *, is_explained: bool) -> Iterator[PreviewWarning]:
        paths = [path for one in named for path in one.paths]
        columns = ", ".join(one.field.name for one in named)
        if named and not paths:
            if not any(candidates(one.field.name, self._added) for one in named):
                text = f"The error names {columns}, but no counted record has a field of this name."
                yield PreviewWarning(code="named_not_found", text=text, path=None, use=[])
        elif paths and not any(_is_touched(pointer_of(path), self._touched) for path in paths):
            read = "; ".join(f"{one.field.name} is read from {plain_name(one.paths[0])}" for one in named if one.paths)
            only = next(iter(self._touched)) if len(self._touched) == 1 and not is_explained else None
            instead = next((path for path in self._known if pointer_of(path) == only), None)
            yield PreviewWarning(
                code="named_untouched",
                text=f"The program changes no field that the error names. {read}.",
                path=None if instead is None else path_document(instead),
                use=[path_document(path) for path in paths[:MAX_USES]],
            )

    def _fields_added(self, named: tuple[ResolvedField, ...]) -> Iterator[PreviewWarning]:
        """Yield a warning for each added field that no record had, except one that the error asks for."""
        fresh = self._added.keys() - self._known
        wanted = [path for one in named if not one.paths for path in candidates(one.field.name, fresh)]
        for path in sorted(fresh, key=plain_name):
            if path[:-1] in fresh or path in wanted or isinstance(path[-1], int):
                continue
            same = candidates(str(path[-1]), self._known)
            yield PreviewWarning(
                code="field_added",
                text=f"The program adds the field {plain_name(path)}, which no record had, to "
                f"{self._added[path]:,} {'record' if self._added[path] == 1 else 'records'}.",
                path=path_document(path),
                use=[path_document(one) for one in same[:MAX_USES]],
            )


def _fields(value: bytes | None) -> dict[FieldPath, Any] | None:
    try:
        return dict(nodes(loaded_json(value)))
    except ValueError:
        return None


def _is_touched(pointer: str, touched: Counter[str]) -> bool:
    """Return whether a change is at, above or below this JSON Pointer."""
    return any(one == pointer or pointer.startswith(f"{one}/") or one.startswith(f"{pointer}/") for one in touched)
