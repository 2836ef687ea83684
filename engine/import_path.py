"""Keep the working directory off the import path.

`python -m` puts the working directory first, so that any file written there could be imported instead of a library.
This module imports little on purpose: it runs before everything else.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120, holds the package `engine`


def close() -> None:
    """Remove the working directory from `sys.path`, and move a source checkout behind all libraries.

    The checkout must stay, because the engine's own modules are imported later. Behind the libraries it hides none.
    """
    sys.path[:] = closed_path(sys.path, os.getcwd())  # noqa: PTH109, a text is compared


def closed_path(path: list[str], working_directory: str) -> list[str]:
    """Return the entries of an import path without the working directory; a checkout of the engine comes last."""
    kept = [entry for entry in path if _is_kept(entry, working_directory)]
    return kept if is_installed(ROOT) else [*kept, ROOT]


def is_installed(folder: str) -> bool:
    """Return whether the directory is one of the interpreter's own, for libraries."""
    real = os.path.realpath(folder)
    return real.endswith(("site-packages", "dist-packages")) or real == os.path.dirname(os.path.realpath(os.__file__))  # noqa: PTH120, as realpath


def _is_kept(entry: str, working_directory: str) -> bool:
    if not os.path.isabs(entry):  # noqa: PTH117, entries are texts; an empty one means the working directory
        return False
    if is_installed(entry):
        return True
    return os.path.realpath(entry) not in {ROOT, os.path.realpath(working_directory)}
