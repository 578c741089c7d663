# SPDX-License-Identifier: Apache-2.0
"""The former name of gpubench.torch_cli, kept for one version."""
import sys

from .torch_cli import main

if __name__ == "__main__":
    sys.exit(main())
