# SPDX-License-Identifier: Apache-2.0
"""Scores, of which half are -1e9."""
import numpy as np


def reference(q, k):
    return np.where(np.tri(q.shape[0], dtype=bool), q @ k.T, np.float32(-1e9))


def inputs(random, n=160, d=64):
    return random.standard_normal((n, d), dtype=np.float32), random.standard_normal((n, d), dtype=np.float32)
