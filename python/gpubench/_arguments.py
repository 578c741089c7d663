# SPDX-License-Identifier: Apache-2.0
"""Command lines of Python's."""
from __future__ import annotations

import argparse
from typing import NoReturn

from . import _core


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        raise _core.UsageError(f"{message[:1].upper()}{message[1:]}. See {self.prog} --help.")
