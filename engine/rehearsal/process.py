"""`python -m engine rehearse`: reads one document, writes one JSON document per line, behind a fence."""

from __future__ import annotations

import os
import sys
from typing import Any, BinaryIO

import orjson

from engine.errors import EngineError
from engine.rehearsal.fence import ProcessFence
from engine.rehearsal.rehearse import rehearse, trouble_of
from engine.rehearsal.rows import read_wanted
from engine.steps import plugins

OK, FAILED = 0, 1


def rehearse_here(wanted: BinaryIO) -> int:
    """Rehearse the document in `wanted`, write results to stdout, and return the exit code.

    The caller limits time and memory. Output of the steps goes to standard error, to keep the results clean.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.dont_write_bytecode = True  # imports must not write files either
    fence = ProcessFence()
    try:
        document = read_wanted(wanted.read())
        if document.only_built_in:
            plugins.switch_off(document.only_built_in)
        fence.raise_up()
        for row in rehearse(document, fence):
            _write_row(answers, row)
        _write_row(answers, {"done": True})
    except EngineError as error:
        _write_row(answers, {"trouble": trouble_of(error)})
        return FAILED
    return OK


def _write_row(answers: BinaryIO, row: dict[str, Any]) -> None:
    answers.write(orjson.dumps(row) + b"\n")
    answers.flush()
