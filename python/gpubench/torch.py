# SPDX-License-Identifier: Apache-2.0
"""The import path of gpubench.pytorch: `from gpubench.torch import UnifiedProfiler`."""
import sys
from typing import TYPE_CHECKING

from . import pytorch

if TYPE_CHECKING:
    from .pytorch import *  # noqa: F403
else:
    sys.modules[__name__] = pytorch
