"""`python -m engine.spark.pack`: pack the Python environment of workers, and the engine.

The environment is an archive for Spark's option `spark.archives`. It holds the interpreter, the standard library and
the libraries of the virtual environment that runs this command, and runs from any directory. It needs no Python on the
workers, but the same processor and C library. It leaves out Spark, which each worker has.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from engine.spark.package import build_archive

TARGET = "environment.tar.gz"
COMPRESSION = 6
PROGRAM_MODE = 0o755
# Parts of the standard library for desktops, its own tests, and what builds extensions.
UNUSED = {"test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "site-packages", "dist-packages"}
SPARK = {"pyspark", "py4j"}

# `PYTHONHOME` of a worker would name another standard library.
LAUNCHER = """#!/bin/sh
home=$(cd "$(dirname "$0")/.." && pwd)
unset PYTHONHOME
LD_LIBRARY_PATH="$home/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" exec "$home/bin/{program}" "$@"
"""
# Some systems build a Python that looks for libraries elsewhere than a virtual environment does.
ADD_LIBRARIES = """import os, site, sys

for name in {folders!r}:
    folder = os.path.normpath(os.path.join(sys.prefix, name))
    if folder not in sys.path:
        site.addsitedir(folder)
"""


class PackError(Exception):
    """A reason why no environment can be packed, as one sentence."""


class Environment(NamedTuple):
    """A virtual environment and the Python that it was made from."""

    prefix: Path
    base: Path
    program: Path  # the interpreter itself
    libraries: tuple[Path, ...]
    standard_library: tuple[Path, ...]
    shared: tuple[Path, ...]  # the interpreter's own shared library, if it has one


def current_environment() -> Environment:
    """Return the environment of this process. Raises PackError outside a virtual environment."""
    if sys.prefix == sys.base_prefix:
        raise PackError(
            f"{sys.executable} is not in a virtual environment: run the command with the Python of one that has the"
            " engine's requirements."
        )
    shared = Path(sysconfig.get_config_var("LIBDIR") or "").glob(f"libpython{_version()}*.so*")
    return Environment(
        Path(sys.prefix),
        Path(sys.base_prefix).resolve(),
        Path(sys.executable).resolve(),
        _paths("purelib", "platlib"),
        _paths("stdlib", "platstdlib", base=str(Path(sys.base_prefix).resolve())),
        tuple(sorted(shared)) if sysconfig.get_config_var("Py_ENABLE_SHARED") else (),
    )


def pack(target: Path, environment: Environment) -> None:
    """Write the environment to a new file. Raises PackError if the file exists or a library is not in there."""
    if target.exists():
        raise PackError(f"{target} exists: remove it, or name another file.")
    if not target.parent.is_dir():
        raise PackError(f"{target.parent} is not a directory: create it, or name another file.")
    _refuse_links(environment)
    part = target.with_name(f"{target.name}.part")
    try:
        with tarfile.open(part, "w:gz", compresslevel=COMPRESSION, dereference=True) as archive:
            for path, name in _members(environment):
                archive.add(path, name, recursive=False, filter=_without_owner)
            program = environment.program.name
            _write(archive, "bin/python", LAUNCHER.format(program=program))
            folders = [str(folder.relative_to(environment.prefix)) for folder in environment.libraries]
            place = environment.standard_library[0].relative_to(environment.base)
            _write(archive, f"{place}/sitecustomize.py", ADD_LIBRARIES.format(folders=folders))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _members(environment: Environment) -> Iterator[tuple[Path, str]]:
    """Return each file and its name in the archive."""
    yield environment.program, f"bin/{environment.program.name}"
    for path in environment.shared:
        yield path, f"lib/{path.name}"
    for folder in environment.standard_library:
        for path in _files(folder, UNUSED):
            if path != folder / "sitecustomize.py":
                yield path, path.relative_to(environment.base).as_posix()
    for folder in environment.libraries:
        for path in _files(folder, SPARK):
            yield path, path.relative_to(environment.prefix).as_posix()


def _files(folder: Path, left_out: set[str]) -> Iterator[Path]:
    """Return the files below a folder, without the folders in it that are left out."""
    for where, folders, names in os.walk(folder, followlinks=True):
        if where == str(folder):
            folders[:] = [name for name in folders if name not in left_out and not name.startswith("config-")]
        folders.sort()
        yield from (path for name in sorted(names) if (path := Path(where, name)).is_file())


def _refuse_links(environment: Environment) -> None:
    """Raise PackError for a library that is only a link to a folder elsewhere."""
    for folder in environment.libraries:
        for file in sorted(folder.glob("*.pth")):
            for line in file.read_text().splitlines():
                if Path(line).is_absolute() and not Path(line).is_relative_to(environment.prefix):
                    raise PackError(
                        f"{file} links to {line}, which other machines do not have: install that library as a copy,"
                        " without the option --editable."
                    )


def _paths(*names: str, base: str | None = None) -> tuple[Path, ...]:
    """Return these paths of the interpreter, each once."""
    variables = {} if base is None else {"installed_base": base, "installed_platbase": base}
    paths = [Path(sysconfig.get_path(name, vars=variables)) for name in names]
    return tuple({path.resolve(): path for path in paths}.values())


def _version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _write(archive: tarfile.TarFile, name: str, text: str) -> None:
    member = tarfile.TarInfo(name)
    content = text.encode()
    member.size, member.mode = len(content), PROGRAM_MODE
    archive.addfile(member, BytesIO(content))


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m engine.spark.pack", description="Pack the environment of workers.")
    parser.add_argument("target", nargs="?", type=Path, default=Path(TARGET), help=f"a new file ({TARGET})")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Pack the environment and the engine. Return the exit status."""
    target: Path = argument_parser().parse_args(arguments).target
    try:
        pack(target, current_environment())
    except (PackError, OSError) as error:
        print(error, file=sys.stderr)  # noqa: T201, for the person at the terminal
        return 1
    engine = build_archive(target.parent)
    print(  # noqa: T201
        f"{engine} is the engine. Its driver sends it by itself; other jobs need it in spark.submit.pyFiles.\n"
        f"{target} is the environment of workers. The driver's options for it:\n"
        f"spark.archives={target.resolve()}#environment\n"
        "spark.pyspark.python=./environment/bin/python"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
