"""The parts of the wheel that other files decide: packages, requirements and the built frontend.

pyproject.toml has the rest. `make package` builds the wheel.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
DIST = "frontend/dist"
# The same files as the Makefile's.
SOURCES = ("package.json", "index.html", "vite.config.ts", "tsconfig.json", "src/**/*", "public/**/*")
PIN = re.compile(r"(?P<name>[\w.-]+(?:\[\w+\])?)==(?P<version>[\d.]+)(?:\s*# extra: (?P<extra>\w+))?")
FIRST_YEAR = 2000  # a first number from here on is a year


def requirements() -> dict[str, list[str]]:
    """Return the requirements of each extra; those of "" are always installed.

    The lower bound is the version that our tests ran with. The upper bound is the next version that may break us.
    """
    found = defaultdict[str, list[str]](list)
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        match = PIN.fullmatch(line.strip())
        if match is None:
            raise SystemExit(f"requirements.txt: {line!r} must be like name==1.2.3 or name==1.2.3  # extra: engine")
        found[match["extra"] or ""].append(f"{match['name']}>={match['version']}{upper_bound(match['version'])}")
    return found


def upper_bound(version: str) -> str:
    """Return the condition below the next major version, or the next minor version of a package before 1.0."""
    major, minor, *_ = (*map(int, version.split(".")), 0)
    if major >= FIRST_YEAR:
        return ""
    return f",<{major + 1}" if major else f",<0.{minor + 1}"


def check_frontend() -> None:
    """End the build if the frontend is not built, or not from these sources."""
    index = ROOT / DIST / "index.html"
    if not index.is_file():
        raise SystemExit(f"{DIST} is missing. Run `make package`, which builds it first.")
    sources = (path for pattern in SOURCES for path in (ROOT / "frontend").glob(pattern) if path.is_file())
    newest = max(sources, key=lambda path: path.stat().st_mtime)
    if newest.stat().st_mtime > index.stat().st_mtime:
        raise SystemExit(f"{DIST} is older than {newest.relative_to(ROOT)}. Run `make package`, which builds it anew.")


check_frontend()
given = requirements()
setup(
    packages=[*find_packages(include=["dlqadmin", "dlqadmin.*", "engine", "engine.*"]), "dlqadmin.frontend"],
    package_dir={"dlqadmin.frontend": DIST},
    package_data={"dlqadmin.frontend": ["**/*"], "engine.spark": ["log4j2.properties"]},
    install_requires=given.pop(""),
    extras_require=given,
)
