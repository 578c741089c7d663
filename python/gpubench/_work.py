# SPDX-License-Identifier: Apache-2.0
"""What one call of PyTorch's operators must read, write and calculate, from its tensors."""
from __future__ import annotations

import functools
import math
import sys
from typing import Any, Callable, Iterable

from ._arrays import distinct, pipe_of

_NO_TRAFFIC = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "_unsafe_view", "detach",
               "lift_fresh", "item", "_local_scalar_dense", "set_", "resize_", "alias", "is_same_size", "sym_size"}
_BAGS = {"_embedding_bag", "_embedding_bag_forward_only"}
_GATHERS = {"embedding", "index_select", "gather", "index", "take", "take_along_dim", *_BAGS}
_SCATTERS = {"scatter", "scatter_", "scatter_add", "scatter_add_", "index_add", "index_add_", "index_put", "index_put_",
             "index_copy", "index_copy_", "index_fill", "index_fill_", "index_reduce", "index_reduce_", "scatter_reduce",
             "scatter_reduce_", "put", "put_", "embedding_dense_backward"}
_RANDOM_SECTOR = 32
_DRAWS = {"uniform_", "normal_", "random_", "bernoulli_", "exponential_", "geometric_", "cauchy_", "log_normal_"}
_OVERWRITES = {"zero_", "fill_", "copy_", "_foreach_zero_", "_foreach_copy_", *_DRAWS}
_LOOKUPS = {"trace", "searchsorted", "bucketize", "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d"}
_MOVES = {"clone", "_to_copy", "cat", "stack", "repeat", "flip", "roll", "constant_pad_nd", "tril", "triu", "diag_embed", "unsafe_split",
          "block_diag", "zeros", "ones", "full", "eye", "masked_fill", "masked_fill_", "masked_select",
          "slice_scatter", "select_scatter", "diagonal_scatter", "as_strided_scatter", *_OVERWRITES, *_LOOKUPS} - _DRAWS


_VECTOR_PRODUCTS = {"mv", "addmv", "dot", "vdot", "inner"}
_NAMESPACES = {"aten", "prims", "c10d", "_c10d_functional"}  #: of operators that are known here
#: Whose FLOP no rule here tells.
_UNTOLD = {"_transformer_encoder_layer_fwd", "_native_multi_head_attention", "cholesky_inverse", "cholesky_solve", "geqrf", "ormqr", "triangular_solve"}


def _is_untold(function: Any) -> bool:
    """Whether nothing is known of its FLOP: of others' operators, and of decompositions of matrices."""
    namespace, name = function._schema.name.split("::")
    return namespace not in _NAMESPACES or name in _UNTOLD or name.startswith(("linalg_", "_linalg_")) and "norm" not in name


def _copies_a_view(name: str) -> bool:
    return name.endswith("_copy") and name not in ("_to_copy", "index_copy")


def _touches_elements(name: str, args: Any) -> bool:
    """Whether what gathers or scatters touches single elements, and not rows of whole sectors."""
    table, where = args[0], args[1]
    if name.startswith("index"):
        rows = len(where) < table.ndim if isinstance(where, (list, tuple)) else (where + 1) % max(1, table.ndim) != 0
    else:
        rows = "embedding" in name
    return not rows or table.shape[-1] * table.element_size() < _RANDOM_SECTOR


def _adds(name: str, args: Any, keywords: Any) -> bool:
    """Whether what scatters adds to what is there."""
    if "put" in name:
        return len(args) > 3 and bool(args[3])
    return any(each in name for each in ("add", "backward", "reduce")) or "reduce" in keywords


def _fills_a_new_one(name: str) -> bool:
    """From a tensor of which it takes the shape alone."""
    return name.endswith("_like") or name.startswith("new_")


def _storage_address(tensor: Any) -> int:
    """Where its memory begins; 0 for a tensor without memory of its own kind."""
    try:
        return int(tensor.untyped_storage().data_ptr())
    except Exception:  # noqa: BLE001: sparse, wrapped
        return 0


