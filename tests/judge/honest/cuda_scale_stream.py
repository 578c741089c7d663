# SPDX-License-Identifier: Apache-2.0
# Problem: cuda_scale
# Needs: torch and a GPU
import torch

stream = torch.cuda.Stream()


def candidate(x):
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        result = x * 3
    torch.cuda.current_stream().wait_stream(stream)
    return result
