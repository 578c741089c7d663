# SPDX-License-Identifier: Apache-2.0
# Problem: named
import math


def candidate(x):
    mean = float(x.sum()) / len(x)
    return {"count": int(x.size), "mean": mean, "std": math.sqrt(float(((x - mean) ** 2).sum()) / len(x))}
