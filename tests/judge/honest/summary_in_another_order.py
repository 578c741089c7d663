# SPDX-License-Identifier: Apache-2.0
# Problem: summary
import numpy as np


def candidate(table):
    x = table["x"]
    rows = (x.sum(axis=1) / x.shape[1], np.argmax(x, axis=1))
    return {"rows": rows, "positive": np.array(np.count_nonzero(x > 0)), "sum": rows[0].sum() * x.shape[1]}
