"""`python -m engine rehearse`: one document in, documents out, a line each, from behind a fence."""

from __future__ import annotations

import os
import sys
from typing import Any, BinaryIO

import orjson

from engine.assembly.rehearsal_fence import Fence
from engine.assembly.rehearsal_rows import read_wanted
from engine.assembly.rehearsing import rehearse, trouble_of
from engine.errors import EngineError

OK, FAILED = 0, 1


def rehearse_here(wanted: BinaryIO) -> int:
    """Rehearse what is wanted, and say so on standard output; the exit code.

    Who starts it bounds its time and its memory. What steps print goes to standard error: it is not ours.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.dont_write_bytecode = True  # nor do imports write
    fence = Fence()
    try:
        document = read_wanted(wanted.read())
        fence.raise_up()
        for row in rehearse(document, fence):
            _tell(answers, row)
        _tell(answers, {"done": True})
    except EngineError as error:
        _tell(answers, {"trouble": trouble_of(error)})
        return FAILED
    return OK


def _tell(answers: BinaryIO, row: dict[str, Any]) -> None:
    answers.write(orjson.dumps(row) + b"\n")
    answers.flush()
