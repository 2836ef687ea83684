"""A connector's configuration runs no code that the operator has not allowed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.assembly.validation import secrets_of, validate
from engine.config.worker import WorkerConfig, parse_worker
from engine.errors import ConfigError
from engine.import_path import closed_path

ROOT = Path(__file__).resolve().parents[2]
CODE = """
from pathlib import Path
Path({marker!r}).touch()
class X:
    put_is_idempotent = False
    def configure(self, configs, is_key=False): pass
    def start(self, config): pass
    def put(self, records): pass
    def flush(self): pass
    def stop(self): pass
    def apply(self, record): return record
    def test(self, record): return True
    def process(self, record): pass
    def to_connect(self, *given): return None, None
    def from_connect(self, *given): return None
    def handle(self, context, record, exception): return "FAIL"
"""
SINK = {"name": "c", "connector.class": "FileStreamSink", "topics": "t"}
STREAM = {"name": "c", "connector.class": "stream", "topics": "t", "sinks": "s", "sinks.s.topic": "out"}
DOORS = {
    "connector.class": SINK,
    "key.converter": SINK,
    "value.converter": SINK,
    "header.converter": SINK,
    "transforms.x.type": {**SINK, "transforms": "x"},
    "predicates.x.type": {**SINK, "predicates": "x"},
    "processing.exception.handler": SINK,
    "production.exception.handler": STREAM,
    "processors.x.type": {**STREAM, "processors": "x", "sinks.s.parents": "x"},
    "output.value.converter": {**SINK, "connector.class": "KafkaSink", "topic": "other"},
    "replication.policy.class": {"name": "m", "connector.class": "mirror", "source.cluster.bootstrap.servers": "h:1"},
}


def problems(properties: dict[str, str], worker: WorkerConfig) -> dict[str, str]:
    try:
        validate(properties, worker)
    except ConfigError as error:
        return {option: message for option, _, message in error.problems}
    return {}


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that appears when the module `thatfile`, which lies on the import path, is imported."""
    path = tmp_path / "imported"
    (tmp_path / "thatfile.py").write_text(CODE.format(marker=str(path)))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "thatfile", raising=False)
    return path


@pytest.mark.parametrize("option", DOORS)
def test_no_option_imports_a_class_that_is_not_allowed(marker: Path, option: str) -> None:
    found = problems({**DOORS[option], option: "thatfile.X"}, parse_worker({}))
    assert option in found
    if option != "replication.policy.class":  # which is no door: it takes two names
        assert "plugin.classes.allow" in found[option]
    assert not marker.exists()


@pytest.mark.parametrize("option", [option for option in DOORS if option != "replication.policy.class"])
def test_a_pattern_of_the_worker_opens_every_door(marker: Path, option: str) -> None:
    worker = parse_worker({"plugin.classes.allow": "thatfile.*"})
    assert problems({**DOORS[option], option: "thatfile.X"}, worker) == {}
    assert marker.exists()


@pytest.mark.parametrize("allowed", ["other.*", "thatfile.Y", "thatfile", "x.thatfile.X", "THATFILE.X"])
def test_a_pattern_matches_the_whole_path(marker: Path, allowed: str) -> None:
    worker = parse_worker({"plugin.classes.allow": allowed})
    assert "plugin.classes.allow" in problems({**SINK, "connector.class": "thatfile.X"}, worker)["connector.class"]
    assert not marker.exists()


def test_the_worker_of_a_lease_has_the_same_patterns(marker: Path) -> None:
    driver = parse_worker({"plugin.classes.allow": "thatfile.*"})
    assert problems({**SINK, "value.converter": "thatfile:X"}, parse_worker(driver.properties)) == {}
    assert problems({**SINK, "value.converter": "thatfile:X"}, parse_worker({})) != {}


def test_asking_for_secrets_imports_nothing_and_hides_what_is_not_known(marker: Path) -> None:
    properties = {**SINK, "transforms": "x", "transforms.x.type": "thatfile.X", "transforms.x.salt": "hush"}
    assert "transforms.x.salt" in secrets_of(properties, parse_worker({}))
    assert not marker.exists()


def run(folder: Path, worker: str, connector_class: str) -> subprocess.CompletedProcess[str]:
    """Validate a connector with a real engine whose working directory is `folder`."""
    (folder / "c.properties").write_text(f"name=c\nconnector.class={connector_class}\ntopics=t\n")
    (folder / "worker.properties").write_text(worker)
    return subprocess.run(
        [sys.executable, "-B", "-m", "engine", "validate", "c.properties", "--worker", "worker.properties"],
        cwd=folder, env={"PYTHONPATH": f"{ROOT}:"}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("allowed", ["", "plugin.classes.allow=*,thatfile.*\n"])
def test_a_module_in_the_working_directory_is_never_imported(tmp_path: Path, allowed: str) -> None:
    (tmp_path / "thatfile.py").write_text(CODE.format(marker=str(tmp_path / "imported")))
    done = run(tmp_path, allowed, "thatfile.X")
    assert done.returncode == 1
    assert "connector.class = thatfile.X: " in done.stderr
    assert not (tmp_path / "imported").exists()


@pytest.mark.slow
def test_a_module_in_the_working_directory_hides_no_library(tmp_path: Path) -> None:
    for name in ("sqlalchemy", "orjson", "argparse", "confluent_kafka", "yaml"):
        (tmp_path / f"{name}.py").write_text(CODE.format(marker=str(tmp_path / "imported")))
    assert run(tmp_path, "", "FileStreamSink").returncode == 0
    assert run(tmp_path, "", "SqlSink").returncode == 1
    assert not (tmp_path / "imported").exists()


@pytest.mark.slow
def test_a_module_beside_the_engine_is_not_imported_even_if_the_checkout_is_the_working_directory(
    tmp_path: Path,
) -> None:
    worker, connector = tmp_path / "w", tmp_path / "c"
    worker.write_text("plugin.classes.allow=*\n")
    connector.write_text("name=c\nconnector.class=manage.main\ntopics=t\n")
    done = subprocess.run(
        [sys.executable, "-B", "-m", "engine", "validate", str(connector), "--worker", str(worker)],
        cwd=ROOT, env={}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "is in a module of the working directory, which is never imported" in done.stderr


def test_the_import_path_ends_with_the_checkout_and_has_no_relative_entry() -> None:
    here = str(ROOT)
    assert closed_path(["", ".", "lib", "/work-dir", here, "/opt/lib"], "/work-dir") == ["/opt/lib", here]
    assert closed_path([here, "/opt/lib"], here) == ["/opt/lib", here]
