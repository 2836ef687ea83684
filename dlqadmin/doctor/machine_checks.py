"""Checks of this machine: space and rights of the folders, and versions."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from tempfile import TemporaryFile

from django.conf import settings

from dlqadmin.doctor.check_results import CheckResult, error, ok, warning
from engine.config.plugin_versions import VERSION

LITTLE_BYTES, TOO_LITTLE_BYTES = 2 * 1024**3, 200 * 1024**2
SHOWN = ("Django", "celery", "confluent-kafka", "uvicorn")
BOUND = re.compile(r"(>=|<)([\d.]+)")


def disk_checks() -> Iterator[CheckResult]:
    """Yield a result for each folder that grows."""
    folders = {"data": Path(settings.LOCAL_DIR), "exports": Path(settings.EXPORTS_DIR)}
    for what, folder in folders.items():
        yield disk(what, folder)


def disk(
    what: str, folder: Path, little_bytes: int = LITTLE_BYTES, too_little_bytes: int = TOO_LITTLE_BYTES
) -> CheckResult:
    """Check that the folder can be written, and that its disk has space."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with TemporaryFile(dir=there):
            free = shutil.disk_usage(there).free
    except OSError as problem:
        found = f"The folder of {what} {folder} can't be written: {problem.strerror}."
        return error("disk", found, f"Give this user rights on {there}.")
    words = f"The folder of {what} {folder} has {free / 1024**3:.1f} GiB of free space."
    if free < too_little_bytes:
        return error("disk", words, "Free space: databases and exports can't grow.")
    if free < little_bytes:
        return warning("disk", words, "Free some space, or set RETENTION_DAYS and EXPORT_DAYS.")
    return ok("disk", words)


def version_checks() -> Iterator[CheckResult]:
    """Yield the versions, and each installed package that this version was not made for."""
    for requirement in _requirements():
        name, installed, bounds = requirement
        if installed is None or not _is_within(installed, bounds):
            found = f"{name} {installed or 'is missing'}; dlqadmin {VERSION} needs {name}{bounds}."
            yield error("versions", found, f"Run: pip install '{name}{bounds}'")
    listed = ", ".join(f"{name} {_installed(name)}" for name in SHOWN)
    yield ok("versions", f"dlqadmin {VERSION}, Python {platform.python_version()}, {listed}.")


def _requirements() -> Iterator[tuple[str, str | None, str]]:
    """Yield name, installed version and bounds of each package that dlqadmin needs; none in a clone."""
    try:
        needed = requires("dlqadmin") or []
    except PackageNotFoundError:
        return
    for line in needed:
        if ";" not in line:  # else it belongs to an extra
            name, bounds = re.fullmatch(r"([\w.-]+)(?:\[\w+\])?(.*)", line).groups()  # type: ignore[union-attr]
            yield name, _installed(name), bounds


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _is_within(installed: str, bounds: str) -> bool:
    found = _numbers(installed)
    return all(
        found >= _numbers(bound) if sign == ">=" else found < _numbers(bound) for sign, bound in BOUND.findall(bounds)
    )


def _numbers(text: str) -> list[int]:
    """Return the numbers of a release, without what follows them."""
    match = re.match(r"\d+(\.\d+)*", text)
    found = [int(part) for part in match[0].split(".")] if match else []
    while found and not found[-1]:
        found.pop()
    return found
