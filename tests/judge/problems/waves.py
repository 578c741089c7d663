# SPDX-License-Identifier: Apache-2.0
"""Inputs that are numbers alone."""
import numpy as np


def reference(frequency, n):
    return np.sin(np.arange(n, dtype=np.float64) * frequency).cumsum()


def inputs(random, n=20000):
    return float(random.random()), n
