"""Packages that a test installs for itself, and a garbage collector with little to look through."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Install = Callable[..., None]


@pytest.fixture(scope="module", autouse=True)
def _small_heap() -> None:
    """Hide the objects of earlier test files from the collector: a lease collects after each second of its clock."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a package on the path: its module's text, and its entry points as `group/name` → object."""

    def one(package: str, code: str, **offers: str) -> None:
        folder = tmp_path / package
        info = folder / f"{package}-1.2.dist-info"
        info.mkdir(parents=True)
        (folder / f"{package}.py").write_text(code)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        rows = [f"[engine.{name.split('__')[0]}]\n{name.split('__')[1]} = {found}" for name, found in offers.items()]
        (info / "entry_points.txt").write_text("\n".join(rows))
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, package, raising=False)

    return one
