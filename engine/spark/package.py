"""The archive of the package `engine` that the driver sends to the workers of a cluster.

Its name holds the engine's version and a digest of its content. Its bytes depend on nothing but the source files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import engine
from engine.config.plugin_versions import VERSION

PACKAGE = Path(engine.__path__[0])
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can hold
FILE_MODE = 0o644 << 16
DIGEST_DIGITS = 12


def archive_name(package: Path = PACKAGE) -> str:
    """Return the file name of the archive: `engine-<version>-<digest>.zip`."""
    digest = hashlib.sha256()
    for name, content in _files(package):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return f"{package.name}-{VERSION}-{digest.hexdigest()[:DIGEST_DIGITS]}.zip"


def build_archive(folder: Path, package: Path = PACKAGE) -> Path:
    """Write the archive into the folder and return its path. An archive of the same content is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / archive_name(package)
    part = path.with_suffix(".part")
    # Not compressed, because the output of a compressor differs between its versions.
    with ZipFile(part, "w", ZIP_STORED) as archive:
        for name, content in _files(package):
            entry = ZipInfo(name, EPOCH)
            entry.external_attr = FILE_MODE
            archive.writestr(entry, content)
    part.replace(path)
    return path


def _files(package: Path) -> Iterator[tuple[str, bytes]]:
    """Return the name and the content of each file of the package, without compiled code."""
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(package.parent).as_posix(), path.read_bytes()
