# SPDX-License-Identifier: Apache-2.0
"""Whether CUDA starts in a process that is shut in: python -I cuda_start.py SETTINGS. Prints what stands in the way, and nothing where it starts."""
from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import accelerator  # noqa: E402
import confine  # noqa: E402

if __name__ == "__main__":
    confine.confine(json.loads(sys.argv[1]))
    try:
        accelerator.start()
    except accelerator.Refused as error:
        print(error, flush=True)
    os._exit(0)
