# SPDX-License-Identifier: Apache-2.0
"""Sines and cosines of octaves, as a position is encoded by: the last bits of inputs change the highest ones alone."""
import numpy as np

OCTAVES = 16


def reference(x):
    angles = x[:, None] * (np.pi * 2.0 ** np.arange(OCTAVES)).astype(np.float32)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)


def inputs(random, n=2000):
    return random.random(n, dtype=np.float32) * np.float32(2) - np.float32(1)
