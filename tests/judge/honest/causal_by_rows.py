# SPDX-License-Identifier: Apache-2.0
# Problem: causal
import numpy as np


def candidate(scores):
    result = np.full_like(scores, -np.inf)
    for row in range(scores.shape[-1]):
        seen = scores[:, row, :row + 1]
        seen = seen - seen.max(axis=-1, keepdims=True)
        result[:, row, :row + 1] = seen - np.log(np.exp(seen).sum(axis=-1, keepdims=True))
    return result
