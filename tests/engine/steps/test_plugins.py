from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.config.connector import read_connector
from engine.config.worker import StepConfig
from engine.errors import ConfigError
from engine.steps import plugins
from engine.steps.registry import build_transform, step_problems

Install = Callable[..., None]
MINIMAL = {"name": "c", "connector.class": "FileStreamSink", "topics": "t"}


GOOD = """
class Same:
    def configure(self, configs): self.configs = configs
    def apply(self, record): return record
"""


def transform(name: str, **options: str) -> Any:
    return build_transform(StepConfig("x", name, options, "transforms.x.", allow=("dotted.*",)))


def problems(name: str) -> list[str]:
    props = {**MINIMAL, "transforms": "x,y", "transforms.x.type": name, "transforms.y.type": "Flatten$Key"}
    return [f"{option}: {message}" for option, _, message in step_problems(read_connector(props)[0])]


def test_a_class_is_found_by_its_entry_point_and_configured(install: Install) -> None:
    install("goodness", GOOD, transforms__Same="goodness:Same")
    assert transform("Same", a="1").configs == {"a": "1"}
    assert problems("Same") == []


def test_a_class_of_another_group_is_not_found(install: Install) -> None:
    install("elsewhere", GOOD, predicates__Same="elsewhere:Same")
    assert plugins.find(plugins.TRANSFORMS, "Same") is None
    assert problems("Same") == ["transforms.x.type: is not a known class"]


def test_built_in_classes_come_before_entry_points_and_these_before_dotted_paths(install: Install) -> None:
    install("loud", GOOD, transforms__Filter="loud:Same")
    install("dotted", GOOD + "class Other(Same): pass", **{"transforms__dotted.Same": "dotted:Other"})
    found = [type(transform(name)).__name__ for name in ("Filter", "dotted.Same", "dotted.Other", "dotted:Same")]
    assert found == ["Filter", "Other", "Other", "Same"]


@pytest.mark.parametrize(
    ("code", "target", "text"),
    [
        ("import no_such_library", "broken:Same", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("1 / 0", "broken:Same", "ZeroDivisionError"),
        ("raise SystemExit(3)", "broken:Same", "SystemExit: 3"),
        ("this is no python", "broken:Same", "SyntaxError"),
        ("", "broken:Same", "AttributeError"),
        ("", "gone:Same", "ModuleNotFoundError"),
        ("Same = 1", "broken:Same", "must be a class with a configure method"),
        ("class Same: pass", "broken:Same", "must be a class with a configure method"),
        (
            "class Same:\n def __init__(self, x): pass\n def configure(self, c): pass\n def apply(self, r): pass",
            "broken:Same",
            "can't be created",
        ),
    ],
)
def test_a_broken_package_is_one_problem_that_names_it_and_breaks_no_other(
    install: Install, code: str, target: str, text: str
) -> None:
    install("broken", code, transforms__Broken=target)
    install("goodness", GOOD, transforms__Same="goodness:Same")
    found = problems("Broken")
    assert len(found) == 1
    assert found[0].startswith("transforms.x.type: ")
    assert text in found[0]
    assert problems("Same") == []


def test_the_problem_names_the_package_and_its_version(install: Install) -> None:
    install("broken", "1 / 0", transforms__Broken="broken:Same")
    with pytest.raises(plugins.BrokenPlugin, match=r"^broken:Same of broken 1\.2 can't be loaded: ZeroDivisionError"):
        plugins.find(plugins.TRANSFORMS, "Broken")


def test_a_name_that_two_packages_offer_is_a_problem(install: Install) -> None:
    install("one", GOOD, transforms__Same="one:Same")
    install("two", GOOD, transforms__Same="two:Same")
    with pytest.raises(ConfigError, match=r"several packages: (one|two):Same of (one|two) 1\.2, "):
        transform("Same")


def test_names_are_listed_without_loading_anything(install: Install) -> None:
    install("broken", "1 / 0", transforms__Broken="broken:Same")
    install("goodness", GOOD, transforms__Same="goodness:Same")
    assert {"Broken", "Same"} <= set(plugins.names(plugins.TRANSFORMS))
    assert plugins.names("engine.nothing") == ()


def test_a_misspelt_name_comes_with_the_nearest_that_is_offered(install: Install) -> None:
    install("goodness", GOOD, transforms__Celsius="goodness:Same")
    assert problems("Celsuis") == ["transforms.x.type: is not a known class; did you mean Celsius?"]


@pytest.mark.parametrize("row", ["[console_scripts]\njust-a-name\n", "\udce4"])
def test_a_package_whose_entry_points_can_not_be_read_is_passed_over_with_a_warning(
    install: Install, tmp_path: Path, caplog: pytest.LogCaptureFixture, row: str
) -> None:
    install("torn", GOOD, transforms__Torn="torn:Same")
    install("goodness", GOOD, transforms__Same="goodness:Same")
    folder = tmp_path / "torn" / "torn-1.2.dist-info"
    (folder / "entry_points.txt").write_bytes(row.encode("utf-8", "surrogateescape"))
    assert problems("Same") == []
    assert "Same" in plugins.names(plugins.TRANSFORMS)
    assert "Torn" not in plugins.names(plugins.TRANSFORMS)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len([text for text in warnings if "torn" in text]) == 1


@pytest.mark.parametrize("path", ["", "NoDots", ".", "org.apache.kafka.connect.transforms.Gone"])
def test_what_is_no_path_leads_to_nothing(path: str) -> None:
    assert plugins.at_path(path, ["*"]) is None
