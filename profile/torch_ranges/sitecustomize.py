# SPDX-License-Identifier: Apache-2.0
"""First on PYTHONPATH under `gpubench profile --torch`: once torch is imported, modules, their backward passes and optimizer steps are NVTX ranges.

The program's own sitecustomize still runs. Nothing is changed that the program computes; what goes wrong here is passed over."""
import importlib
import importlib.abc
import importlib.util
import os
import sys
import threading
import weakref


def _add_ranges(torch):
    """Hooks for all modules and optimizers of this process."""
    push, pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
    compiling = torch.compiler.is_compiling
    paths = weakref.WeakKeyDictionary()  # of modules, from the one that was called first
    state = threading.local()

    def open_modules():
        if not hasattr(state, "open"):
            state.open = []
        return state.open

    def label_of(module, parents):
        if not parents:
            if module not in paths:
                for path, each in module.named_modules():
                    paths.setdefault(each, path)
            return type(module).__name__
        path, above = paths.get(module), paths.get(parents[-1][0])
        if path is None or above is None:
            return type(module).__name__
        return path[len(above):].lstrip(".") if path.startswith(above) else path

    def before(module, arguments):
        if compiling():
            return
        parents = open_modules()
        label = label_of(module, parents)
        push(label)
        parents.append((module, parents[-1][1] + "/" + label if parents else label))

    def after(module, arguments, result):
        if compiling():
            return
        parents = open_modules()
        while parents:  # those within that an exception ended have no hook of their own
            each, path = parents.pop()
            pop()
            if each is module:
                break
        else:
            return
        if torch.is_grad_enabled():
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(tensor, torch.Tensor) and tensor.grad_fn is not None:
                    tensor.grad_fn.register_prehook(lambda gradients, path=path: backward(path))

    def backward(path):
        """The module whose output's gradient is there: until the next one's is, or the pass ends."""
        if getattr(state, "backward", False):
            pop()
        else:
            torch.autograd.Variable._execution_engine.queue_callback(end_backward)
        state.backward = True
        push("backward/" + path)

    def end_backward():
        if getattr(state, "backward", False):
            pop()
        state.backward = False

    hooks = torch.nn.modules.module
    hooks.register_module_forward_pre_hook(before)
    hooks.register_module_forward_hook(after, always_call=True)
    steps = torch.optim.optimizer
    steps.register_optimizer_step_pre_hook(lambda optimizer, *rest: push(type(optimizer).__name__ + ".step"))
    steps.register_optimizer_step_post_hook(lambda optimizer, *rest: pop())


class _Loader(importlib.abc.Loader):
    """Adds the ranges behind the import of torch."""

    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        try:
            _add_ranges(module)
        except Exception as error:  # noqa: BLE001: an old or changed torch is no reason to end the program
            print("gpubench: no ranges of modules: " + str(error), file=sys.stderr)


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for the import of torch."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _run_the_programs_own():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [each for each in sys.path if os.path.abspath(each or ".") != here]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        if own is not None:
            sys.modules["sitecustomize"] = own


sys.meta_path.insert(0, _Finder())
_run_the_programs_own()
