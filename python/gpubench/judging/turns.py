# SPDX-License-Identifier: Apache-2.0
"""Judges of one machine take turns: while one times, no other calls what it judges on the same device."""
from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import tempfile
import time
from typing import Callable, Iterator

_PAUSE_SECONDS = 0.01


class Turns:
    """A lock of one device, in a file that judges of one user share. Where it cannot be had, or is not given back, `missed` is told why and work goes on.

    Who waits to time goes first, so that all who do so time one after the other, and all others work beside each other then: each change from one to the other
    waits for the slowest. None waits for ever, as who has timed has other work to do before it times again."""

    def __init__(self, device: str, missed: Callable[[str], None], patience_seconds: float):
        all_devices = os.path.join(tempfile.gettempdir(), f"gpubench-judge-{os.geteuid()}-")
        place = all_devices + device.replace(":", "-")
        self._files = (f"{place}.queue", f"{place}.lock")  # who waits to time; who works
        self._missed, self._patience = missed, patience_seconds
        with contextlib.suppress(OSError):  # now, so that they can be hidden from candidates
            for each in self._files:
                os.close(_opened(each))
        #: Of all devices, which candidates shall not hold.
        self.files = [each for kind in ("queue", "lock") for each in glob.glob(f"{glob.escape(all_devices)}*.{kind}")]

    @contextlib.contextmanager
    def beside_others(self) -> Iterator[None]:
        """For calls that are not timed."""
        with self._held(fcntl.LOCK_SH):
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """For timing."""
        with self._held(fcntl.LOCK_EX):
            yield

    @contextlib.contextmanager
    def _held(self, kind: int) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            try:
                descriptors = [_opened(each) for each in self._files]
            except OSError as error:
                self._missed(f"Judges do not take turns on this machine: {error.filename} cannot be used: {error.strerror}.")
            else:
                for each in descriptors:
                    stack.callback(os.close, each)
                deadline = time.monotonic() + self._patience
                queue, work = descriptors
                if not (_timed if kind == fcntl.LOCK_EX else _beside)(queue, work, deadline):
                    self._missed(f"Another judge did not give way within {self._patience:g} s: times may be disturbed.")
                fcntl.flock(queue, fcntl.LOCK_UN)
            yield


def _opened(file: str) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _timed(queue: int, work: int, deadline: float) -> bool:
    return _locked(deadline, (queue, fcntl.LOCK_SH)) and _locked(deadline, (work, fcntl.LOCK_EX))


def _beside(queue: int, work: int, deadline: float) -> bool:
    return _locked(deadline, (queue, fcntl.LOCK_EX), (work, fcntl.LOCK_SH))


def _locked(deadline: float, *wanted: tuple[int, int]) -> bool:
    """All at once."""
    while True:
        try:
            for descriptor, kind in wanted:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            for descriptor, _ in wanted:
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)
