"""jq in a sandboxed process without environment, files or clock.

It is killed if it does not respond. A signal can't interrupt libjq, and its `$ENV` would reveal the server's secrets.
So jq never runs in our own process.
"""

from __future__ import annotations

import os
import re
import selectors
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from dlqadmin.replays.fixes.errors import ProgramRefused, RecordUnusable
from dlqadmin.rest.text import shortened
from dlqadmin.sandbox import trial
from dlqadmin.sandbox.commands import ConfinedProgram, command
from dlqadmin.sandbox.permission import JQ, refusal
from dlqadmin.sandbox.trial import ConfinementVerdict

START_S = 20.0
VALUE_S = 2.0
MAX_OUTPUT_BYTES = 4 * 1024 * 1024
WORKER = Path(__file__).with_name("jq_worker.py")

# As in jq, a backslash at the end of a line continues a comment.
CODE = re.compile(r'#(?:\\(?:\r\n|.)|[^\\\n])*|["()]|[^#"()]+', re.DOTALL)
QUOTED = re.compile(r'\\.|"|[^"\\]+|\\', re.DOTALL)
TOKEN = re.compile(r"\.\w+|\$\s*\w+|\w+|\S")
VARIABLES = frozenset(("$ENV", "$__prog_args"))
FUNCTIONS = frozenset((
    "env", "input", "inputs", "input_filename", "input_line_number", "halt", "halt_error", "import", "include",
    "modulemeta", "get_search_list", "get_jq_origin", "get_prog_origin", "debug", "stderr", "now", "localtime",
    "strflocaltime",
))  # fmt: skip
PLACE = re.compile(r"\A(?:jq: )?error: (.*?) at <\w[\w-]*>, line (\d+)(?:, column (\d+))?", re.DOTALL)


class Jq:
    """A jq program in its own process, ready to run. A context manager: leaving it ends the process.

    Raises Refused if the program is invalid or needs too much time or memory, so that no value can be tried. It also
    raises Refused if no sandbox works, unless the settings allow jq without one. `found` is the sandbox that works
    here.
    """

    def __init__(self, program: str, value_s: float = VALUE_S, found: ConfinementVerdict | None = None) -> None:
        found = found or trial.verdict()
        if reason := refusal(JQ, found):
            raise ProgramRefused(reason)
        self._value_s = value_s
        self._process = subprocess.Popen(
            command(ConfinedProgram(str(WORKER), shown=(WORKER,)), found.means),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, cwd="/",
            start_new_session=True,
        )  # fmt: skip
        try:
            sign, text = self._ask(program, START_S)
            if sign == "-":
                raise ProgramRefused(_place(text))
        except BaseException:  # also when we are told to end: the process must not stay
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, value: bytes) -> bytes:
        """Run the program on a value. Return its results as a JSON array of at most two.

        Raises Unusable for this value, or Refused for all values.
        """
        sign, text = self._ask(value.decode(), self._value_s)
        if sign == "-":
            raise RecordUnusable(f"jq: {_one_line(text)}")
        if not text:
            raise ProgramRefused("The program stops jq itself. Remove the call, for example `halt`.")
        return text.encode()

    def close(self) -> None:
        """Kill the process."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                with suppress(BrokenPipeError):
                    stream.close()
        self._process.wait()

    def _ask(self, text: str, limit_s: float) -> tuple[str, str]:
        data = text.encode()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(struct.pack(">I", len(data)) + data)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ProgramRefused(self._ended()) from None
        deadline = time.monotonic() + limit_s
        (size,) = struct.unpack(">I", self._take(4, deadline, limit_s))
        if size > MAX_OUTPUT_BYTES:
            raise ProgramRefused(f"The program's result is larger than {MAX_OUTPUT_BYTES // 1024**2} MB.")
        answer = self._take(size, deadline, limit_s).decode()
        return answer[:1], answer[1:]

    def _take(self, size: int, deadline: float, limit_s: float) -> bytes:
        assert self._process.stdout is not None
        found = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while len(found) < size:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise ProgramRefused(f"The program did not end within {limit_s:g} s.")
                chunk = os.read(self._process.stdout.fileno(), min(size - len(found), 65536))
                if not chunk:
                    raise ProgramRefused(self._ended())
                found += chunk
        return bytes(found)

    def _ended(self) -> str:
        self._process.wait()
        return "jq was stopped because the program exceeded its memory or CPU limit."


def refuse_reaching_out(program: str) -> None:
    """Check that the program uses nothing outside of the value. Raises Refused.

    Forbidden are the environment, files, other inputs, and the clock with its time zone. All other time functions use
    UTC.
    """
    if word := next(_words(_code(program)), None):
        own = f'."{word}", {{{word}}} as {{"{word}": ."{word}"}}'
        instead = "" if word.startswith("$") else f" To use a member of that name, write {own}."
        raise ProgramRefused(
            f"`{word}` is not available, because a program sees only the value of one record.{instead}"
        )


def _words(code: str) -> Iterator[str]:
    """Yield the forbidden words.

    Names of object members are allowed: `{now: 1}`, but not `.[now:]`.
    """
    opened, before = [""], ""
    for found in TOKEN.finditer(code):
        token = "".join(found[0].split())
        is_member = opened[-1] == "{" and before in ("{", ",") and code[found.end() :].lstrip().startswith(":")
        if token in VARIABLES or (token in FUNCTIONS and not is_member):
            yield token
        elif token in ("(", "[", "{"):
            opened.append(token)
        elif token in (")", "]", "}") and len(opened) > 1:
            opened.pop()
        before = token


def _code(program: str) -> str:
    """Return the program without comments and strings. Interpolated code in strings is kept."""
    kept: list[str] = []
    opened: list[int] = []  # for each interpolation, the number of open parentheses in it
    at, is_quoted = 0, False
    while found := (QUOTED if is_quoted else CODE).match(program, at):
        at, piece = found.end(), found[0]
        if is_quoted:
            is_quoted = piece not in ('"', r"\(")
            if piece == r"\(":
                opened.append(0)
                kept.append("(")
        elif piece == '"' or (piece == ")" and opened and not opened[-1]):
            if piece == ")":
                opened.pop()
                kept.append(")")
            is_quoted = True
            kept.append('""')
        elif piece.startswith("#"):
            kept.append(" ")
        else:
            if opened:
                opened[-1] += (piece == "(") - (piece == ")")
            kept.append(piece)
    return "".join(kept)


def _place(text: str) -> str:
    """Format an error of jq with its line and column."""
    if found := PLACE.match(text):
        where = f"line {found[2]}" + (f", column {found[3]}" if found[3] else "")
        return f"jq, {where}: {_one_line(found[1])}."
    return f"jq: {_one_line(text)}."


def _one_line(text: str) -> str:
    line = " ".join(text.replace("jq: error: ", "").split())
    return shortened(line, 300)
