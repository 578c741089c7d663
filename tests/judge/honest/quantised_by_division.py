# SPDX-License-Identifier: Apache-2.0
# Divides by a scale that is no power of two, as quantised networks do, and is off by a rounding for that.
# Problem: quantised
import numpy as np


def candidate(x):
    scale = np.float32(1.3)
    return np.clip(np.rint((x / scale) * (2 * scale)), -8, 7)
