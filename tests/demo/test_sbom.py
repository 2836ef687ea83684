"""The bill of materials of the locked Python packages."""

from __future__ import annotations

import re

import pytest

from demo import sbom
from demo.environment import ROOT

pytestmark = pytest.mark.unit


def test_each_locked_package_is_in_the_bill_with_all_its_digests() -> None:
    lock = (ROOT / "locks" / "run.txt").read_text()
    found = sbom.python_packages()["components"]
    named = re.findall(r"^([\w.\[\]-]+)==([^ ]+) ", lock, re.MULTILINE)
    assert sorted((row["name"], row["version"]) for row in found) == sorted(named)
    assert sum(len(row["hashes"]) for row in found) == len(set(re.findall(r"--hash=sha256:\w{64}", lock)))
    assert all(row["purl"].startswith("pkg:pypi/") for row in found)
