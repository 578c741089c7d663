# SPDX-License-Identifier: Apache-2.0
# Problem: gm_scale
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, scale = data
    x *= scale
    return x
