"""Launcher: becomes a command with minimal rights, ending with its parent.

Runs by path in an isolated interpreter, with the standard library only.
"""

import ctypes
import json
import os
import signal
import sys
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_SECUREBITS = 28
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
SECBIT_NO_SETUID_FIXUP = 1 << 2
CAP_DAC_OVERRIDE = 1
CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION_3 = 0x20080522

RESET_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilitySet(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _permitted() -> int:
    sets = (_CapabilitySet * 2)()
    _libc().capget(ctypes.byref(_CapabilityHeader(CAPABILITY_VERSION_3, 0)), sets)
    return int(sets[0].permitted)


def _keep_only(capability: int) -> None:
    """Keep a single capability over the coming exec, and drop all others."""
    mask = 1 << capability
    sets = (_CapabilitySet * 2)(_CapabilitySet(mask, mask, mask))
    _libc().capset(ctypes.byref(_CapabilityHeader(CAPABILITY_VERSION_3, 0)), sets)
    _libc().prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0)


def drop_root(uid: int, gid: int, *, search: bool) -> None:
    """Continue as an ordinary account.

    Args:
        uid: The account's number, not 0.
        gid: The account's group.
        search: Keep the right to pass through directories closed to others: a program below /root is
            unreachable otherwise. The secure bit makes access(2) respect the right too.
    """
    kept = None
    if search and sys.platform == "linux":
        held = _permitted()
        kept = next((c for c in (CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE) if held >> c & 1), None)
    if kept is not None:
        _libc().prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
    if kept is not None:
        _keep_only(kept)


def die_with_parent(parent_pid: int, death_signal: int) -> None:
    """Request a signal from the kernel at the parent's death; exit at once if already dead."""
    if sys.platform == "linux":
        _libc().prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent_pid:
        sys.exit(1)


def main(arguments: list[str]) -> None:
    """Set up the process by its options, then replace the process.

    Args:
        arguments: The options as a JSON object (`parent_pid`, `death_signal`, `uid`, `gid`, `search`; `uid`
            is null to keep the account), then the command.
    """
    options = json.loads(arguments[0])
    for number in RESET_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o077)
    if options["uid"] is not None:
        drop_root(options["uid"], options["gid"], search=options["search"])
    die_with_parent(options["parent_pid"], options["death_signal"])
    os.execv(arguments[1], arguments[1:])  # noqa: S606 - replacing this process is the point


if __name__ == "__main__":
    main(sys.argv[1:])
