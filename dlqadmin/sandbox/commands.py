"""Command lines that start a Python program in a sandbox.

Pure, except for checks which folders exist.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import assert_never

import msgspec

LAUNCHER = Path(__file__).with_name("launcher.py")
PACKAGES = ("site-packages", "dist-packages")
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
DATA = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo")
DEVICES = ("/dev/null", "/dev/urandom")
NOBODY = "65534"


class Confinement(StrEnum):
    """Ways to confine a program, the strongest first. Only real root can give it a user id of its own."""

    BUBBLEWRAP_AS_ROOT = "bubblewrap, as root"
    BUBBLEWRAP = "bubblewrap"
    UNSHARE_AS_ROOT = "unshare, as root"
    UNSHARE = "unshare"
    NONE = "none"


class ConfinedProgram(msgspec.Struct, frozen=True):
    """A Python program, and everything that it may see besides Python itself.

    `program` is the path of a `.py` file or the name of a module. `imports` are folders of the import
    path; the program can import only the parts of them that `shown` includes. `limits` maps `RLIMIT_…`
    to its soft and hard value.
    """

    program: str
    arguments: tuple[str, ...] = ()
    shown: tuple[Path, ...] = ()
    imports: tuple[Path, ...] = ()
    limits: Mapping[str, tuple[int, int]] = {}


def candidates() -> list[Confinement]:
    """Return the means whose program is installed, the strongest first."""
    found = []
    if shutil.which("bwrap"):
        found += [Confinement.BUBBLEWRAP_AS_ROOT, Confinement.BUBBLEWRAP]
    if shutil.which("unshare"):
        found += [Confinement.UNSHARE_AS_ROOT, Confinement.UNSHARE]
    return found if os.geteuid() == 0 else [means for means in found if not means.endswith("as root")]


def command(program: ConfinedProgram, means: Confinement) -> list[str]:
    """Return the command line. Start it with an empty environment, in its own session."""
    shown = visible_paths(program)
    match means:
        case Confinement.NONE:
            return _launch(program)
        case Confinement.BUBBLEWRAP_AS_ROOT:
            capabilities = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")  # for the launcher, which gives them up
            kept = [word for name in capabilities for word in ("--cap-add", name)]
            return [*_bubblewrap(shown), "--cap-drop", "ALL", *kept, "--", *_launch(program, confined=True)]
        case Confinement.BUBBLEWRAP:
            user = ["--unshare-user", "--uid", NOBODY, "--gid", NOBODY]
            return [*_bubblewrap(shown), *user, "--", *_launch(program, confined=True)]
        case Confinement.UNSHARE_AS_ROOT:
            return [*_unshare(), "--", *_launch(program, shown, confined=True)]
        case Confinement.UNSHARE:
            return [*_unshare(), "--user", "--map-root-user", "--", *_launch(program, shown, confined=True)]
    assert_never(means)


def visible_paths(program: ConfinedProgram) -> list[Path]:
    """Return the files and folders that the program sees.

    Only those that exist are returned, and none that is inside another.
    """
    standard = Path(sysconfig.get_path("stdlib")).parent  # libpython is beside it
    wanted = [
        python(), standard, standard.with_name("lib64"), *_packages(), LAUNCHER,
        *map(Path, (*LIBRARIES, *DATA, *DEVICES)), *program.shown,
    ]  # fmt: skip
    found = dict.fromkeys(path for path in wanted if path.is_absolute() and path.exists())
    return [path for path in found if not any(path != other and path.is_relative_to(other) for other in found)]


def python() -> Path:
    """Return the real interpreter, with the links of a virtual environment resolved."""
    return Path(sys.executable).resolve()


def _packages() -> list[Path]:
    """Return the package folders of this process's import path."""
    return [Path(entry) for entry in sys.path if Path(entry).name in PACKAGES]


def _launch(program: ConfinedProgram, shown: Sequence[Path] = (), *, confined: bool = False) -> list[str]:
    description = {
        "program": program.program,
        "arguments": program.arguments,
        "imports": [str(path) for path in program.imports],
        "packages": [str(path) for path in _packages()],
        "limits": dict(program.limits),
        "shown": [str(path) for path in shown],
        "confined": confined,
    }
    return [str(python()), "-I", "-S", "-B", str(LAUNCHER), json.dumps(description)]


def _bubblewrap(shown: Sequence[Path]) -> list[str]:
    """Return bubblewrap's command with its own view and all name spaces except the user's.

    bubblewrap sets no-new-privileges.
    """
    spaces = ["--unshare-ipc", "--unshare-net", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
    # Without these, the folders above a shown one keep their modes from outside, and `nobody` may not
    # enter /root.
    above = dict.fromkeys(str(folder) for path in shown for folder in reversed(path.parents[:-1]))
    folders = [word for folder in above for word in ("--dir", folder)]
    binds = [word for path in shown for word in _bind_option(str(path))]
    ends = ["--chdir", "/", "--remount-ro", "/", "--die-with-parent"]
    return [str(shutil.which("bwrap")), *spaces, *folders, *binds, *ends]


def _bind_option(path: str) -> tuple[str, str, str]:
    return "--dev-bind" if path in DEVICES else "--ro-bind", path, path


def _unshare() -> list[str]:
    spaces = ["--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup"]
    return [str(shutil.which("unshare")), *spaces, "--fork", "--kill-child=SIGKILL"]