class Work:
    """Sums over the operators of one call."""

    def __init__(self) -> None:
        self.bytes_read = 0
        self.bytes_written = 0
        self.flops: dict[str, int] = {}
        self.random_reads = 0
        self.random_updates = 0
        self.random_bytes = 0
        self.operators: list[str] = []
        self.untold = ""  #: an operator whose FLOP are not known
        self.why_not_repeatable = ""
        self.draws_random = ""
        self._made: set[int] = set()
        self._storages: dict[int, int] = {}

    @property
    def footprint(self) -> int:
        """Bytes of distinct memory."""
        return sum(self._storages.values())

    @property
    def known(self) -> bool:
        """Whether anything was seen."""
        return bool(self.operators)

    @property
    def knows_flops(self) -> bool:
        """Whether it is known what is calculated. Of callables without PyTorch's operators nobody tells it."""
        return (self.known or any(self.flops.values())) and not self.untold

    def made(self, tensors: Iterable[Any]) -> None:
        """Tensors that the call itself has made: changing those changes nothing for others."""
        self._made.update(filter(None, map(_storage_address, tensors)))

    def made_all(self, tensors: Iterable[Any]) -> bool:
        """Whether none of them was there before."""
        return all(not each.numel() or _storage_address(each) in self._made for each in tensors)

    def tensor_bytes(self, tensor: Any) -> int:
        """Of one pass over it; what is broadcast or overlaps counts once."""
        size = int(tensor.numel() * tensor.element_size())
        try:
            dimensions = [(length, step) for length, step in zip(tensor.shape, tensor.stride()) if step and size]
            distinct = min(math.prod(length for length, _ in dimensions), 1 + sum((length - 1) * step for length, step in dimensions))
            size = min(size, int(distinct * tensor.element_size()))
            address = int(tensor.data_ptr())
            self._storages[address] = max(size, self._storages.get(address, 0))
        except Exception:  # noqa: BLE001: a tensor without storage (sparse, wrapped) keeps its declared size
            pass
        return size

    def declare(self, state: Any) -> None:
        """Hands all of it to a State."""
        state.reads(self.bytes_read)
        state.writes(self.bytes_written)
        if self.footprint:
            state.footprint(self.footprint)
        for pipe, count in self.flops.items():
            state._core.flops(pipe, count)
        if self.random_reads:
            state.random_reads(self.random_reads, self.random_bytes)
        if self.random_updates:
            state.random_updates(self.random_updates, self.random_bytes)


def _matrix_pipe(torch: Any, dtype: Any, name: str, on_gpu: bool) -> str:
    if not on_gpu:
        return pipe_of(dtype)
    if dtype is torch.float32:
        convolution = "conv" in name
        tf32 = torch.backends.cudnn.allow_tf32 if convolution else torch.backends.cuda.matmul.allow_tf32
        return "tensor-tf32" if tf32 else "fp32"
    return pipe_of(dtype, matrix=True)


def _draws_nothing(schema: Any, arguments: Any, keywords: Any) -> bool:
    """Whether it is attention without dropout, which is marked as random all the same."""
    for place, each in enumerate(schema.arguments):
        if each.name == "dropout_p":
            given = arguments[place] if place < len(arguments) else keywords.get("dropout_p", each.default_value)
            return float(given or 0.0) == 0.0
    return False


def _flops_of(torch: Any, function: Any, packet: Any, arguments: Any, keywords: Any, result: Any) -> tuple[int, bool]:
    """FLOP of an operator, and whether they are those of a matrix product."""
    from torch.utils.flop_counter import flop_registry
    counter = flop_registry.get(packet)
    if counter is not None:
        return int(counter(*arguments, **keywords, out_val=result)), True
    name = function._schema.name.split("::")[-1]
    if "_rnn" in name:  # of cuDNN, MIOpen and oneDNN: every element of the weight matrices for every row of the input
        weights = arguments[1] if isinstance(arguments[1], (list, tuple)) else arguments[1:3]
        rows = arguments[0].numel() // arguments[0].shape[-1]
        return (4 if "backward" in name else 2) * rows * sum(each.numel() for each in weights if each.ndim > 1), True
    if name.startswith("_fft_"):  # 5 n log2 n, and half of it where one side is real
        whole = result if name == "_fft_c2r" else arguments[0]
        length = math.prod(whole.shape[each] for each in arguments[1])
        return int((5 if name == "_fft_c2c" else 2.5) * whole.numel() * math.log2(max(1, length))), False
    if name == "_int_mm":
        return 2 * arguments[0].numel() * arguments[1].shape[1], True
    if name.startswith("_foreach_"):
        return sum(each.numel() for each in result or arguments[0] if each.is_floating_point()), False
    if not isinstance(result, torch.Tensor):
        result = next((each for each in result if isinstance(each, torch.Tensor)), None) if isinstance(
            result, (tuple, list)) else None
    if result is None or not (result.is_floating_point() or result.is_complex()):
        return 0, False
    each_takes = 2 if result.is_complex() or name in _VECTOR_PRODUCTS else 1
    if torch.Tag.pointwise in function.tags:
        return each_takes * int(result.numel()), False
    largest = max((each.numel() for each in arguments if isinstance(each, torch.Tensor)), default=0)
    return each_takes * int(max(largest, result.numel())), False


@functools.cache
def prepare() -> None:
    """Imports what `watch` uses, which takes seconds: not in a call that is timed."""
    watch(lambda: sys.modules["torch"].ones(1) + 1)


