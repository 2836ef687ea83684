"""Options as rows of a table, used for parsing, validation and documentation.

A name that ends in `.*` is a family: its value is the mapping of all names behind the prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from engine.errors import ConfigError

Problem = tuple[str, str | None, str]  # option, value, message
OptionType = Literal["string", "int", "long", "double", "boolean", "list", "password", "class", "duration", "map"]

T = TypeVar("T")

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
MOST_DIGITS = 100
DURATIONS_MS = {"minute": 60_000, "hour": 3_600_000, "day": 86_400_000}
_HIGHEST: dict[str, int] = {"int": INT_MAX, "long": LONG_MAX}
_VALID = {
    "boolean": "true, false",
    "duration": f"{', '.join(DURATIONS_MS)}, or a number of milliseconds from 1 to {LONG_MAX}",
    "int": f"{-INT_MAX - 1} to {INT_MAX}",
    "long": f"{-LONG_MAX - 1} to {LONG_MAX}",
}


class _Required:
    """A marker for options without a default."""

    def __repr__(self) -> str:
        return "(required)"


REQUIRED = _Required()
HIDDEN = "********"


@dataclass(frozen=True, slots=True)
class ValueCheck(Generic[T]):
    """A check of parsed values: returns the problem of a value, or None. `valid` describes the valid values."""

    valid: str
    problem_of: Callable[[T], str | None]

    def __call__(self, value: T) -> str | None:
        return self.problem_of(value)


@dataclass(frozen=True, slots=True)
class AllowedWords:
    """A check for allowed words. With `any_case`, words are also accepted in upper, lower or mixed case."""

    allowed: tuple[str, ...]
    any_case: bool = False

    @property
    def valid(self) -> str:
        return ", ".join(self.allowed) + (" (in any case)" if self.any_case else "")

    def __call__(self, value: str) -> str | None:
        if self.spelled(value) in self.allowed:
            return None
        return f"must be one of {', '.join(self.allowed)}{nearest(value, self.allowed)}"

    def spelled(self, value: str) -> str:
        """Return the word as `allowed` spells it, or the value itself."""
        same = (word for word in self.allowed if self.any_case and word.lower() == value.lower())
        return next(same, value)


class FormField(NamedTuple):
    """The description of an option for the forms of Kafka Connect's clients (its `ConfigKeyInfo`).

    `order` is the position in the group, -1 without one. An empty `label` stands for the option's name.
    """

    importance: Literal["HIGH", "MEDIUM", "LOW"] = "MEDIUM"
    group: str | None = None
    order: int = -1
    width: Literal["NONE", "SHORT", "MEDIUM", "LONG"] = "NONE"
    label: str = ""


PLAIN, HIGH, LOW = FormField(), FormField("HIGH"), FormField("LOW")


@dataclass(frozen=True, slots=True)
class Option:
    """An option. `check` returns the problem of a parsed value, of each one in a family, or None."""

    name: str
    type: OptionType
    default: Any
    doc: str
    check: Callable[[Any], str | None] | None = None
    secret: bool = False
    aliases: tuple[str, ...] = ()
    form: FormField = PLAIN

    @property
    def is_family(self) -> bool:
        return self.name.endswith(".*")

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    @property
    def valid_values(self) -> str:
        """Return the valid values in words. Empty if the type says it all."""
        if isinstance(self.check, ValueCheck | AllowedWords):
            return self.check.valid
        return _VALID.get(self.type, "")


def parse(options: Sequence[Option], props: Mapping[str, str], prefix: str = "") -> dict[str, Any]:
    """Return the values by name, with defaults. Raises ConfigError with every problem at once."""
    values, problems = read(options, props, prefix)
    if problems:
        raise ConfigError(tuple(problems))
    return values


def parse_own(options: Sequence[Option], props: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of these options, whatever others there are. Raises ConfigError."""
    names = {spelling for option in options for spelling in option.spellings}
    return parse(options, {name: value for name, value in props.items() if name in names})


def read(options: Sequence[Option], props: Mapping[str, str], prefix: str = "") -> tuple[dict[str, Any], list[Problem]]:
    """Return the values by name, and all problems.

    Only names that start with `prefix` are read; the results are without the prefix.
    """
    own = {name.removeprefix(prefix): value for name, value in props.items() if name.startswith(prefix)}
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for option in options:
        read_one = _read_family if option.is_family else _read_option
        values[option.name] = read_one(option, own, prefix, problems)
    problems += unknown_option_problems(options, own, prefix)
    return values, problems


@contextmanager
def prefixed(prefix: str, options: Mapping[str, str]) -> Iterator[None]:
    """Name problems of these options, raised in the block, with their prefix."""
    try:
        yield
    except ConfigError as error:
        rows = ((prefix + name if name in options else name, value, text) for name, value, text in error.problems)
        raise ConfigError(tuple(rows)) from error


def strip_values(props: Mapping[str, str]) -> dict[str, str]:
    """Strip blanks around values, so that the checked values are the used ones.

    Names are not stripped. A name with blanks around it is refused instead.
    """
    return {name: value if name == "name" else str(value).strip() for name, value in props.items()}


def line_of(problem: Problem) -> str:
    """Return a problem as one line of text."""
    option, value, message = problem
    return f"{option}: {message}" if value is None else f"{option} = {value}: {message}"


def given(option: Option, props: Mapping[str, str]) -> bool:
    """Return whether the option is set, in any spelling."""
    return any(name in props for name in option.spellings)


