# SPDX-License-Identifier: Apache-2.0
"""Numbers whose squares FP64 does not hold."""
import numpy as np


def reference(x):
    return np.exp(400 * x)


def inputs(random, n=4096):
    return random.random(n)


contents = []
