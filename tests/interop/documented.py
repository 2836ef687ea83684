"""The table of foreign programs in the documentation. `python -m tests.interop.documented` writes its page anew.

A cell is `yes`, or the reason why not. The tests compare the reasons with what they see, in both directions: a cell
that has a reason must fail, and all others must hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.interop.writer_programs import WRITERS, Writer

RECOGNISED, FACTS, GROUPS = "Recognised", "Facts right", "One group per cause"
IDENTICAL, AGAIN, PASSED, RETRIED = "Replay byte-identical", "`failed_again`", "`passed`", "Retry topic"
READ = (RECOGNISED, FACTS, GROUPS)
COLUMNS = (*READ, IDENTICAL, AGAIN, PASSED, RETRIED)
REASONS: Mapping[str, Mapping[str, str]] = {
    "share-group": {
        GROUPS: "no: the broker tells only that a record was rejected, or delivered too often",
        PASSED: "no: `unknown(share_group)`, as the client can't ask which records a share group acknowledged",
    },
    "watermill": {
        FACTS: "no: the headers name neither partition nor offset of the origin",
        IDENTICAL: "no: Watermill keeps one header of each name, and adds its own UUID",
    },
    "python": {IDENTICAL: "no: the envelope has no headers"},
}
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "foreign-writers.md"
TEXT = """\
# Foreign writers

This page is generated from the tests' own table: `python -m tests.interop.documented`.

In `make interop` real programs of other frameworks consume records of an earthquake feed. They fail for
at least three causes: a value that is not JSON, a null field, and a constraint of a database. The
dashboard indexes their dead letters. It repairs one record of each cause, leaves another as it was,
replays both, and watches the program's consumer group.

- **Recognised**: a dialect reads the dead letter.
- **Facts right**: origin, group or connector, root cause, stage, retries, time of the failure, key and
  value.
- **One group per cause**: a group holds the dead letters of one cause, and all of them.
- **Replay byte-identical**: the record arrives with the key, value and headers that it had before it
  failed, and the four headers of the replay.
- **`failed_again`**: the outcome of the record that nobody repaired.
- **`passed`**: the outcome of the repaired record, observed in the program's group.
- **Retry topic**: the same replay to the first retry topic of the program has the same outcomes, and
  its attempts are counted anew.

{table}

`make test` reads the messages that these programs wrote, in `tests/interop/recorded/`.
"""


def reasons(writer: str, columns: tuple[str, ...] = COLUMNS) -> dict[str, str]:
    """Return the columns in which the writer has no `yes`, with the reason."""
    return {column: why for column, why in REASONS.get(writer, {}).items() if column in columns}


def table() -> str:
    """Return the table as Markdown."""
    rows = [["Program", "Libraries", *COLUMNS], ["---"] * (2 + len(COLUMNS))]
    rows += [[writer.title, *_cells(writer)] for writer in WRITERS]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cells(writer: Writer) -> list[str]:
    told = reasons(writer.name) | ({} if writer.retry_topics else {RETRIED: "none"})
    return [", ".join(f"`{library}`" for library in writer.libraries), *(told.get(column, "yes") for column in COLUMNS)]


def page() -> str:
    """Return the whole page."""
    return TEXT.format(table=table())


if __name__ == "__main__":
    PAGE.write_text(page())
