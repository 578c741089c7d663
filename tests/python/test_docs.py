# SPDX-License-Identifier: Apache-2.0
"""Runs the Python blocks of docs/python.md and docs/python/, those of a page one after another, in one scratch folder. With a GPU everything runs as
a reader runs it (`-rP` shows what the pages print); without one on the CPU, with made-up ceilings."""
import importlib.util
import pathlib
import re
import subprocess
import sys

import numpy
import pytest

import gpubench
from conftest import has_gpu
from gpubench import regime

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
PAGES = [DOCS / "python.md", *sorted((DOCS / "python").glob("*.md"))]
BLOCK = re.compile(r"(?:<!-- test: python needs (a GPU|PyTorch) -->\n)?```python\n(.*?)```", re.S)
WRITES = {"benchmarks": ["run.html"], "profile": ["ranges.csv"], "torch": ["memory.json"], "compat": ["output/result.csv"]}
QUICK = """from gpubench import harness
plain = harness.run
harness.run = lambda *chosen, **given: plain(*chosen, **{{**given, **{}}})
"""


def blocks_of(page):
    """Those that this machine can run."""
    needs_met = {"": True, "PyTorch": importlib.util.find_spec("torch") is not None}
    needs_met["a GPU"] = needs_met["PyTorch"] and has_gpu()
    return [block for needs, block in BLOCK.findall(page.read_text(encoding="utf-8")) if needs_met[needs]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_run(page, tmp_path, quick, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gpubench.profile.create_profiler().reset()  # there is one session in a process
    names = {"np": numpy, "gpubench": gpubench, "__name__": page.stem}
    if importlib.util.find_spec("torch") is not None:
        names["torch"] = pytest.importorskip("torch")
    if not has_gpu():
        plain = gpubench.run
        for module in (gpubench, regime):
            monkeypatch.setattr(module, "run", lambda *chosen, **given: plain(*chosen, **{**given, **quick}))
        monkeypatch.setattr(regime, "calibration", lambda device: gpubench.Calibration.load(quick["calibration"]))
        (tmp_path / "conftest.py").write_text(QUICK.format({**quick, "calibration": str(quick["calibration"])}), encoding="utf-8")
    for place, block in enumerate(blocks_of(page)):
        named = re.match(r"# (\w+\.py)\n", block)
        file = tmp_path / (named[1] if named else f"{page.stem}_{place}.py")  # a file: Triton reads the source of its kernels
        file.write_text(block, encoding="utf-8")
        if file.name.startswith("test_"):
            done = subprocess.run([sys.executable, "-m", "pytest", "-q", *plugin(), "-p", "no:cacheprovider", file.name],
                                  capture_output=True, text=True, check=False)
            print(done.stdout, done.stderr)
            assert done.returncode == 0
        else:
            exec(compile(block, str(file), "exec"), names)  # noqa: S102
    for file in WRITES.get(page.stem, ()) if blocks_of(page) else ():
        assert (tmp_path / file).exists()


def plugin():
    """What makes pytest find the plugin where the package is not installed."""
    import importlib.metadata
    installed = any(each.metadata["Name"] == "gpubench" for each in importlib.metadata.distributions())
    return [] if installed else ["-p", "gpubench.pytest_plugin"]


def test_every_page_has_blocks():
    assert len(PAGES) == 9 and all("```python" in page.read_text(encoding="utf-8") for page in PAGES)