def unknown_option_problems(options: Sequence[Option], own: Mapping[str, str], prefix: str = "") -> list[Problem]:
    """Return a problem for each unknown name, with the nearest known name."""
    names = [name for option in options for name in option.spellings]
    families = tuple(name.removesuffix("*") for name in names if name.endswith(".*"))
    exact = {name for name in names if not name.endswith(".*")}
    shown = sorted(prefix + known for known in exact)
    secrets = [prefix + name for option in options if _is_secret(option) for name in option.spellings]
    return [
        (
            prefix + name,
            HIDDEN if nearest(prefix + name, secrets) else value,  # the name of a secret may be misspelt
            "unknown option" + nearest(prefix + name, shown),
        )
        for name, value in own.items()
        if name not in exact and not name.startswith(families or ("\0",))
    ]


def nearest(name: str, known: Sequence[str], cutoff: float = 0.6) -> str:
    """Return a hint with the nearest name to end a message with, or nothing. Case does not count.

    `cutoff` is the least likeness, from 0 to 1.
    """
    by_lower = {one.lower(): one for one in reversed(known)}
    near = get_close_matches(name.lower(), list(by_lower), n=1, cutoff=cutoff)
    return f"; did you mean {by_lower[near[0]]}?" if near else ""


def valid(values: str) -> Callable[[Callable[[T], str | None]], ValueCheck[T]]:
    """Return a decorator that gives a check its valid values in words."""
    return lambda problem_of: ValueCheck(values, problem_of)


def at_least(low: int, high: int = LONG_MAX) -> ValueCheck[int]:
    """Return a check for numbers from `low` to `high`."""
    bound = f"{low} to {high}" if high < LONG_MAX else f"at least {low}"
    return ValueCheck(
        bound,
        lambda value: None if low <= value <= high else f"must be between {low} and {high}",
    )


def one_of(*allowed: str) -> AllowedWords:
    """Return a check for allowed words."""
    return AllowedWords(allowed)


def in_any_case(*allowed: str) -> AllowedWords:
    """Return a check for words in upper, lower or mixed case. The parsed value is spelled as here."""
    return AllowedWords(allowed, any_case=True)


@valid("names, none of them twice")
def no_duplicates(names: Sequence[str]) -> str | None:
    """Return the problem of a list that contains a name more than once, or None."""
    duplicates = sorted({name for name in names if names.count(name) > 1})
    return f"contains {', '.join(duplicates)} more than once; remove the duplicates" if duplicates else None


def convert(kind: OptionType, text: str) -> Any:
    """Convert a text to the option's type. Raises ValueError with a sentence."""
    text = text if kind == "password" else text.strip()
    match kind:
        case "boolean":
            return _boolean(text)
        case "int" | "long":
            return _integer(text)
        case "double":
            return _double(text)
        case "list":
            return tuple(part.strip() for part in text.split(",") if part.strip())
        case "duration":
            return DURATIONS_MS[text.lower()] if text.lower() in DURATIONS_MS else _duration(text)
        case _:
            return text


def _is_secret(option: Option) -> bool:
    return option.secret or option.type == "password"


def _read_option(option: Option, own: Mapping[str, str], prefix: str, problems: list[Problem]) -> Any:
    parsed: dict[str, Any] = {}
    for name in option.spellings:
        if name not in own:
            continue
        text = str(own[name])
        shown = HIDDEN if _is_secret(option) else text
        try:
            value = convert(option.type, text)
        except ValueError as error:
            problems.append((prefix + name, shown, str(error)))
            continue
        # Before the type's bounds, because the check names the option's own.
        problem = (option.check(value) if option.check else None) or _type_problem(option.type, value)
        if problem:
            problems.append((prefix + name, shown, problem))
        parsed[name] = option.check.spelled(value) if isinstance(option.check, AllowedWords) else value
    if len(parsed) > 1 and any(value != next(iter(parsed.values())) for value in parsed.values()):
        names = " and ".join(prefix + name for name in parsed)
        problems.append((prefix + option.name, None, f"{names} are the same option; give them the same value"))
    if parsed:
        return next(iter(parsed.values()))
    if option.default is REQUIRED:
        if not any(name in own for name in option.spellings):
            problems.append((prefix + option.name, None, "is required"))
        return None
    return option.default


def _read_family(option: Option, own: Mapping[str, str], prefix: str, problems: list[Problem]) -> dict[str, str]:
    values: dict[str, str] = {}
    for spelling in option.spellings:
        start = spelling.removesuffix("*")
        for name, text in own.items():
            if not name.startswith(start):
                continue
            short = name.removeprefix(start)
            if values.setdefault(short, str(text).strip()) != str(text).strip():
                first = prefix + option.name.removesuffix("*") + short
                problem = f"{first} and {prefix + name} are the same option; give them the same value"
                problems.append((first, None, problem))
            elif option.check and (wrong := option.check(values[short])):
                problems.append((prefix + name, HIDDEN if _is_secret(option) else str(text), wrong))
    return values


def _boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("must be true or false")
    return text.lower() == "true"


def _integer(text: str) -> int:
    digits = text.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError("must be a whole number")
    # A longer number takes long to read. It is out of all bounds, cut or not.
    return int(text[:MOST_DIGITS])


def _type_problem(kind: OptionType, value: Any) -> str | None:
    """Return the problem of a number that does not fit its type, or None."""
    if kind not in _HIGHEST or -_HIGHEST[kind] - 1 <= value <= _HIGHEST[kind]:
        return None
    return f"must be between {-_HIGHEST[kind] - 1} and {_HIGHEST[kind]}"


def _double(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("must be a number") from None


def _duration(text: str) -> int:
    try:
        value = _integer(text)
    except ValueError:
        value = 0
    if not 1 <= value <= LONG_MAX:
        raise ValueError(f"must be {_VALID['duration']}")
    return value
