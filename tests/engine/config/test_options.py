from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from engine.assembly import reference
from engine.config import connector, errors_policy, exactly_once_source, steps, transforms, worker
from engine.config.exception_handlers import STREAM_DEFAULTS, HandlerRole
from engine.config.options import (
    REQUIRED,
    Option,
    at_least,
    one_of,
    parse,
    read,
    strip_values,
    unknown_option_problems,
)
from engine.errors import ConfigError
from engine.steps.handlers import BUILT_IN

ROOT = Path(__file__).parents[3]
ROWS = (
    Option("file", "string", REQUIRED, "Where to.", aliases=("path",)),
    Option("tasks.max", "int", 1, "How many.", at_least(1, 10)),
    Option("flag", "boolean", False, "Or not."),
    Option("pass", "password", None, "Hush.", at_least(5)),
    Option("client.*", "map", {}, "All of these.", aliases=("c.*",)),
)


def test_defaults_fill_in_and_families_gather() -> None:
    values = parse(ROWS, {"file": " a ", "client.x": "1", "c.y": "2"})
    assert values == {"file": "a", "tasks.max": 1, "flag": False, "pass": None, "client.*": {"x": "1", "y": "2"}}


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(ROWS, {"tasks.max": "0", "flag": "perhaps", "fil": "x"})
    assert {(option, value): message for option, value, message in caught.value.problems} == {
        ("file", None): "is required",
        ("tasks.max", "0"): "must be between 1 and 10",
        ("flag", "perhaps"): "must be true or false",
        ("fil", "x"): "unknown option; did you mean file?",
    }
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_two_spellings_with_different_values_are_a_problem() -> None:
    _, problems = read(ROWS, {"file": "a", "path": "b", "client.x": "1", "c.x": "2"})
    assert [option for option, _, _ in problems] == ["file", "client.x"]
    assert all("are the same option" in message for _, _, message in problems)


def test_two_spellings_with_one_value_are_none() -> None:
    assert read(ROWS, {"file": "a", "path": "a"})[1] == []


def test_only_names_with_the_prefix_are_looked_at() -> None:
    values, problems = read(ROWS, {"s.file": "a", "s.flga": "b", "other": "c"}, "s.")
    assert values["file"] == "a"
    assert problems == [("s.flga", "b", "unknown option; did you mean s.flag?")]


@pytest.mark.parametrize("text", ["", "1.5", "x", "٣", "9" * 30, "2147483648"])
def test_what_is_no_int_is_a_problem(text: str) -> None:
    assert len(read(ROWS, {"file": "a", "tasks.max": text})[1]) == 1


@pytest.mark.parametrize("text", ["0", "11", "2147483648", "-2147483649", "9" * 30, "9" * 5000])
def test_a_number_out_of_range_is_told_the_bounds_of_its_option(text: str) -> None:
    assert read(ROWS, {"file": "a", "tasks.max": text})[1] == [("tasks.max", text, "must be between 1 and 10")]


def test_a_number_without_bounds_of_its_own_is_told_those_of_its_type() -> None:
    rows = (Option("n", "int", 1, "A number."), Option("time", "duration", 1, "A time."))
    assert [message for _, _, message in read(rows, {"n": "2147483648", "time": "0"})[1]] == [
        "must be between -2147483648 and 2147483647",
        "must be minute, hour, day, or a number of milliseconds from 1 to 9223372036854775807",
    ]


def test_the_nearest_word_is_found_in_any_case() -> None:
    assert one_of("none", "all")("ALL") == "must be one of none, all; did you mean all?"


# The options whose validator in Kafka 4.1 is ConfigDef.CaseInsensitiveValidString.
@pytest.mark.parametrize(
    ("options", "name", "text", "value"),
    [
        (exactly_once_source.OPTIONS, "exactly.once.support", "REQUIRED", "required"),
        (exactly_once_source.OPTIONS, "transaction.boundary", "Interval", "interval"),
        (worker.OPTIONS, "security.protocol", "sasl_ssl", "SASL_SSL"),
        (worker.OPTIONS, "exactly.once.source.support", "Enabled", "enabled"),
        (steps.JSON_CONVERTER, "decimal.format", "numeric", "NUMERIC"),
        (transforms.EXTRACT_FIELD, "field.syntax.version", "v2", "V2"),
    ],
)
def test_words_are_read_in_any_case_where_kafka_does(
    options: tuple[Option, ...], name: str, text: str, value: str
) -> None:
    values, problems = read(options, {name: text})
    assert (values[name], [problem for problem in problems if problem[0] == name]) == (value, [])


def test_words_are_read_in_lower_case_only_where_kafka_does() -> None:
    row = next(row for row in errors_policy.OPTIONS if row.name == "errors.tolerance")
    assert row.valid_values
    assert all(read((row,), {row.name: word.upper()})[1] for word in row.valid_values.split(", "))


def test_the_reference_shows_the_valid_values_of_every_checked_option() -> None:
    options = (*connector.OPTIONS, *errors_policy.OPTIONS, *worker.OPTIONS, *exactly_once_source.OPTIONS)
    rows = reference.render().splitlines()
    for option in options:
        row = next(row for row in rows if row.startswith(f"| `{option.name}` |"))
        assert option.check is None or row.split(" | ")[3].strip(), row


@pytest.mark.parametrize("role", HandlerRole)
def test_the_reference_names_the_built_in_handlers_and_a_streams_default(role: HandlerRole) -> None:
    row = next(row for row in reference.render().splitlines() if row.startswith(f"| `{role.option}` |"))
    valid, doc = row.split(" | ")[3:5]
    assert [name for name in BUILT_IN[role] if "." not in name and f"`{name}`" not in valid] == []
    assert f"`{STREAM_DEFAULTS[role]}`" in doc


@pytest.mark.parametrize("options", [connector.OPTIONS, errors_policy.OPTIONS, worker.OPTIONS])
def test_every_option_has_a_doc_and_one_row(options: tuple[Option, ...]) -> None:
    assert all(option.doc.endswith(".") for option in options)
    names = [name for option in options for name in option.spellings]
    assert len(names) == len(set(names))


def test_the_reference_pages_are_current() -> None:
    # In a process of its own: tests in this one add connector classes.
    texts = "r.render(), r.render_acls(), r.render_connect()"
    program = f"from engine.assembly import reference as r; print({texts}, sep=chr(0), end='')"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    pages = (reference.PAGE, reference.ACLS_PAGE, reference.CONNECT_PAGE)
    assert made.split(chr(0)) == [(ROOT / page).read_text() for page in pages]


def test_values_lose_the_blanks_around_them_and_names_do_not() -> None:
    assert strip_values({"name": " c", "mode": "upsert "}) == {"name": " c", "mode": "upsert"}


def test_a_secret_under_a_misspelt_name_is_not_shown() -> None:
    assert unknown_option_problems(ROWS, {"passs": "hunter2"})[0][1] == "********"
