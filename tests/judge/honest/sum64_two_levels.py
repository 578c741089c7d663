# SPDX-License-Identifier: Apache-2.0
# Problem: sum64
import numpy as np


def candidate(x):
    size = -(-x.size // 64) * 64
    blocks = np.cumsum(np.pad(x, (0, size - x.size)).reshape(-1, 64), axis=1)
    return (blocks + (np.cumsum(blocks[:, -1]) - blocks[:, -1])[:, None]).ravel()[:x.size]
