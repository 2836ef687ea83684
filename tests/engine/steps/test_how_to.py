"""The page that shows how to write a transform, installed and run as a reader would."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.assembly.validation import validate
from engine.config.properties import parse_properties
from engine.errors import ConfigError
from engine.pipeline.chain import sink_steps
from engine.ports import Sink, Source
from engine.record.record import RawRecord
from engine.record.stage import StageType
from engine.steps.predicates import Predicate
from engine.steps.processors import Processor
from engine.steps.registry import Converter, Transform, build_converter, build_transform
from tests.support.pages import HOW_TO, blocks_of, install
from tests.support.permissions import open_worker

ROOT = Path(__file__).resolve().parents[3]
PAGE = (HOW_TO / "write-a-transform.md").read_text()
BLOCKS = blocks_of("write-a-transform.md")
PROPERTIES = parse_properties(BLOCKS["properties"])
WORKER = open_worker({"bootstrap.servers": "localhost:9092"})


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's package as a distribution on the path, with what its pyproject.toml says."""
    install(BLOCKS, tmp_path, "sensors")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "sensors", raising=False)
    return tmp_path


def deliver(value: bytes) -> object:
    config = validate(PROPERTIES, WORKER).config
    steps = sink_steps(
        build_converter(config.key_converter, is_key=True),
        build_converter(config.value_converter, is_key=False),
        None,
        [build_transform(step, config.predicates) for step in config.transforms],
    )
    record = RawRecord("readings", 0, 0, 0, "CREATE_TIME", None, value)
    for _, step in steps:
        record = step(record)
    return record.value


def test_the_transform_is_twenty_lines_long() -> None:
    assert len(BLOCKS["python"].splitlines()) <= 24
    assert sum(1 for line in BLOCKS["python"].splitlines() if line.strip()) <= 20


@pytest.mark.usefixtures("installed")
def test_a_record_goes_through_the_transform_of_the_page() -> None:
    assert deliver(b'{"temperature": 212, "sensor": 7}') == {"temperature": 100.0, "sensor": 7}
    assert deliver(b"null") is None
    with pytest.raises(TypeError):
        deliver(b'{"temperature": "hot"}')
    stages = validate(PROPERTIES, WORKER).stages
    assert (StageType.TRANSFORMATION, "Celsius") in [(stage.type, stage.class_name) for stage in stages]


@pytest.mark.usefixtures("installed")
def test_an_option_that_the_transform_does_not_have_is_a_problem_with_a_hint() -> None:
    wrong = {**PROPERTIES, "transforms.celsius.feild": "temperature"}
    with pytest.raises(ConfigError) as caught:
        validate(wrong, WORKER)
    hint = "unknown option; did you mean transforms.celsius.field?"
    assert caught.value.problems == (("transforms.celsius.feild", "temperature", hint),)


@pytest.mark.slow
def test_the_command_of_the_page_accepts_its_connector_only_where_the_package_is_installed(installed: Path) -> None:
    work = installed / "work"  # Python imports nothing from the working directory
    work.mkdir()
    (work / "readings.properties").write_text(BLOCKS["properties"])
    (work / "worker.properties").write_text("bootstrap.servers=localhost:9092\nfile.connectors.root=/srv/engine\n")

    def command(*path: Path) -> subprocess.CompletedProcess[str]:
        arguments = ["-m", "engine", "validate", "readings.properties", "--worker", "worker.properties"]
        environment = {"PYTHONPATH": ":".join(map(str, path)), "PATH": "/usr/bin:/bin"}
        return subprocess.run(
            [sys.executable, "-P", *arguments],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert command(ROOT, installed).returncode == 0
    without = command(ROOT)
    assert without.returncode == 1
    assert "transforms.celsius.type = Celsius: is not a known class" in without.stderr


PROTOCOLS = {
    "engine.transforms": Transform,
    "engine.predicates": Predicate,
    "engine.converters": Converter,
    "engine.processors": Processor,
    "engine.sinks": Sink,
    "engine.sources": Source,
}


@pytest.mark.parametrize("group", PROTOCOLS)
def test_the_page_shows_every_method_of_every_protocol_with_its_arguments(group: str) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{group}` |"))
    shown = {name: arguments for name, arguments in re.findall(r"`(\w+)\(([^)]*)\)`", row) if name != "configure"}
    protocol = PROTOCOLS[group]
    methods = {name for name, value in vars(protocol).items() if callable(value) and not name.startswith("_")}
    assert set(shown) == methods - {"configure"}
    for name, arguments in shown.items():
        assert list(inspect.signature(getattr(protocol, name)).parameters)[1:] == [
            argument for argument in arguments.split(", ") if argument
        ]
