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
    """Ranges around all modules and optimizers of this process."""
    push, pop = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
    compiling, tensor_type, with_gradients = torch.compiler.is_compiling, torch.Tensor, torch.is_grad_enabled
    Module = torch.nn.Module
    call = Module.__call__
    paths = weakref.WeakKeyDictionary()  # of modules, from the one that was called first
    known = weakref.WeakKeyDictionary()  # of modules: who called, what it is called within that, and the whole path
    state = threading.local()

    def name(module, above):
        """What it is called within the module that calls it, and its whole path."""
        if above is None:
            if module not in paths:
                for path, each in module.named_modules():
                    paths.setdefault(each, path)
            label = whole = type(module).__name__
        else:
            path, before = paths.get(module), paths.get(above)
            label = type(module).__name__
            if path is not None and before is not None:
                label = path[len(before):].lstrip(".") if path.startswith(before) else path
            whole = known[above][2] + "/" + label
        known[module] = (None if above is None else weakref.ref(above), label, whole)
        return known[module]

    def call_in_range(module, *arguments, **keywords):
        if compiling():
            return call(module, *arguments, **keywords)
        above = getattr(state, "module", None)
        names = known.get(module)
        if names is None or (names[0]() if names[0] is not None else None) is not above:
            names = name(module, above)
        push(names[1])
        state.module = module
        try:
            result = call(module, *arguments, **keywords)
        finally:
            state.module = above
            pop()
        if with_gradients():
            for tensor in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(tensor, tensor_type) and tensor.grad_fn is not None:
                    tensor.grad_fn.register_prehook(lambda gradients, path=names[2]: backward(path))
        return result

    def backward(path):
        """The module whose output's gradient is there: until the next one's is, or the pass ends."""
        if getattr(state, "backward", False):
            pop()
        else:
            torch.autograd.Variable._execution_engine.queue_callback(end_backward)
        state.backward = True
        push("backward/" + path)

    def backward_of_loss(tensor, *arguments, **keywords):
        """What is computed behind the modules, to the output of the last of them."""
        if tensor.grad_fn is not None and not compiling():
            tensor.grad_fn.register_prehook(lambda gradients: None if getattr(state, "backward", False) else backward("loss"))
        return backward_of_tensor(tensor, *arguments, **keywords)

    def end_backward():
        if getattr(state, "backward", False):
            pop()
        state.backward = False

    def begin_step(each, arguments, keywords):  # what a hook returns would be the arguments
        push(type(each).__name__ + ".step")

    def end_step(each, arguments, keywords):
        pop()

    optimizer = importlib.import_module("torch.optim.optimizer")
    optimizer.register_optimizer_step_pre_hook(begin_step)
    optimizer.register_optimizer_step_post_hook(end_step)
    Module.__call__ = call_in_range
    backward_of_tensor = tensor_type.backward
    tensor_type.backward = backward_of_loss


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
