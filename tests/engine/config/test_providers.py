"""Config providers: which there are, what they may read, and the page that shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.config.properties import parse_properties
from engine.config.providers import OPTIONS, Provider, ResolvedProperties, has_reference, read_providers

PAGE = (Path(__file__).parents[3] / "docs/how-to/use-config-providers.md").read_text()


def test_the_properties_of_the_page_name_three_providers() -> None:
    [block] = re.findall(r"```properties\n(.*?)```", PAGE, re.DOTALL)
    providers, problems = read_providers(parse_properties(block))
    assert problems == []
    assert providers.by_name == {
        "file": Provider("file", "FileConfigProvider", "/run/secrets"),
        "directory": Provider("directory", "DirectoryConfigProvider", "/run/secrets"),
        "env": Provider("env", "EnvVarConfigProvider", "SHOP_.*"),
    }
    references = ("${file:/run/secrets/shop.properties:password}", "${directory:/run/secrets:password}")
    assert providers.problems(dict.fromkeys(("a", "b"), "") | {"a": references[0], "b": references[1]}) == []
    assert providers.problems({"a": "${env:SHOP_PASSWORD}"}) == []
    assert all(reference in PAGE for reference in (*references, "${env:SHOP_PASSWORD}"))


@pytest.mark.parametrize("name", ["file", "dir", "directory", "env"])
def test_the_usual_names_need_no_class(name: str) -> None:
    assert read_providers({"config.providers": name})[1] == []


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"config.providers": "vault"}, "config.providers.vault.class"),
        ({"config.providers": "v", "config.providers.v.class": "com.example.Vault"}, "config.providers.v.class"),
        ({"config.providers.file.class": "FileConfigProvider"}, "config.providers.file.class"),
        (
            {"config.providers": "env", "config.providers.env.param.allowlist.pattern": "("},
            "config.providers.env.param.allowlist.pattern",
        ),
    ],
)
def test_a_provider_that_can_not_be_used_is_a_problem_of_its_option(given: dict[str, str], option: str) -> None:
    assert [row[0] for row in read_providers(given)[1]] == [option]


def test_options_of_providers_hold_no_references() -> None:
    assert has_reference("sasl.password", "${env:A}")
    assert not has_reference("config.providers.env.param.allowlist.pattern", "${env:A}")
    assert [option.name for option in OPTIONS] == ["config.providers", "config.providers.*"]


def test_a_value_is_hidden_wherever_it_stands_the_longest_first() -> None:
    found = ResolvedProperties(values={"${env:A}": "abcd", "${env:B}": "abcdef\n", "${env:C}": "x"})
    assert found.hide("see abcdef, abcd and x") == "see ${env:B}, ${env:A} and x"
    problem = ("o", "abcd", "no word may be abcd or part of it")
    assert found.without_values(problem) == ("o", "${env:A}", "no word may be ${env:A} or part of it")


def test_a_message_with_a_part_of_a_value_is_replaced() -> None:
    found = ResolvedProperties(values={"${env:A}": "user:hunter2"}, written={"o": "${env:A}"})
    told = found.without_values(("o", "user:hunter2", "hunter2 is no option"))
    assert told == ("o", "${env:A}", "is invalid with the value from its config provider; the value is not shown")
