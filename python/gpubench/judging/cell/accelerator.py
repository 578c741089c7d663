# SPDX-License-Identifier: Apache-2.0
"""Memory of a GPU that the judge and a candidate's process share. Both import this file, so it knows nothing else.

Blocks are made by the driver's virtual memory calls and handed over as file descriptors. Older IPC handles name a process and a block of cudaMalloc, out of
which caching allocators cut tensors; a descriptor is the block itself, and goes into other namespaces too."""
from __future__ import annotations

import ctypes
from typing import Any

READ, READ_WRITE = 1, 3  #: CU_MEM_ACCESS_FLAGS_PROT_*
_DEVICE, _PINNED, _DESCRIPTOR = 1, 1, 1  # CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
_WHOLE = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


class Refused(Exception):
    """What the driver does not do: one sentence."""


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Properties(ctypes.Structure):  # CUmemAllocationProp
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", _Location), ("unused", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8)]


class _Access(ctypes.Structure):  # CUmemAccessDesc
    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


class _Driver:
    """The calls of libcuda that this file needs."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Refused(f"there is no CUDA driver: {error}") from None
        self("cuInit", ctypes.c_uint(0))

    def __call__(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            words = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(words))
            raise Refused(f"{name} says {(words.value or str(code).encode()).decode()}")


def start() -> None:
    """Makes a context of the first GPU, and no more. Throws Refused."""
    context, device = ctypes.c_void_p(), ctypes.c_int()
    driver = _Driver()
    driver("cuDeviceGet", ctypes.byref(device), ctypes.c_int(0))
    driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)


def _number(value: int = 0) -> Any:
    return ctypes.c_uint64(value)


class Accelerator:
    """The first GPU that this process sees."""

    name = "cuda"

    def __init__(self) -> None:
        import torch
        self._torch = torch
        self._synchronize = torch.cuda.synchronize
        self._tiny = torch.zeros(1, device="cuda")  # makes the context of the process
        self._driver = _Driver()
        self._location = _Location(_DEVICE, torch.cuda.current_device())
        self._properties = _Properties(type=_PINNED, handles=_DESCRIPTOR, location=self._location)

    def create(self, size: int) -> tuple[int, int, int]:
        """A block of at least this size: its address, its size, its descriptor."""
        granule = ctypes.c_size_t()
        self._driver("cuMemGetAllocationGranularity", ctypes.byref(granule), ctypes.byref(self._properties), ctypes.c_uint(0))
        size = -(-max(size, 1) // granule.value) * granule.value
        block, descriptor = _number(), ctypes.c_int(-1)
        self._driver("cuMemCreate", ctypes.byref(block), ctypes.c_size_t(size), ctypes.byref(self._properties), _number())
        self._driver("cuMemExportToShareableHandle", ctypes.byref(descriptor), block, ctypes.c_int(_DESCRIPTOR), _number())
        return self._mapped(block, size, READ_WRITE), size, descriptor.value

    def open(self, descriptor: int, size: int, writable: bool) -> tuple[int, bool]:
        """Another process's block: its address, and whether it can be written. The descriptor can be closed then."""
        block = _number()
        self._driver("cuMemImportFromShareableHandle", ctypes.byref(block), ctypes.c_void_p(descriptor), ctypes.c_int(_DESCRIPTOR))
        if not writable:
            try:
                return self._mapped(block, size, READ), False
            except Refused:
                pass  # the driver has no read-only mappings of memory: the judge compares inputs afterwards
        return self._mapped(block, size, READ_WRITE), True

    def _mapped(self, block: Any, size: int, access: int) -> int:
        address = _number()
        self._driver("cuMemAddressReserve", ctypes.byref(address), ctypes.c_size_t(size), ctypes.c_size_t(0), _number(), _number())
        try:
            self._driver("cuMemMap", address, ctypes.c_size_t(size), ctypes.c_size_t(0), block, _number())
            try:
                self._driver("cuMemSetAccess", address, ctypes.c_size_t(size), ctypes.byref(_Access(self._location, access)), ctypes.c_size_t(1))
            except Refused:
                self._driver("cuMemUnmap", address, ctypes.c_size_t(size))
                raise
        except Refused:
            self._driver("cuMemAddressFree", address, ctypes.c_size_t(size))
            raise
        self._driver("cuMemRelease", block)  # what is mapped stays
        return int(address.value)

    def release(self, address: int, size: int) -> None:
        """Takes a block out of this process; its memory goes with its last owner."""
        self._driver("cuMemUnmap", _number(address), ctypes.c_size_t(size))
        self._driver("cuMemAddressFree", _number(address), ctypes.c_size_t(size))

    def array(self, address: int, count: int, itemsize: int) -> Any:
        """So many whole numbers of this size at an address."""
        if count == 0:
            return self._torch.empty(0, dtype=getattr(self._torch, _WHOLE[itemsize]), device="cuda")

        class Memory:
            __cuda_array_interface__ = {"shape": (count,), "typestr": f"<i{itemsize}" if itemsize > 1 else "|i1", "data": (address, False), "version": 3}

        return self._torch.as_tensor(Memory(), device="cuda")

    def view(self, address: int, spec: dict[str, Any], extent: int, itemsize: int) -> Any:
        """The tensor of a placed spec."""
        torch = self._torch
        wide = 2 if itemsize == 16 else 1
        flat = self.array(address + spec["offset"], extent * wide, itemsize // wide)
        flat = torch.view_as_complex(flat.view(torch.float64).view(-1, 2)) if wide == 2 else flat.view(getattr(torch, spec["dtype"]))
        return flat.as_strided(spec["shape"], spec["strides"]) if "strides" in spec else flat.view(spec["shape"])

    def touch(self) -> None:
        """The smallest work."""
        self._tiny.zero_()

    def synchronize(self) -> None:
        self._synchronize()
