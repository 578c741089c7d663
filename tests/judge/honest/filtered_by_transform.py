# SPDX-License-Identifier: Apache-2.0
# Problem: filtered
import numpy as np


def candidate(x, h):
    size = len(x) + len(h) - 1
    return np.fft.irfft(np.fft.rfft(x, size) * np.fft.rfft(h, size), size).astype(np.float32)
