"""The wheel holds all that the dashboard and the engine read, and says what it needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

from engine.config.plugin_versions import VERSION
from tests.serve.wheel import copy_sources
from tests.suites import ROOT

pytestmark = pytest.mark.slow

TRACING = {"opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk"}


def files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def metadata(wheel: Path) -> dict[str, list[str]]:
    with ZipFile(wheel) as archive:
        [name] = [one for one in archive.namelist() if one.endswith(".dist-info/METADATA")]
        found = Parser().parsestr(archive.read(name).decode())
    return {name: found.get_all(name, []) for name in ("Version", "Provides-Extra", "Requires-Dist")}


def packages(text: str) -> set[str]:
    """Return the names before `==`, `>=` or `<` at the starts of lines."""
    found = re.findall(r"^([\w.-]+)(?:\[\w+\])?[=<>]", text, re.MULTILINE)
    return {name.lower() for name in found}


def test_the_wheel_has_every_file_of_the_packages_and_the_built_frontend(installed: Path) -> None:
    for package in ("dlqadmin", "engine"):
        assert files(ROOT / package) - files(installed / package) == set()
    assert files(installed / "dlqadmin" / "frontend") == files(ROOT / "frontend" / "dist")
    assert {path.name for path in installed.iterdir()} == {"dlqadmin", "engine", f"dlqadmin-{VERSION}.dist-info"}


def test_the_wheel_needs_every_pinned_package_within_bounds(wheel: Path) -> None:
    told = metadata(wheel)
    needed = told["Requires-Dist"]
    assert packages("\n".join(needed)) == packages((ROOT / "requirements.txt").read_text())
    assert [line for line in needed if ">=" not in line or "==" in line.partition(";")[0]] == []
    unbounded = packages("\n".join(line for line in needed if "<" not in line.partition(";")[0]))
    assert unbounded == {"drf-spectacular-sidecar", "regex"}  # their first number is a year
    assert told["Version"] == [VERSION]


def test_an_extra_has_what_the_dashboards_lock_leaves_to_the_engine(wheel: Path) -> None:
    told = metadata(wheel)
    extras = {
        extra: packages("\n".join(line for line in told["Requires-Dist"] if f'extra == "{extra}"' in line))
        for extra in told["Provides-Extra"]
    }
    web, engine = (packages((ROOT / "locks" / f"{name}.txt").read_text()) for name in ("web", "engine"))
    pinned = packages((ROOT / "requirements.txt").read_text())
    # Guarded DataFrames need pandas; connectors, which the engine's image runs, do not.
    assert extras == {"engine": (engine - web) & pinned | {"pandas"}, "postgres": {"psycopg"}, "tracing": TRACING}


def test_a_frontend_that_is_missing_or_older_than_its_sources_ends_the_build(tmp_path: Path) -> None:
    sources = copy_sources(tmp_path)
    later = time.time() + 60
    os.utime(sources / "frontend/src/testing.tsx", (later, later))
    assert problem(sources) == (
        "frontend/dist is older than frontend/src/testing.tsx. Run `make package`, which builds it anew."
    )
    (sources / "frontend/dist/index.html").unlink()
    assert problem(sources) == "frontend/dist is missing. Run `make package`, which builds it first."


def problem(sources: Path) -> str:
    done = subprocess.run(
        [sys.executable, "setup.py", "--version"], cwd=sources, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    return done.stderr.strip()


def test_the_commands_of_the_wheel_run_without_the_clone(installed: Path, tmp_path: Path) -> None:
    assert run(installed, tmp_path, "-m", "dlqadmin", "--version").stdout == f"dlqadmin {VERSION}\n"
    refused = run(installed, tmp_path, "-m", "dlqadmin.cli", "list")
    assert (refused.returncode, "Set DLQ_URL" in refused.stderr) == (2, True)


def test_an_installation_without_an_extra_names_it(installed: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "sitecustomize.py"
    hidden.write_text("import sys\nsys.modules.update(psycopg=None, pyspark=None)\n")
    bare = {"PYTHONPATH": f"{tmp_path}:{installed}"}
    engine = run(installed, tmp_path, "-m", "engine", "run", **bare)
    assert (engine.returncode, engine.stderr.strip()) == (
        1,
        "The engine needs Spark, which is not installed. Run: pip install 'dlqadmin[engine]'",
    )
    migrated = run(installed, tmp_path, "-m", "dlqadmin", "manage", "migrate", "--plan", **bare)
    assert migrated.returncode == 0, migrated.stderr
    database = {"DATABASE_URL": "postgresql://h/d", **bare}
    dashboard = run(installed, tmp_path, "-m", "dlqadmin", "manage", "check", **database)
    assert (dashboard.returncode, dashboard.stderr.strip()) == (
        1,
        "dlqadmin: DATABASE_URL names PostgreSQL, whose client is not installed. Run: pip install 'dlqadmin[postgres]'",
    )


def test_an_installation_keeps_its_data_in_the_users_data_folder(installed: Path, tmp_path: Path) -> None:
    shown = run(installed, tmp_path, "-c", "from dlqadmin import settings as s; print(s.DATABASES['default']['NAME'])")
    assert shown.stdout.strip() == f"{tmp_path}/.local/share/dlqadmin/dlqadmin.sqlite3", shown.stderr
    moved = run(installed, tmp_path, "-c", "from dlqadmin import settings as s; print(s.LOCAL_DIR)", XDG_DATA_HOME="/x")
    assert "/x/dlqadmin" in moved.stdout + moved.stderr


def run(installed: Path, folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(installed), **more}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
    )
