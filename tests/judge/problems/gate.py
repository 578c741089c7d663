# SPDX-License-Identifier: Apache-2.0
"""The two largest of a softmax, and where they are."""
import numpy as np


def reference(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    places = np.argsort(-p, axis=1, kind="stable")[:, :2]
    chosen = np.take_along_axis(p, places, 1)
    return chosen / chosen.sum(axis=1, keepdims=True), places


def inputs(random, m=512, n=16):
    return random.standard_normal((m, n), dtype=np.float32)
