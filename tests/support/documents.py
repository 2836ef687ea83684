"""Code blocks and inline commands of the documents, and a shell that records the programs which a block calls."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from demo.environment import ROOT

PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>.*)\n(?P<text>(?:.*\n)*?)(?P=indent)```$", re.MULTILINE)
PROGRAMS = (
    "make",
    "python",
    "pytest",
    "pyspark",
    "curl",
    "helm",
    "kubectl",
    "docker",
    "openssl",
    "jq",
    "cat",
    "date",
    "sleep",
    "sha256sum",
    "pip",
    "dlqadmin",
    "dlq",
)
INLINE = re.compile(r"(?<!`)`((?:make|python|manage\.py|dlqadmin|dlq|pip|curl|openssl)(?: [^`]*)?)`(?!`)")
# It writes its arguments to a file, each ended by a null byte, and prints an answer that lets the block go on.
RECORDER = """\
#!/bin/sh
printf '%s\\0' "$#" "${0##*/}" "$@" >> "$CALLS"
while read -r _; do :; done # else the program before it in a pipe may fail
case "${0##*/} $*" in
  "jq -r .state") echo done ;;
  "jq .id" | "jq -r .id") echo 7 ;;
  "cat "*) echo token ;;
esac
"""


class Block(NamedTuple):
    """A fenced block of code."""

    page: Path
    line: int
    language: str
    text: str


class Call(NamedTuple):
    """A program with its arguments."""

    program: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join((self.program, *self.arguments))


def blocks(page: Path) -> list[Block]:
    """Return the code blocks of a page. Indentation that is common to all lines of a block is removed."""
    text = page.read_text()
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
        )
        for found in FENCE.finditer(text)
    ]


def inline_commands() -> list[str]:
    """Return the commands in the running text of all pages, each once."""
    return sorted({span for page in PAGES for span in INLINE.findall(FENCE.sub("", page.read_text()))})


def calls(scripts: Sequence[str], folder: Path) -> list[Call]:
    """Run the blocks of a page in bash, and return the programs that they call, in order.

    Recorders stand in for all programs. An unknown program, an undefined variable and a syntax error fail the block.
    The user defines DLQADMIN_TOKEN.
    """
    programs = folder / "bin"
    for path in [*(programs / name for name in PROGRAMS), *(folder / ".venv/bin" / name for name in PROGRAMS)]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(RECORDER)
        path.chmod(0o755)
    record = folder / "calls"
    record.touch()
    script = folder / "script"
    script.write_text("\n".join(["shopt -s expand_aliases", "set -euo pipefail", f"PATH={programs}", *scripts]))
    done = subprocess.run(
        ["bash", "--norc", str(script)],
        cwd=folder,
        env={"PATH": os.defpath, "CALLS": str(record), "DLQADMIN_TOKEN": "token"},
        input="token\n",
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return list(_parsed(record.read_text().split("\0")))


def _parsed(fields: list[str]) -> Iterator[Call]:
    left = iter(fields)
    for count in left:
        if count:
            program, *arguments = [next(left) for _ in range(int(count) + 1)]
            yield Call(program, tuple(arguments))
