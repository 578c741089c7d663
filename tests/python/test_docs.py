# SPDX-License-Identifier: Apache-2.0
"""Runs the Python blocks of docs/python.md, one after another, in one scratch folder."""
import importlib.util
import os
import pathlib
import re

import numpy
import pytest

import gpubench

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "python.md"


def test_blocks_run(tmp_path, quick, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plain = gpubench.run
    monkeypatch.setattr(gpubench, "run", lambda *chosen, **options: plain(*chosen, **{**options, **quick}))
    blocks = re.findall(r"(<!-- test: python needs PyTorch -->\n)?```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 6
    names = {"np": numpy}
    for needs_torch, block in blocks:
        if needs_torch:
            if importlib.util.find_spec("torch") is None:
                continue
            names["torch"] = pytest.importorskip("torch")
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102
    assert os.path.exists("run.html") and os.path.exists("ranges.csv")
