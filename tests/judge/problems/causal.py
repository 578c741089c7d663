# SPDX-License-Identifier: Apache-2.0
"""The logarithm of a softmax of scores that a mask hides: its results have infinities."""
import numpy as np


def reference(scores):
    n = scores.shape[-1]
    seen = np.where(np.tri(n, dtype=bool), scores, np.float32(-np.inf))
    most = seen.max(axis=-1, keepdims=True)
    return seen - most - np.log(np.exp(seen - most).sum(axis=-1, keepdims=True))


def inputs(random, heads=4, n=64):
    return random.standard_normal((heads, n, n), dtype=np.float32)
