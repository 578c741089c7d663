# SPDX-License-Identifier: Apache-2.0
"""KernelBench's form: `Model`, `get_inputs` and `get_init_inputs`; a candidate has `ModelNew`. Models of PyTorch, or any class whose `forward` or call
takes arrays. Random numbers of PyTorch and NumPy are seeded alike before both are constructed, as KernelBench does, so that their weights agree; and before
each call, with a seed of its own, where the reference draws some: that stands before the inputs then."""
from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

_WEIGHT_SEED = 42


def matches(path: Path, names: set[str]) -> bool:
    return {"Model", "get_inputs"} <= names


def _seed(value: int) -> None:
    import random
    import sys

    import numpy as np
    random.seed(value)
    np.random.seed(value)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(value)


def problem(path: Path) -> Any:
    from ... import _core
    from ..problem import Problem
    from . import folders_of, run_problem
    module, files = run_problem(path)
    initial = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
    if not isinstance(initial, (list, tuple)):
        raise _core.UsageError(f"get_init_inputs of {path} is to return a list of arguments, and returns a {type(initial).__name__}.")
    keywords: Any = {}
    if len(initial) == 2 and isinstance(initial[0], (list, tuple)) and isinstance(initial[1], dict):
        initial, keywords = initial
    from ..cell import layout
    skeleton, leaves = layout.flatten([list(initial), dict(keywords)])
    if leaves:
        raise _core.UsageError(f"get_init_inputs of {path} returns arrays; the judge hands over numbers, texts, tuples, lists and dicts.")

    device = str(getattr(module, "device", "cuda" if _has_gpu() else "cpu"))
    facts: dict[str, Any] = {"initial": skeleton, "seed": _WEIGHT_SEED, "reseed": False, "device": device}
    reference_facts = {**facts, "class": "Model", "folders": folders_of(path)}

    def make(case: Any, seed: int) -> Any:
        _seed(seed)
        made = _inputs(module.get_inputs, device)
        if not isinstance(made, (list, tuple)):
            raise TypeError(f"get_inputs is to return a list of arguments, and returns a {type(made).__name__}")
        return (seed, *made) if reference_facts["reseed"] else tuple(made)

    own = {name: getattr(module, name) for name in ("contents", "tolerance", "precision", "compare") if hasattr(module, name)}
    if device.startswith("cuda") and may_convolve_in_tf32(path):
        own.setdefault("precision", "tf32")
    if callable(own.get("compare")):
        check = own["compare"]
        own["compare"] = lambda tree, output: check(tree[1:] if reference_facts["reseed"] else tree, output)
    return Problem(name=path.stem, file=str(path), adapter=__file__, make=make, reference_facts=reference_facts,
                   candidate_facts={**facts, "class": "ModelNew", "names": ["ModelNew"]}, hidden_files=files, **own)


def _has_gpu() -> bool:
    """As KernelBench does, models are judged on a GPU where there is one."""
    import sys
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_available()


def may_convolve_in_tf32(path: Path) -> bool:
    """PyTorch allows it in convolutions unless told otherwise; which of its algorithms do so is its own choice, by shapes and formats."""
    import re
    import sys
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.backends.cudnn.allow_tf32) and re.search(r"\b(nn|F)\.conv", path.read_text(encoding="utf-8"), re.I) is not None


def _inputs(get_inputs: Callable[[], Any], device: str) -> Any:
    """Made on the GPU at once where that works: gigabytes of random numbers take a host seconds."""
    if not device.startswith("cuda"):
        return get_inputs()
    import torch
    try:
        with torch.device(device):
            made = get_inputs()
    except (RuntimeError, TypeError, ValueError):
        made = get_inputs()
    return [each.to(device) if isinstance(each, torch.Tensor) else each for each in made] if isinstance(made, (list, tuple)) else made


def load(file: str, facts: dict[str, Any]) -> Callable[..., Any]:
    import layout
    import loading
    model_class = loading.callable_of(file, [facts["class"]], facts.get("folders", ()))
    initial, keywords = layout.unflatten(facts["initial"], [])
    _seed(facts["seed"])
    model = model_class(*initial, **keywords)
    if facts["device"].startswith("cuda") and hasattr(model, "to"):
        model = model.to(facts["device"])
    call = _Call(model)
    return _Reseeded(call) if facts["reseed"] else call


def _callable_of(model: Any) -> Callable[..., Any]:
    return model.forward if hasattr(model, "forward") and not callable(model) else model  # type: ignore[no-any-return]


class _Call:
    """A model without gradients."""

    def __init__(self, model: Any):
        import sys
        self._model = model
        self._call = _callable_of(model)
        self._torch: Any = sys.modules.get("torch")

    def precise(self, dtype: str) -> None:
        """From now on with weights of this type, where it can; with none, with its own."""
        import copy
        model = self._model
        if dtype and self._torch is not None and hasattr(model, "to"):
            model = copy.deepcopy(model).to(getattr(self._torch, dtype))
        self._call = _callable_of(model)

    def __call__(self, *inputs: Any) -> Any:
        if self._torch is None:
            return self._call(*inputs)
        with self._torch.no_grad():
            return self._call(*inputs)


class _Reseeded:
    """The same with random numbers from a seed, which comes before the inputs."""

    def __init__(self, call: _Call):
        self._call = call
        self.precise = call.precise

    def __call__(self, seed: int, *inputs: Any) -> Any:
        _seed(seed)
        return self._call(*inputs)
