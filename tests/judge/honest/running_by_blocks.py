# SPDX-License-Identifier: Apache-2.0
# Problem: running
import numpy as np


def candidate(x):
    blocks = np.cumsum(x.reshape(len(x), -1, 256), axis=2)
    before = np.cumsum(blocks[:, :, -1], axis=1) - blocks[:, :, -1]
    return (blocks + before[:, :, None]).reshape(x.shape)
