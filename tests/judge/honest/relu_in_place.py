# SPDX-License-Identifier: Apache-2.0
# Problem: relu_in_place
def candidate(x):
    x[x < 0] = 0
    return x
