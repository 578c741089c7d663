# SPDX-License-Identifier: Apache-2.0
# Problem: kb_linear
import numpy as np


class ModelNew:
    def __init__(self, inside, outside):
        self.weight = np.random.standard_normal((outside, inside)).astype(np.float32)
        self.bias = np.random.standard_normal(outside).astype(np.float32)
        self.across = np.ascontiguousarray(self.weight.T)

    def forward(self, x):
        result = x @ self.across
        result += self.bias
        return np.maximum(result, 0, out=result)
