# SPDX-License-Identifier: Apache-2.0
"""Shuts this process in, as far as the system lets it: namespaces, read-only files, no network, limits, no capabilities.

It is no sandbox for hostile native code: the kernel's calls are all open to it."""
from __future__ import annotations

import contextlib
import ctypes
import errno
import glob
import os
import resource
import signal
import struct
import sys
from typing import Any, Callable

_libc = ctypes.CDLL(None, use_errno=True)

_NEWNS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_BIND, _MS_REC, _MS_PRIVATE, _MS_NOSUID_NODEV = 1, 4096, 16384, 1 << 18, 2 | 4
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_PDEATHSIG, _CAPBSET_DROP, _SUBREAPER, _NO_NEW_PRIVS, _GET_DUMPABLE, _SET_DUMPABLE = 1, 24, 36, 38, 3, 4


def _check(result: int) -> None:
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _check(_libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode() or None))


def _forbid(path: str, what: int, on: bool, whole_tree: bool = False) -> None:
    attributes = struct.pack("QQQQ", what * int(on), what * int(not on), 0, 0)
    _check(_libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path.encode(), _AT_RECURSIVE if whole_tree else 0, attributes, ctypes.c_size_t(32)))


_WRITING, _DEVICES = 1, 4  # MOUNT_ATTR_RDONLY, _NODEV
#: All else is shut off, as terminals, disks and the kernel's log, which root could open without any capability.
_KEPT_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/dxg")
#: Of the kernel itself, which root could write to without any capability.
_OF_THE_KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/driver")


def _files(settings: dict[str, Any], own_processes: bool) -> None:
    """All files can be read and none written but those of the candidate's own folder, and of its own processes: CUDA does not start where it cannot name its
    threads. Those of the problem are gone."""
    own = settings["folder"]
    for place in _OF_THE_KERNEL:
        if own_processes and os.path.exists(place):
            _mount(place, place, "", _MS_BIND)
    _mount(own, own, "", _MS_BIND)
    for hidden in settings["hidden"]:
        _mount("/dev/null", hidden, "", _MS_BIND)
    if os.path.isdir("/dev/shm"):
        limit = settings.get("memory_bytes")
        _mount("none", "/dev/shm", "tmpfs", _MS_NOSUID_NODEV, f"size={limit}" if limit else "")
    kept = [] if "/dev" in settings["without"] else [each for pattern in _KEPT_DEVICES for each in glob.glob(pattern) if not os.path.isdir(each)]
    for device in kept:
        _mount(device, device, "", _MS_BIND)
    _forbid("/", _WRITING | (_DEVICES if kept else 0), True, whole_tree=True)
    for device in kept:
        _forbid(device, _DEVICES, False)
    writable = [own, *(each for each in ("/dev/shm",) if os.path.isdir(each)), *(["/proc"] if own_processes else [])]
    for place in {*writable, *(each for each in ("/proc", "/dev", "/sys") if each in settings["without"] and os.path.ismount(each))}:
        _forbid(place, _WRITING, False)
    os.chdir(own)


