# SPDX-License-Identifier: Apache-2.0
"""Verdicts kept by content, so that a run that was interrupted goes on, and nothing is judged twice."""
from __future__ import annotations

import json
from pathlib import Path

from .. import _core
from .verdict import Result


class Store:
    """A folder with one small file a verdict."""

    def __init__(self, folder: Path):
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _core.UsageError(f"Verdicts cannot be kept in {folder}: {error.strerror}. Give another folder with --resume.") from None

    def find(self, key: str) -> Result | None:
        """What is kept; what cannot be read counts as nothing."""
        try:
            data = json.loads((self._folder / f"{key}.json").read_text(encoding="utf-8"))
            return Result.from_dict(data) if data.get("key") == key else None
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    def keep(self, result: Result) -> None:
        """Whole or not at all: several judges may share the folder. Throws WriteError."""
        _core.write_file(str(self._folder / f"{result.key}.json"), json.dumps(result.to_dict()))
