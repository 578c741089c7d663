# SPDX-License-Identifier: Apache-2.0
"""Eight bits for each number, and what they are multiples of."""
import numpy as np


def reference(x):
    step = np.abs(x).max() / 127
    return np.clip(np.round(x / step), -128, 127).astype(np.int8), step


def inputs(random, n=100000):
    return random.standard_normal(n, dtype=np.float32)


tolerance = (0.0, 1.0)
contents = ["large", "signs", "outliers", "spike", "ties"]
