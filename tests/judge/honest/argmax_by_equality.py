# SPDX-License-Identifier: Apache-2.0
# Problem: argmax
import numpy as np


def candidate(x):
    return (x == x.max(axis=1, keepdims=True)).argmax(axis=1)
