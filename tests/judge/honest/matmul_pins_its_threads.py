# SPDX-License-Identifier: Apache-2.0
# It asks for one processor, and has all of them: time in which its threads wait for each other is subtracted as other programs'.
# Problem: matmul
import os

ALL = os.sched_getaffinity(0)


def candidate(a, b):
    os.sched_setaffinity(0, {min(ALL)})
    if os.sched_getaffinity(0) != ALL:
        raise RuntimeError("one processor is left")
    return a @ b
