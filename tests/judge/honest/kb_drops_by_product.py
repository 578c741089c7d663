# SPDX-License-Identifier: Apache-2.0
# Problem: kb_drops
import numpy as np


class ModelNew:
    def forward(self, x):
        return x * ((np.random.random(x.shape) >= 0.3) / 0.7).astype(np.float32)
