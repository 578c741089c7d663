#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of this folder with pytest, and mypy where it is there. Arguments go to pytest."""
import importlib.util
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
NEEDED = ("pytest", "numpy")

missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
if missing:
    print(f"skipped: {sys.executable} has no {' and no '.join(missing)}")
    sys.exit(77)
code = subprocess.call([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE), *sys.argv[1:]])
if importlib.util.find_spec("mypy") is not None:
    package = pathlib.Path(importlib.util.find_spec("gpubench").origin).parent  # as built: with the extension's stubs
    code = subprocess.call([sys.executable, "-m", "mypy", "--cache-dir=/dev/null", package], cwd=HERE.parent.parent) or code
sys.exit(code)