@functools.cache
def _watcher() -> Any:
    """The class of what watches operators, with PyTorch's own in it."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_flatten

    class Watch(TorchDispatchMode):  # type: ignore[misc,no-untyped-call]
        def __init__(self, work: Work) -> None:
            super().__init__()
            self.work = work

        def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            keywords = kwargs or {}
            result = operator(*args, **keywords)
            self.note(self.work, operator, args, keywords, result)
            return result

        @staticmethod
        def note(work: Work, operator: Any, args: Any, keywords: Any, result: Any) -> None:
            schema = operator._schema
            name = schema.name.split("::")[-1]
            written_to = [args[place] if place < len(args) else keywords.get(each.name) for place, each in enumerate(schema.arguments)
                          if each.alias_info is not None and each.alias_info.is_write]
            changed = [each for each in tree_flatten(written_to)[0] if isinstance(each, torch.Tensor)]
            outputs = [each for each in tree_flatten(result)[0] if isinstance(each, torch.Tensor)] or changed
            is_view = any(each.alias_info is not None and not each.alias_info.is_write for each in schema.returns)
            if not is_view and not schema.is_mutable:
                work.made(outputs)
            if is_view or name in _NO_TRAFFIC or not outputs:
                return
            work.operators.append(name)
            if not work.untold and _is_untold(operator):
                work.untold = name
            if schema.is_mutable and not name.endswith("_out") and "out" not in keywords and not work.made_all(changed):
                work.why_not_repeatable = work.why_not_repeatable or f"{name} changes what it is given"
            if torch._C._current_graph_task_id() != -1:
                work.why_not_repeatable = work.why_not_repeatable or "it calculates gradients, which add up"
            if torch.Tag.nondeterministic_seeded in operator.tags and not _draws_nothing(schema, args, keywords):
                work.draws_random = work.draws_random or name
            inputs = [each for key, value in [*enumerate(args), *keywords.items()] if key != "out"
                      for each in tree_flatten(value)[0] if isinstance(each, torch.Tensor)]
            written = sum(map(work.tensor_bytes, outputs))
            read = sum(map(work.tensor_bytes, distinct(inputs)))
            table = max((each.numel() * each.element_size() for each in inputs), default=0)
            if name in _GATHERS:
                gathered = inputs[1].numel() * outputs[0].shape[-1] if name in _BAGS else outputs[0].numel()
                read = gathered * outputs[0].element_size() + sum(each.numel() * each.element_size() for each in inputs[1:])
                if _touches_elements(name, args):
                    work.random_reads += gathered
                    work.random_bytes = max(work.random_bytes, table)
            elif name in _SCATTERS and inputs:
                adds, touched = _adds(name, args, keywords), inputs[0 if "backward" in name else -1].numel()
                if name.startswith("index_fill"):
                    touched = inputs[1].numel() * (outputs[0].numel() // outputs[0].shape[args[1]] if outputs[0].numel() > 1 else 1)
                if schema.is_mutable:  # of the rest it touches nothing
                    written = touched * outputs[0].element_size()
                    read = written * adds + sum(each.numel() * each.element_size() for each in inputs[1:])
                if _touches_elements(name, args):
                    work.random_updates += touched
                    work.random_bytes = max(work.random_bytes, outputs[0].numel() * outputs[0].element_size())
            elif _fills_a_new_one(name):
                read = 0
            elif name in _OVERWRITES:
                read -= sum(map(work.tensor_bytes, outputs))
            elif name in _LOOKUPS or _copies_a_view(name):
                read = sum(min(written, work.tensor_bytes(each)) for each in inputs)
            work.bytes_read += read
            work.bytes_written += written
            if name in _GATHERS:
                flops, matrix = gathered * (name in _BAGS), False
            elif name in _MOVES or _copies_a_view(name) or _fills_a_new_one(name):
                flops, matrix = 0, False
            elif name in _SCATTERS and inputs:
                flops, matrix = touched * adds * outputs[0].is_floating_point(), False
            else:
                flops, matrix = _flops_of(torch, operator, operator._overloadpacket, args, keywords, result)
            if matrix and outputs[0].is_complex():
                flops *= 4  # PyTorch counts a complex multiplication as a real one
            if flops:
                floating = next((each for each in [*inputs, *outputs] if each.is_floating_point()), [*inputs, *outputs][0])
                pipe = _matrix_pipe(torch, floating.dtype, name, outputs[0].is_cuda) if matrix else pipe_of(floating.dtype)
                work.flops[pipe] = work.flops.get(pipe, 0) + flops

    return Watch


def watch(function: Callable[[], Any]) -> tuple[Any, Work]:
    """Calls a function once. Returns its result, and what PyTorch's operators in it did."""
    work = Work()
    with _watcher()(work):
        result = function()
    return result, work
