"""Run one Python program without rights: `python -I -S -B launcher.py DESCRIPTION`.

DESCRIPTION is a JSON object. bubblewrap provides a finished view of the file system; under
`unshare` the launcher builds the view itself. Then it gives up every right, filters system calls,
and becomes the program. It imports only the standard library.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import runpy
import site
import struct
import sys
from pathlib import Path
from typing import Any

NOBODY = 65534
NEW_ROOT = Path("/proc")  # exists on every machine, and nothing below it is ever shown

# Constants of Linux: sys/mount.h, linux/mount.h, linux/prctl.h, linux/capability.h.
MS_NOSUID, MS_BIND, MS_REC, MNT_DETACH = 2, 4096, 16384, 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID = 1, 2
SYS_MOUNT_SETATTR = 442  # the same number on every architecture, since Linux 5.12
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 22, 24, 38
SECCOMP_MODE_FILTER = 2
LAST_CAPABILITY = 63
CAPABILITY_VERSION_3 = 0x20080522

# Refused system calls: other name spaces, memory of other processes, mounts, keys, and calls with a
# large attack surface. For each architecture: its number, then the numbers of the system calls
# (asm/unistd.h).
REFUSED = {
    "x86_64": (0xC000003E, {
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "unshare": 272, "setns": 308, "mount": 165,
        "umount2": 166, "pivot_root": 155, "open_tree": 428, "move_mount": 429, "fsopen": 430, "mount_setattr": 442,
        "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
        "io_uring_setup": 425, "open_by_handle_at": 304, "pidfd_getfd": 438,
    }),
    "aarch64": (0xC00000B7, {
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "unshare": 97, "setns": 268, "mount": 40,
        "umount2": 39, "pivot_root": 41, "open_tree": 428, "move_mount": 429, "fsopen": 430, "mount_setattr": 442,
        "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
        "io_uring_setup": 425, "open_by_handle_at": 265, "pidfd_getfd": 438,
    }),
}  # fmt: skip
CLONE, SOCKET = {"x86_64": 56, "aarch64": 220}, {"x86_64": 41, "aarch64": 198}
CLONE3 = 435  # its flags are behind a pointer, which no filter can read; the C library falls back to clone
CLONE_NEWUSER = 0x10000000
FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6 have their own name spaces in the sandbox; AF_VSOCK has none
EPERM, ENOSYS = 1, 38
X32 = 0x40000000  # x86-64's second table of system calls

libc = ctypes.CDLL(None, use_errno=True)


def main(description: dict[str, Any]) -> None:
    """Confine this process as described, then become its program."""
    if description["shown"]:
        build_view([Path(path) for path in description["shown"]])
        continue_as_child()
    if description["confined"]:
        give_up_rights()
        filter_system_calls()
    for name in set(os.environ) - {"LC_CTYPE"}:  # bubblewrap sets PWD
        del os.environ[name]
    for name, (soft, hard) in description["limits"].items():
        resource.setrlimit(getattr(resource, name), (soft, hard))
    for folder in description["packages"]:
        site.addsitedir(folder)  # reads .pth files too, so that editable packages are found
    sys.path[:0] = description["imports"]
    program = description["program"]
    sys.argv = [program, *description["arguments"]]
    if program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def build_view(shown: list[Path]) -> None:
    """Move to a new root that holds the shown files and folders, read-only, and nothing else."""
    _check_result(libc.mount(b"tmpfs", bytes(NEW_ROOT), b"tmpfs", MS_NOSUID, b"mode=0755"), "mount a tmpfs")
    for path in shown:
        place = NEW_ROOT / path.relative_to("/")
        folder = place if path.is_dir() else place.parent
        folder.mkdir(parents=True, exist_ok=True)
        if folder is not place:
            place.touch()
        _check_result(libc.mount(bytes(path), bytes(place), None, MS_BIND | MS_REC, None), f"show {path}")
    os.chdir(NEW_ROOT)
    _check_result(libc.pivot_root(b".", b"."), "change the root")  # the old root is now mounted over the new one
    _check_result(libc.umount2(b".", MNT_DETACH), "leave the old root")
    os.chdir("/")
    attributes = struct.pack("=QQQQ", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, 0, 0, 0)
    done = libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, attributes, len(attributes))
    _check_result(done, "make the view read-only")


def continue_as_child() -> None:
    """Continue in a child process, and exit with its status.

    The first process of a name space ignores most signals, so the program must not be the first.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        os._exit(code if code >= 0 else 128 - code)  # as bubblewrap does


def give_up_rights() -> None:
    """Become nobody if the real root started us, and drop every capability for good."""
    _check_result(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "refuse new privileges")
    for capability in range(LAST_CAPABILITY + 1):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails beyond the kernel's last capability
    if os.getuid() == 0 and _is_real_root():
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    header, none = struct.pack("=Ii", CAPABILITY_VERSION_3, 0), bytes(24)
    _check_result(libc.capset(header, none), "drop the capabilities")


def filter_system_calls() -> None:
    """Refuse system calls that no record needs. Other architectures have no filter."""
    machine = platform.machine()
    if machine not in REFUSED:
        return
    rules = system_call_filter(machine)
    kept = ctypes.create_string_buffer(rules, len(rules))
    program = struct.pack("@HP", len(rules) // 8, ctypes.addressof(kept))
    done = libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(program), 0, 0)
    _check_result(done, "filter system calls")


def system_call_filter(machine: str) -> bytes:
    """Return the filter as a classic BPF program (seccomp(2)).

    The first match decides; a call without a match is allowed.
    """
    architecture, refused = REFUSED[machine]
    load, equal, at_least, masked, end = 0x20, 0x15, 0x35, 0x54, 0x06
    deny, missing, allow, kill = 0x00050000 | EPERM, 0x00050000 | ENOSYS, 0x7FFF0000, 0x80000000
    number, arch, argument = 0, 4, 16  # offsets in struct seccomp_data; lower half of the first argument

    def rule(code: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
        return struct.pack("=HBBI", code, when_true, when_false, value)

    rules = [rule(load, arch), rule(equal, architecture, 1), rule(end, kill), rule(load, number)]
    if machine == "x86_64":
        rules += [rule(at_least, X32, 0, 1), rule(end, kill)]
    for call in refused.values():
        rules += [rule(equal, call, 0, 1), rule(end, deny)]
    rules += [rule(equal, CLONE3, 0, 1), rule(end, missing)]
    rules += [rule(equal, CLONE[machine], 0, 5), rule(load, argument), rule(masked, CLONE_NEWUSER)]
    rules += [rule(equal, CLONE_NEWUSER, 0, 1), rule(end, deny), rule(end, allow)]
    rules += [rule(equal, SOCKET[machine], 0, 2 + len(FAMILIES)), rule(load, argument)]
    rules += [rule(equal, family, left) for family, left in zip(FAMILIES, range(len(FAMILIES), 0, -1), strict=True)]
    rules += [rule(end, deny), rule(end, allow)]
    return b"".join(rules)


def _is_real_root() -> bool:
    """Return whether other user ids exist here. Our own user name space has only one."""
    try:
        os.setegid(NOBODY)
    except OSError:
        return False
    return True


def _check_result(result: int, act: str) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, f"can't {act}: {os.strerror(error)}")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
