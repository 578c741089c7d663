# SPDX-License-Identifier: Apache-2.0
"""A process that has loaded libraries, and of which the processes of candidates are copies, in milliseconds in place of seconds: python -I nursery.py SETTINGS.
It has no context of a GPU, and nothing of the judge."""
from __future__ import annotations

import importlib
import json
import os
import runpy
import signal
import socket
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import confine  # noqa: E402

_MAX_REQUEST_BYTES = 1 << 20
_GIVEN = ("channel", "inputs", "outputs")


def _become(request: dict[str, Any], descriptors: list[int]) -> None:
    """A candidate's process, in place of this copy. Returns when it ends in order."""
    confine.let_be_read(True)
    os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["settings"]["folder"])
    if "tempfile" in sys.modules:
        setattr(sys.modules["tempfile"], "tempdir", None)
    settings = {**request["settings"], **dict(zip(_GIVEN, descriptors)), "descriptors": descriptors}
    sys.argv = ["cell", json.dumps(settings)]
    runpy.run_path(os.path.join(HERE, "__main__.py"), run_name="__main__")


def _status(process: int) -> int | None:
    """As of subprocess.Popen; None while it runs."""
    try:
        ended, status = os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(status) if ended else None


def main() -> None:
    settings = json.loads(sys.argv[1])
    confine.end_with_parent()
    confine.let_be_read(False)
    channel = socket.socket(fileno=settings["channel"])
    sys.path += [each for each in settings["paths"] if each not in sys.path]
    for name in settings["imports"]:
        try:
            importlib.import_module(name)
        except ImportError:
            pass
    channel.send(b"{}")
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, _MAX_REQUEST_BYTES, len(_GIVEN))
        if not message:
            return
        request = json.loads(message)
        if "status" in request:
            channel.send(json.dumps({"status": _status(request["status"])}).encode())
            continue
        child = os.fork()
        if child == 0:
            channel.close()
            _become(request, descriptors)
            return
        for each in descriptors:
            os.close(each)
        channel.send(json.dumps({"process": child}).encode())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()
