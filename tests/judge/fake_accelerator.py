# SPDX-License-Identifier: Apache-2.0
"""In place of a GPU: blocks of this host's memory behind the interface of judging/cell/accelerator.py. The candidate's process loads this file in its place,
the judge has FakeDevice."""
import mmap
import os
import sys
import time

import numpy as np

if "layout" in sys.modules:  # of a candidate's process: all arrays are the GPU's
    sys.modules["layout"].device_of = lambda array: "cpu"


class Accelerator:
    name = "cuda"

    def __init__(self):
        self._blocks = []

    def create(self, size):
        size = -(-max(size, 1) // mmap.PAGESIZE) * mmap.PAGESIZE
        descriptor = os.memfd_create("fake")
        os.ftruncate(descriptor, size)
        return self.open(descriptor, size, True)[0], size, descriptor

    def open(self, descriptor, size, writable):
        self._blocks.append(np.frombuffer(mmap.mmap(descriptor, size), np.uint8))  # as where the driver has no read-only mappings
        return len(self._blocks) - 1, True

    def release(self, address, size):
        self._blocks[address] = None

    def array(self, address, count, itemsize):
        flat = self._blocks[address][:count * itemsize]
        return sys.modules["torch"].from_numpy(flat.view(f"i{itemsize}")) if "torch" in sys.modules else flat.view(f"u{itemsize}")

    def view(self, address, spec, extent, itemsize):
        flat = self._blocks[address][spec["offset"]:spec["offset"] + extent * itemsize]
        if spec["framework"] == "torch":
            import torch
            tensor = torch.from_numpy(flat.view(f"i{itemsize}")).view(getattr(torch, spec["dtype"]))
            return tensor.as_strided(spec["shape"], spec["strides"]) if "strides" in spec else tensor.view(spec["shape"])
        flat = flat.view(spec["dtype"])
        if "strides" in spec:
            return np.lib.stride_tricks.as_strided(flat, spec["shape"], [each * itemsize for each in spec["strides"]])
        return flat.reshape(spec["shape"])

    def touch(self):
        pass

    def synchronize(self):
        pass


try:
    from gpubench.judging.device import Device
except ImportError:
    pass
else:
    class FakeDevice(Device):
        """The same with the host's clock."""

        accelerator_file = __file__
        wait = 1e-5  #: of the smallest work
        drift = 0.0  #: seconds that the GPU's clock shows more
        taken_bytes = 1 << 29

        def __init__(self):
            self.accelerator = Accelerator()

        def harness_options(self):
            return {"device": "cpu", "time": None}

        def cache_bytes(self):
            return 1 << 20

        def left_out(self):
            return {}

        def mark(self):
            return time.perf_counter()

        def seconds_between(self, first, last):
            return last - first + self.drift

        def synchronize(self):
            pass

        def flush(self):
            pass

        def release_cached(self):
            pass

        def free_bytes(self):
            return 1 << 32

        def wait_seconds(self, times=5):
            return self.wait

        def copy_seconds(self, sources, targets):
            return 1e-9
