# SPDX-License-Identifier: Apache-2.0
# Problem: matmul
# Needs: torch
import torch


def candidate(a, b):
    return (torch.from_numpy(a.copy()) @ torch.from_numpy(b.copy())).numpy()
