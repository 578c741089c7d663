# SPDX-License-Identifier: Apache-2.0
import numpy as np


def reference(x):
    return x.argmax(axis=1)


def inputs(random, rows=50, n=200):
    return random.standard_normal((rows, n), dtype=np.float32)


strides = True