def _limits(settings: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        _write("/proc/self/oom_score_adj", "1000")  # where the system runs out of memory, this ends first: files in memory have no limit
    for name, value in (("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 1 << 30), ("RLIMIT_AS", settings.get("memory_bytes"))):
        if value is None or (name == "RLIMIT_FSIZE" and "file size" in settings["without"]):
            continue
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


#: What can be left out where something does not work in it, the least harm first.
PARTS = ("file size", "/dev", "/sys", "/proc", "ipc", "processors", "capabilities", "network", "processes", "files")


def group_of(folder: str) -> str | None:
    """Where a group of processes with a limit of their number is to be, named as the folder; None where the system counts none."""
    name = os.path.basename(folder)
    try:
        with open("/proc/self/cgroup", encoding="ascii") as stream:
            groups = dict(line.strip().split(":", 2)[1:] for line in stream)
    except (OSError, ValueError):
        return None
    for controller, top in (("pids", "/sys/fs/cgroup/pids"), ("", "/sys/fs/cgroup")):
        place = top + groups.get(controller, "/").rstrip("/")
        if controller in groups and os.path.isfile(f"{place}/cgroup.procs"):
            return f"{place}/{name}"
    return None


def processes_limit(asked: int) -> int:
    """Libraries start several threads for each processor."""
    return max(asked, 8 * (os.cpu_count() or 1))


def _limit_processes(settings: dict[str, Any]) -> None:
    """By a group of their own; where that cannot be made, by the user's limit, which does not hold for root."""
    count = processes_limit(settings["processes"])
    group = group_of(settings["folder"])
    try:
        if group is None:
            raise OSError(0, "the system counts no groups of processes")
        above = os.path.dirname(group) + "/cgroup.subtree_control"
        if os.path.isfile(above):  # version 2
            _write(above, "+pids")
        os.mkdir(group)
        _write(f"{group}/pids.max", str(count))
        _write(f"{group}/cgroup.procs", "0")  # this process
    except OSError:
        resource.setrlimit(resource.RLIMIT_NPROC, (count, count))
        if os.geteuid() == 0:
            raise


def _write(file: str, text: str) -> None:
    with open(file, "w", encoding="ascii") as stream:
        stream.write(text)


def _no_capabilities() -> None:
    for capability in range(64):
        _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    header = struct.pack("Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
    _check(_libc.capset(header, bytes(24)))


#: By machine: the numbers of seccomp and sched_setaffinity, and the machine's own of <linux/audit.h>.
_CALLS = {"x86_64": (317, 203, 0xC000003E), "aarch64": (277, 122, 0xC00000B7)}


def _keep_all_processors() -> None:
    """sched_setaffinity returns 0 and does nothing: threads on one processor wait for each other, and time of waiting is subtracted as other programs'."""
    if os.uname().machine not in _CALLS:
        raise OSError(errno.ENOSYS, f"its filter of calls is not known on {os.uname().machine}")
    seccomp, affinity, machine = _CALLS[os.uname().machine]
    load, equal, from_on, give, fail = 0x20, 0x15, 0x35, 0x06, 0x50000
    steps = ((load, 0, 0, 4), (equal, 0, 4, machine), (load, 0, 0, 0), (from_on, 2, 0, 0x40000000), (equal, 2, 0, affinity),
             (give, 0, 0, 0x7FFF0000), (give, 0, 0, fail | errno.ENOSYS), (give, 0, 0, fail))  # calls of another machine's kind are not known
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in steps))
    header = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(program))
    _check(_libc.syscall(seccomp, 1, 4, header))  # SECCOMP_SET_MODE_FILTER, _FLAG_SPEC_ALLOW


def end_with_parent() -> None:
    """Ends this process when the thread that has started it ends."""
    _libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def let_be_read(on: bool) -> bool:
    """Whether processes of the same user, without capabilities, can read this one's memory and trace it. Returns what was so before."""
    before = _libc.prctl(_GET_DUMPABLE, 0, 0, 0, 0)
    _libc.prctl(_SET_DUMPABLE, int(on), 0, 0, 0)
    return bool(before == 1)


def confine(settings: dict[str, Any]) -> dict[str, str]:
    """Returns in the process that is shut in: what could not be had, by name, with the reason. Its parent waits for it and ends as it does."""
    missing: dict[str, str] = dict(settings["without"])

    def attempt(name: str, action: Callable[[], None]) -> bool:
        if name in settings["without"]:
            return False
        try:
            action()
            return True
        except OSError as error:
            missing[name] = error.strerror or str(error)
            return False

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # who ignores it has his children's time counted nowhere
    end_with_parent()
    _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    user, group = os.geteuid(), os.getegid()
    owns = user == 0 or attempt("namespaces", lambda: _check(_libc.unshare(_NEWUSER)))
    if owns and user != 0:
        for file, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            _write(f"/proc/self/{file}", text)
    has_pids = False
    if owns and settings["namespaces"]:
        attempt("network", lambda: _check(_libc.unshare(_NEWNET)))
        attempt("ipc", lambda: _check(_libc.unshare(_NEWIPC)))
        if attempt("files", lambda: _check(_libc.unshare(_NEWNS))) and attempt("files", lambda: _mount("none", "/", "", _MS_REC | _MS_PRIVATE)):
            has_pids = attempt("processes", lambda: _check(_libc.unshare(_NEWPID)))
        else:
            missing.setdefault("processes", "they need a view of files of their own")
    elif not settings["namespaces"]:
        missing["namespaces"] = "--no-namespaces was given"
    child = os.fork()
    if child:
        for number in settings["descriptors"]:
            os.close(number)
        while True:
            ended, status = os.waitpid(-1, 0)
            if ended == child:
                os._exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
    end_with_parent()
    attempt("number of processes", lambda: _limit_processes(settings))
    if has_pids:
        attempt("processes", lambda: _mount("none", "/proc", "proc", _MS_NOSUID_NODEV))
    if owns and settings["namespaces"] and "files" not in missing:
        attempt("files", lambda: _files(settings, has_pids and "processes" not in missing))
    _limits(settings)
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    attempt("capabilities", _no_capabilities)
    attempt("processors", _keep_all_processors)
    sys.stdout.flush()
    return missing
