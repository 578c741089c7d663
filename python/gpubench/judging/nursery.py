# SPDX-License-Identifier: Apache-2.0
"""Processes that are copies of one that has loaded its libraries."""
from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Mapping, Sequence

_FILE = Path(__file__).resolve().parent / "cell" / "nursery.py"
_MAX_ANSWER_BYTES = 1 << 12


class Copy:
    """One of them, as subprocess.Popen has it."""

    def __init__(self, nursery: Nursery, process: int):
        self._nursery, self.pid = nursery, process
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._nursery.ask({"status": self.pid})["status"]
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a candidate", timeout or 0.0)
            time.sleep(0.002)
        return self.returncode or 0


class Nursery:
    """The process that is copied. Any thread may ask it."""

    def __init__(self, imports: Sequence[str], paths: Sequence[str], environment: Mapping[str, str]):
        self._lock = threading.Lock()
        self._folder = tempfile.mkdtemp(prefix="gpubench-judge-")
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = {"channel": theirs.fileno(), "imports": list(imports), "paths": list(paths)}
        try:
            self._process = subprocess.Popen([sys.executable, "-I", str(_FILE), json.dumps(settings)], pass_fds=[theirs.fileno()], cwd=self._folder,
                                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                             env={**environment, "HOME": self._folder, "TMPDIR": self._folder})
        finally:
            theirs.close()
        self._is_ready = False

    def ask(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        with self._lock:
            try:
                if not self._is_ready:  # its libraries are loaded
                    self._channel.recv(_MAX_ANSWER_BYTES)
                    self._is_ready = True
                socket.send_fds(self._channel, [json.dumps(request).encode()], list(descriptors))
                return dict(json.loads(self._channel.recv(_MAX_ANSWER_BYTES)))
            except (OSError, ValueError):
                if "status" in request:
                    return {"status": -9}  # they end with it
                raise RuntimeError("the process that candidates' processes are copies of has ended") from None

    def copy(self, settings: dict[str, Any], descriptors: Sequence[int], environment: Mapping[str, str]) -> Copy:
        """A candidate's process with channel, inputs and outputs."""
        return Copy(self, self.ask({"settings": settings, "environment": dict(environment)}, descriptors)["process"])

    def close(self) -> None:
        self._channel.close()
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
