# SPDX-License-Identifier: Apache-2.0
# Problem: relu_in_place
def candidate(x):
    return x * (x > 0)
