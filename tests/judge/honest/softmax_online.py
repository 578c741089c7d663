# SPDX-License-Identifier: Apache-2.0
# Problem: softmax
import numpy as np


def candidate(x):
    top = np.full(x.shape[0], -np.inf, np.float32)
    total = np.zeros(x.shape[0], np.float32)
    for i in range(0, x.shape[1], 16):
        part = x[:, i:i + 16]
        higher = np.maximum(top, part.max(axis=1))
        total = total * np.exp(top - higher) + np.exp(part - higher[:, None]).sum(axis=1)
        top = higher
    return np.exp(x - top[:, None]) / total[:, None]
