"""The reference pages name everything that there is, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from demo import reference, screen_fields, screen_types
from dlqadmin.settings.environment import LIMITS
from engine.rest.prometheus import ERRORS, HELP, checkpoint_families, families

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
READ = re.compile(r'(?:env\.\w+|environment\.\w+|limit|rate)\(\s*"([A-Z_]+)"')


def first_cells(page: str) -> set[str]:
    """Return the code words in the first cells of a page's tables."""
    rows = re.findall(r"^\| (`[^|]*) \|", (REFERENCE / page).read_text(), re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row)}


def sources(*patterns: str) -> str:
    """Return the texts of all files that match."""
    return "\n".join(path.read_text() for pattern in patterns for path in sorted(ROOT.glob(pattern)))


@pytest.mark.slow
def test_the_rest_page_is_what_the_schema_says() -> None:
    assert reference.PAGE.read_text() == reference.render(), "run `make reference`"


def test_the_screens_have_the_fields_of_the_server() -> None:
    assert screen_fields.MODULE.read_text() == screen_fields.render(), "run `make reference`"


@pytest.mark.slow
def test_the_screens_have_the_types_of_the_schema() -> None:
    assert screen_types.MODULE.read_text() == screen_types.render(), "run `make reference`"


def test_the_environment_page_names_each_variable_that_the_settings_read() -> None:
    read = set(READ.findall(sources("dlqadmin/settings/*.py")))
    named = {name for name in first_cells("environment.md") if "*" not in name}
    assert named == read


def test_the_table_of_limits_is_what_the_settings_say() -> None:
    page = (REFERENCE / "environment.md").read_text()
    assert page == reference.with_limits(page), "run `make reference`"
    section = page.partition("## Limits")[2]
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", section, re.MULTILINE)) == set(LIMITS)
    assert "| `EXPORT_MAX_ROWS` | `20000000` | rows |" in section


def test_each_number_among_the_settings_of_the_environment_is_in_the_table_of_limits() -> None:
    numbers = set(re.findall(r'env\.(?:int|float)\(\s*"([A-Z_]+)"', sources("dlqadmin/settings/*.py")))
    assert numbers == {"EMAIL_PORT"}


def test_the_command_page_names_each_command_and_option() -> None:
    page = (REFERENCE / "command-line.md").read_text()
    text = sources(
        "engine/__main__.py",
        "dlqadmin/cli/arguments.py",
        "dlqadmin/serve/arguments.py",
        "dlqadmin/*/management/commands/*.py",
    )
    options = set(re.findall(r'"(--[a-z-]+)"', text)) | {"--from", "--to"}
    assert {option for option in options if option not in page} == set()
    commands = {path.stem for path in ROOT.glob("dlqadmin/*/management/commands/[a-z]*.py")}
    commands |= set(re.findall(r'add_parser\("([a-z-]+)"', text))
    assert commands == {row.split()[0] for row in first_cells("command-line.md") if not row.startswith("--")}


def test_the_metrics_page_names_each_metric() -> None:
    named = first_cells("metrics.md")
    engine = {name.replace("-", "_") for name in HELP}
    engine |= {family.name.removeprefix(ERRORS) for family in [*families([], 0), *checkpoint_families({}, 0)]}
    engine |= set(re.findall(r'"(kafka_connect_\w+s)"', sources("engine/rest/prometheus.py")))
    dashboard = set(re.findall(r'"(dlqadmin_\w+)"', sources("dlqadmin/overview/prometheus.py")))
    assert {name.removesuffix("_total") for name in named} == {
        name.removesuffix("_total") for name in engine | dashboard
    }


def test_the_metrics_page_turns_an_mbean_of_kip_298_into_a_metric_that_exists() -> None:
    page = " ".join((REFERENCE / "metrics.md").read_text().split())
    example = re.search(
        r"There is no JMX.*attribute `([\w-]+)` of `kafka\.connect:type=([\w-]+),.*?` is .*? `(\w+)\{", page
    )
    assert example is not None
    attribute, kind, metric = example.groups()
    assert attribute in HELP
    assert (
        metric
        == f"kafka_connect_{kind}_{attribute}_total".replace("-", "_")
        == f"{ERRORS}{attribute}_total".replace("-", "_")
    )
