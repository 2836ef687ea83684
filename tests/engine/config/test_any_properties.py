"""Whatever somebody posts as a configuration, the answer is a list of problems, not a crash."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.connector import all_options, read_connector
from engine.config.masking import mask
from engine.config.properties import parse_properties
from engine.config.worker import OPTIONS, read_worker
from engine.steps.registry import step_problems

TEXTS = st.text(max_size=6) | st.sampled_from(
    [
        "-1", "0", "17", "true", "all", "a,b", "a,,b", "t", ".*", "(", "JsonConverter", "Flatten$Value", "Cast$Value",
        "ReplaceField$Value", "TopicNameMatches", "a:int8", "os.path", "no.such.module.Class", ".", ":",
        "sys:exit", "..", "..a", "a..b",
    ]
)  # fmt: skip
STEP_NAMES = [
    "transforms.a.type", "transforms.a.spec", "transforms.a.include", "transforms.a.renames", "transforms.a.predicate",
    "transforms.a.negate", "transforms.a", "predicates.b.type", "predicates.b.pattern",
    "value.converter.schemas.enable", "errors", "errors.", "", ".",
]  # fmt: skip
VARIABLES = st.text(max_size=6).map("CONNECT_".__add__)


def names(*more: str) -> st.SearchStrategy[str]:
    known = [spelling.replace("*", "x") for option in (*all_options(), *OPTIONS) for spelling in option.spellings]
    return st.sampled_from([*known, *more]) | st.text(max_size=5)


@pytest.mark.slow
@given(st.dictionaries(names(*STEP_NAMES), TEXTS, max_size=15))
def test_any_connector_is_read_or_told_what_is_wrong(props: dict[str, str]) -> None:
    config, problems = read_connector(props)
    for option, _, message in (*problems, *step_problems(config), *config.warnings):
        assert isinstance(option, str)
        assert message


@pytest.mark.slow
@given(st.dictionaries(names(), TEXTS, max_size=15), st.dictionaries(VARIABLES, TEXTS))
def test_any_worker_is_read_or_told_what_is_wrong(props: dict[str, str], env: dict[str, str]) -> None:
    assert all(message for _, _, message in read_worker(props, env)[1])


@given(st.text())
def test_any_text_is_read_as_properties(text: str) -> None:
    assert all(isinstance(value, str) for value in parse_properties(text).values())


@given(st.dictionaries(names(), TEXTS, max_size=5))
def test_masking_keeps_every_name(config: dict[str, str]) -> None:
    assert mask(config).keys() == config.keys()
