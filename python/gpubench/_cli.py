# SPDX-License-Identifier: Apache-2.0
"""The console script: the program that was built with the package."""
from __future__ import annotations

import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "gpubench")


def main() -> None:
    """Becomes the program, with the same arguments. What it starts in Python uses this one."""
    os.environ.setdefault("GPUBENCH_PYTHON", sys.executable)
    try:
        os.execv(PROGRAM, ["gpubench", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"gpubench: {PROGRAM} cannot be run: {error.strerror}. Install the package again.")


if __name__ == "__main__":
    main()
