# SPDX-License-Identifier: Apache-2.0
# Problem: gate
import numpy as np


def candidate(x):
    places = np.argsort(-x, axis=1, kind="stable")[:, :2]
    chosen = np.take_along_axis(x, places, 1)
    e = np.exp(chosen - chosen[:, :1])
    return e / e.sum(axis=1, keepdims=True), places
