"""Files below a directory: a check of paths, and a safe open that no symbolic link can redirect."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT_OPTION = "file.connectors.root"


def path_problem(path: str, root: str | None) -> str | None:
    """Return why connectors may not use the file, as a clause; None if it is below the root."""
    if root is None:
        return f"file access is disabled; set the worker's {ROOT_OPTION} to the directory of connectors' files"
    if is_below(path, root):
        return None
    return f"is not below the worker's {ROOT_OPTION}; choose a file in {root}"


def is_below(path: str, root: str) -> bool:
    """Return whether the path, with links and `..` resolved, is below the directory."""
    try:
        real, top = Path(os.path.realpath(path)), Path(os.path.realpath(root))
    except ValueError:  # a null character
        return False
    return top in real.parents


def open_below(path: str, root: str, flags: int, mode: int = 0o666) -> int:
    """Open the file and return its descriptor. Raises ValueError if it is not below the root, and OSError.

    The path is resolved once. Then each directory is opened from its parent, and no link is followed. A link could be
    created after the check.
    """
    top = os.path.realpath(root)
    *folders, name = Path(os.path.realpath(path)).relative_to(top).parts or ("",)
    at = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for folder in folders:
            below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=at)
    finally:
        os.close(at)


def root_problem(root: str, import_path: Sequence[str] | None = None) -> str | None:
    """Return why the directory can't hold connectors' files: a file there could be imported. None if it can."""
    if not Path(root).is_absolute():
        return "must be an absolute path"
    real = Path(os.path.realpath(root))
    for entry in sys.path if import_path is None else import_path:
        importable = Path(os.path.realpath(entry))
        if real == importable or real in importable.parents:
            return (
                f"contains {importable}, an import path of Python, so a file sink could write code; choose another one"
            )
        if importable in real.parents and all(part.isidentifier() for part in real.relative_to(importable).parts):
            return f"is a package of {importable}, so a file sink could write code; choose another one"
    return None
