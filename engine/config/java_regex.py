"""Java's regular expressions and replacements."""

from __future__ import annotations

from collections.abc import Callable

import regex

Pattern = regex.Pattern[str]
_TOKENS = regex.compile(
    r"""
    \\Q(?<quoted>.*?)(?:\\E|\Z)          # quotation
    | \\[pPxN]\{\w[^{}]*\} | \\[^pP] | \\[pP][A-Z]  # property, escape
    | (?<=.)\{\d+(?:,\d*)?\}             # repetition
    | -- | \|\| | ~~ | \[: | .           # special to the library but not to Java, any other character
    """,
    regex.VERBOSE | regex.DOTALL,
)
_SPELLINGS = {"\\k": "\\g", "\\z": "\\Z", "\\Z": "(?=\\n?\\Z)"}
_PLAIN_IN_SETS = {"--": "\\-\\-", "||": "\\|\\|", "~~": "\\~\\~", "[:": "[\\:"}
_GROUP_NAME = regex.compile(r"\(\?<([a-zA-Z]\w*)>")


def compile_java(text: str) -> Pattern:
    """Compile a pattern with Java's meaning for names of ASCII letters. Raises ValueError."""
    names = _GROUP_NAME.findall(text)
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise ValueError(f"is not a valid regular expression: two groups have the name {duplicate}")
    try:
        return regex.compile(_translated(text), regex.VERSION1 | regex.ASCII)
    except (regex.error, ValueError, OverflowError) as error:
        raise ValueError(f"is not a valid regular expression: {error}") from error


def compile_replacement(text: str, pattern: Pattern) -> Callable[[regex.Match[str]], str]:
    """Compile a replacement in Java's syntax: `$1`, `${name}`, and backslash escapes. Raises ValueError."""
    parts: list[str | int] = []
    place = 0
    while place < len(text):
        match text[place]:
            case "\\":
                if place + 1 == len(text):
                    raise ValueError("ends in a single backslash; write \\\\ for a backslash")
                parts.append(text[place + 1])
                place += 2
            case "$":
                group, place = _group(text, place + 1, pattern)
                parts.append(group)
            case char:
                parts.append(char)
                place += 1
    return lambda found: "".join(part if isinstance(part, str) else found[part] or "" for part in parts)


def _group(text: str, place: int, pattern: Pattern) -> tuple[int, int]:
    """Return the group reference at an index, and the index after it."""
    if text.startswith("{", place):
        name, closed, _ = text[place + 1 :].partition("}")
        if not closed or name not in pattern.groupindex:
            raise ValueError(f"refers to the group {{{name}}}, which the pattern does not have")
        return pattern.groupindex[name], place + len(name) + 2
    digits = len(text[place:]) - len(text[place:].lstrip("0123456789"))
    if not digits:
        raise ValueError("has a $ without a group; write \\$ for a dollar sign")
    if int(text[place]) > pattern.groups:
        raise ValueError(f"refers to the group {text[place]}, which the pattern does not have")
    end = place + 1
    while end < place + digits and int(text[place : end + 1]) <= pattern.groups:
        end += 1  # Java takes as many digits as still name a group
    return int(text[place:end]), end


def _translated(text: str) -> str:
    """Translate quotations, named references, ends and set operators to the library's syntax."""
    out: list[str] = []
    depth = 0  # nesting of character sets
    for token in _TOKENS.finditer(text):
        part = token[0]
        if token["quoted"] is not None:
            part = regex.escape(token["quoted"])
        elif part in _SPELLINGS:
            part = _SPELLINGS[part]
        elif depth and part in _PLAIN_IN_SETS:
            depth += part == "[:"
            part = _PLAIN_IN_SETS[part]
        elif not depth and part == "{":
            raise ValueError(f"the brace at index {token.start()} has nothing to repeat; write \\{{ for a brace")
        else:
            depth += {"[": 1, "[:": 1, "]": -1 if depth else 0}.get(part, 0)
        out.append(part)
    return "".join(out)
