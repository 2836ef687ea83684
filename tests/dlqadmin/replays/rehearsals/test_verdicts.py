"""What the stages of a rehearsal mean, in the words that people read."""

from __future__ import annotations

from typing import Any

import pytest

from dlqadmin.replays.rehearsals.verdicts import verdict
from engine.record.stage import Stage, StageType

STAGES = [
    {"type": "KEY_CONVERTER", "class": "a.StringConverter", "name": ""},
    {"type": "VALUE_CONVERTER", "class": "a.JsonConverter", "name": ""},
    {"type": "TRANSFORMATION", "class": "a.Cast$Value", "name": "cast"},
    {"type": "TRANSFORMATION", "class": "a.Filter", "name": "drop"},
    {"type": "TASK_PUT", "class": "SqlSink", "name": ""},
]
SINK = {"state": "not_rehearsable", "note": "SqlSink would write to a database"}
CAST = Stage(StageType.TRANSFORMATION, "a.Cast$Value")
PUT = Stage(StageType.TASK_PUT, "SqlSink")
VALUE = Stage(StageType.VALUE_CONVERTER, "a.JsonConverter")


def rows(*states: str, end: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"state": state, "message": "it is no number"} for state in states]
    made += [end] if end else []
    return made + [{"state": "not_reached"}] * (len(STAGES) - len(made))


BEFORE, READING = "TRANSFORMATION 'cast' failed before", "VALUE_CONVERTER (JsonConverter)"
BEFORE_PUT = "TASK_PUT (SqlSink) failed before, but it can't be rehearsed:"
ALL = "All stages before it pass."
ALL_PASS = rows("ok", "ok", "ok", "ok", end=SINK)


@pytest.mark.parametrize(
    ("told", "failed", "index", "found", "text"),
    [
        (ALL_PASS, CAST, 2, "fixed_here",
         "TRANSFORMATION 'cast' failed before and passes now. The sink itself is not rehearsed."),
        (rows("ok", "ok", "ok", "ok", "ok"), PUT, 4, "fixed_here",
         "TASK_PUT (SqlSink) failed before and passes now. The sink wrote its row, and the database rolled it back."),
        (rows("ok", "ok", "ok", "ok", "ok"), None, None, "not_rehearsable",
         "The stage that failed before is unknown. All stages pass."),
        (rows("ok", "ok", "ok", "ok", "failed"), PUT, 4, "still_fails",
         "TASK_PUT (SqlSink) still fails: it is no number"),
        (rows("ok", "ok", "failed"), CAST, 2, "still_fails", "TRANSFORMATION 'cast' still fails: it is no number"),
        (rows("ok", "ok", "failed"), VALUE, 1, "still_fails",
         f"{READING} failed before; it passes now, but TRANSFORMATION 'cast' fails: it is no number"),
        (rows("ok", "failed"), CAST, 2, "still_fails",
         (
"TRANSFORMATION 'cast' failed before; now the earlier stage VALUE_CONVERTER (JsonConverter) fails: "
"it is no number"
)),
        (ALL_PASS, PUT, 4, "not_rehearsable",
         f"{BEFORE_PUT} SqlSink would write to a database. {ALL}"),
        (rows("ok", "ok", "ok", "filtered"), CAST, 2, "filtered",
         f"{BEFORE}; now TRANSFORMATION 'drop' filters the record, so it would not reach the sink."),
        (ALL_PASS, None, None, "not_rehearsable",
         "The stage that failed before is unknown. All stages before it pass."),
        (ALL_PASS, Stage(StageType.TRANSFORMATION, "a.Gone"), 2, "not_rehearsable",
         "The stage that failed before is no longer part of the connector. All stages before it pass."),
        (rows("ok", "ok",
              end={"state": "not_rehearsable", "note": "x.key is a secret"}),
         PUT, 4, "not_rehearsable",
         f"{BEFORE_PUT} TRANSFORMATION 'cast' comes before it, and x.key is a secret. {ALL}"),
    ],
)  # fmt: skip
def test_a_verdict_says_how_far_the_record_comes_and_never_that_it_will_succeed(
    told: list[dict[str, Any]], failed: Stage | None, index: int | None, found: str, text: str
) -> None:
    said = verdict(STAGES, told, failed, index)
    assert (said.verdict, said.text) == (found, text)
    assert "succe" not in said.text


def test_a_stage_that_moved_is_found_by_its_class() -> None:
    assert verdict(STAGES, ALL_PASS, CAST, 1).before == 2


def test_a_stage_of_which_only_the_type_is_known_is_found_where_there_is_one_of_it() -> None:
    assert verdict(STAGES, ALL_PASS, Stage(StageType.TASK_PUT, ""), None).before == 4
    assert verdict(STAGES, ALL_PASS, Stage(StageType.TRANSFORMATION, ""), None).before is None


def test_what_stands_behind_the_failing_stage_and_is_not_rehearsed_is_named() -> None:
    hidden = {"state": "not_rehearsable", "note": "it would use the network"}
    said = verdict(STAGES, rows("ok", "ok", "ok", end=hidden), CAST, 2)
    assert said.text.endswith("TRANSFORMATION 'drop' is not rehearsed: it would use the network.")
