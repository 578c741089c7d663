# SPDX-License-Identifier: Apache-2.0
# Problem: gm_scale
def custom_kernel(data):
    x, scale = data
    return x * scale
