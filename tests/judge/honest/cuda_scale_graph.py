# SPDX-License-Identifier: Apache-2.0
# Problem: cuda_scale
# Needs: torch and a GPU
import torch

graph, kept, result = None, None, None


def candidate(x):
    global graph, kept, result
    if graph is None or kept.shape != x.shape:
        kept = x.clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = kept * 3
    kept.copy_(x)
    graph.replay()
    return result
