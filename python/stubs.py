#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes _core/*.pyi, what type checkers see of the extension, beside it: stubs.py FOLDER-OF-GPUBENCH. The build calls it."""
import pathlib
import re
import subprocess
import sys
import tempfile

PACKAGE = pathlib.Path(sys.argv[1]).resolve()
LICENSE = "# SPDX-License-Identifier: Apache-2.0\n"
ERROR = 'class Error(RuntimeError):\n    """What gpubench cannot do, in one sentence."""\n'

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "gpubench._core", "-r", "-O", folder],
                   check=True, cwd=PACKAGE.parent)
    (PACKAGE / "_core").mkdir(exist_ok=True)
    for stub in sorted(pathlib.Path(folder).rglob("*.pyi")):
        text = stub.read_text(encoding="utf-8")
        text = text.replace("import gpubench\nfrom gpubench import Error as Error\n", "")
        text = text.replace("from gpubench._core import profile as profile\n", "from . import profile as profile\n")
        text = text.replace("class UsageError(gpubench.Error)", ERROR + "\nclass UsageError(Error)").replace("(gpubench.Error)", "(Error)")
        text = re.sub(r"\b(dict|list)(?=[:)]| \|)", lambda found: {"dict": "dict[str, Any]", "list": "list[Any]"}[found[1]], text)
        text = re.sub(r"-> (dict|list): ", lambda found: {"dict": "-> dict[str, Any]: ", "list": "-> list[Any]: "}[found[1]], text)
        text = text.replace("*args)", "*args: object)").replace("\n\n", "\nfrom typing import Any\n\n", 1)
        place = PACKAGE / "_core" / stub.name
        place.unlink(missing_ok=True)
        place.write_text(LICENSE + text, encoding="utf-8")
