#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes gpubench/_core/*.pyi from the built extension: PYTHONPATH=BUILD/python python3 python/stubs.py"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent / "gpubench"
LICENSE = "# SPDX-License-Identifier: Apache-2.0\n"
ERROR = 'class Error(RuntimeError):\n    """What gpubench cannot do, in one sentence."""\n'

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "gpubench._core", "-r", "-O", folder], check=True)
    for stub in sorted(pathlib.Path(folder).rglob("*.pyi")):
        text = stub.read_text(encoding="utf-8")
        text = text.replace("import gpubench\nfrom gpubench import Error as Error\n", "")
        text = text.replace("from gpubench._core import profile as profile\n", "from . import profile as profile\n")
        text = text.replace("class UsageError(gpubench.Error)", ERROR + "\nclass UsageError(Error)").replace("(gpubench.Error)", "(Error)")
        text = re.sub(r"\b(dict|list)(?=[:)])", lambda found: {"dict": "dict[str, Any]", "list": "list[Any]"}[found[1]], text)
        text = re.sub(r"-> (dict|list): ", lambda found: {"dict": "-> dict[str, Any]: ", "list": "-> list[Any]: "}[found[1]], text)
        text = text.replace("*args)", "*args: object)").replace("\n\n", "\nfrom typing import Any\n\n", 1)
        (HERE / "_core" / stub.name).write_text(LICENSE + text, encoding="utf-8")
