"""Record what a release stores, as a fixture of the tests of later releases.

`RECORD_RELEASE=<folder> pytest tests/browser` leaves the files of the product that the browser tests have used: its
database, and the broker's data with topics and committed offsets. With PRODUCT_DATABASE_URL the product uses
PostgreSQL, and a dump of that database is left. Record from a clone in a folder whose path everybody may read, because
it is in stack traces.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import tarfile
from pathlib import Path

from engine.config.plugin_versions import VERSION
from tests.support.product import Product

FOLDER, DATABASE = "RECORD_RELEASE", "PRODUCT_DATABASE_URL"
PRODUCT, POSTGRES, RELEASE = "product.tar.gz", "postgres.sql.gz", "release.json"
LEFT_OUT = ("logs", "run.log", "broker.log")


def stop(product: Product) -> None:
    """Stop a product, and record it if the environment says so."""
    product.stop()
    if folder := os.environ.get(FOLDER):
        record(Path(folder), product)


def record(folder: Path, product: Product) -> None:
    """Write the fixture of this release into the folder. The product must have been stopped."""
    folder.mkdir(parents=True, exist_ok=True)
    if url := os.environ.get(DATABASE):
        command = ["pg_dump", "--no-owner", "--no-privileges", "--dbname", url]
        dump = subprocess.run(command, check=True, capture_output=True).stdout
        (folder / POSTGRES).write_bytes(gzip.compress(dump, mtime=0))
    else:
        with tarfile.open(folder / PRODUCT, "w:gz") as archive:
            archive.add(product.home, ".", filter=lambda member: None if _is_left_out(member.name) else member)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (folder / RELEASE).write_text(json.dumps({"version": VERSION, "commit": commit}, indent=2) + "\n")


def _is_left_out(name: str) -> bool:
    return Path(name).name in LEFT_OUT
