"""From one line to the first group: an empty virtual environment, the command, and a browser."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import chromium, sign_in
from tests.serve.served import Served

__all__ = ["chromium"]  # a fixture

log = logging.getLogger(__name__)  # `--log-cli-level=INFO` shows the seconds
FIRST_GROUP_S = 60
# It installs from a package index. test_serve.py shows the command in an unpacked wheel.
pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with nothing but the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    began = time.monotonic()
    install = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", str(wheel)]
    subprocess.run(install, check=True, timeout=600)
    log.info("installed in %.0f s", time.monotonic() - began)
    return folder


@pytest.fixture
def served(environment: Path, foreign_broker: str, tmp_path: Path) -> Iterator[Served]:
    running = Served([str(environment / "bin" / "dlqadmin")], tmp_path, foreign_broker)
    yield running
    running.stop()


def test_the_first_group_is_on_the_screen_within_a_minute_of_the_command(served: Served, chromium: Browser) -> None:
    served.start()
    served.wait_until_up()
    page = chromium.new_context(base_url=served.url).new_page()
    sign_in(page, "admin", served.password)
    page.goto("/groups")
    expect(page.get_by_test_id("group").first).to_be_visible()
    seconds = served.seconds()
    log.info("the first group after %.0f s", seconds)
    assert seconds < FIRST_GROUP_S


def test_the_installed_commands_run_and_every_package_is_within_its_bounds(
    environment: Path, tmp_path: Path, foreign_broker: str
) -> None:
    for name in ("dlqadmin", "dlq"):
        alone = subprocess.run([environment / "bin" / name], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (alone.returncode, name in alone.stdout + alone.stderr) == (2, True)
    command = [str(environment / "bin" / "dlqadmin"), "doctor", "--kafka", foreign_broker, "--data", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert [line.split()[:2] for line in done.stdout.splitlines() if " versions " in line] == [["ok", "versions"]]
